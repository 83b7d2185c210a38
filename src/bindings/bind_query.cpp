// Queries: find_cells, window_counts.
#include "arrays.hpp"
#include "bindings.hpp"
#include "kernel/query/find_cells.hpp"
#include "kernel/query/window_counts.hpp"

using namespace mspp;

// Binds a function that returns one number per query cell.
template <auto fn>
static auto query_cells(const Matrix<i64>& cells, const Vector<u64>& counts, const Matrix<i64>& query,
                        const Vector<i64>& cells_per_period, i64 reach, int n_threads) {
    const GridView grid = grid_of(cells, counts);
    if (query.shape(1) != cells.shape(1))
        throw nb::value_error("cells and query must have the same number of axes");
    if (reach < 0 || reach > INT32_MAX) throw nb::value_error("reach must be from 0 to 2**31 - 1");
    const Periods periods = periods_of(cells_per_period, grid, reach);
    const i64 m = static_cast<i64>(query.shape(0));
    auto result = without_gil([&] { return fn(grid, periods, query.data(), m, reach, n_threads); });
    return to_numpy(std::move(result), {query.shape(0)});
}

void bind_query(nb::module_& m) {
    m.def("find_cells", &query_cells<find_cells>, nb::arg("cells"), nb::arg("counts"), nb::arg("query"),
          nb::arg("cells_per_period"), nb::arg("reach"), nb::arg("n_threads"));
    m.def("window_counts", &query_cells<window_counts>, nb::arg("cells"), nb::arg("counts"), nb::arg("query"),
          nb::arg("cells_per_period"), nb::arg("reach"), nb::arg("n_threads"));
}
