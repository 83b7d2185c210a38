// Cells: merge_cells.
#include "arrays.hpp"
#include "bindings.hpp"
#include "kernel/cells/merge.hpp"

using namespace mspp;

static nb::tuple merge_cells(const Matrix<i64>& cells, const Vector<u64>& counts, const Matrix<u64>& sums) {
    const GridView rows = grid_of(cells, counts, sums);
    Array<u32> ranks;
    GridData merged = without_gil([&] { return merge(rows, ranks); });
    return to_tuple(std::move(merged), to_numpy(std::move(ranks), {cells.shape(0)}));
}

void bind_cells(nb::module_& m) {
    m.def("merge_cells", &merge_cells, nb::arg("cells"), nb::arg("counts"), nb::arg("sums"));
}
