// Cells: merge_cells, coarsen_cells.
#include "arrays.hpp"
#include "bindings.hpp"
#include "kernel/cells/coarsen.hpp"
#include "kernel/cells/merge.hpp"

using namespace mspp;

static nb::tuple merge_cells(const Matrix<i64>& cells, const Vector<u64>& counts, const Matrix<u64>& sums) {
    const GridView rows = grid_of(cells, counts, sums);
    Array<u32> ranks;
    GridData merged = without_gil([&] { return merge(rows, ranks); });
    return to_tuple(std::move(merged), to_numpy(std::move(ranks), {cells.shape(0)}));
}

static nb::tuple coarsen_cells(const Matrix<i64>& cells, const Vector<u64>& counts, const Matrix<u64>& sums,
                               i64 factor, int n_threads) {
    const GridView grid = grid_of(cells, counts, sums);
    if (factor < 1 || factor > INT32_MAX) throw nb::value_error("the factor must be from 1 to 2**31 - 1");
    return to_tuple(without_gil([&] { return coarsen(grid, factor, n_threads); }));
}

void bind_cells(nb::module_& m) {
    m.def("merge_cells", &merge_cells, nb::arg("cells"), nb::arg("counts"), nb::arg("sums"));
    m.def("coarsen_cells", &coarsen_cells, nb::arg("cells"), nb::arg("counts"), nb::arg("sums"),
          nb::arg("factor"), nb::arg("n_threads"));
}
