// Queries: find_cells, window_counts, sum_clusters.
#include <nanobind/stl/optional.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "kernel/query/find_cells.hpp"
#include "kernel/query/profile.hpp"
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

static nb::tuple sum_labelled(const AnyMatrix& points, const Vector<i32>& labels,
                              const std::optional<Vector<double>>& weights, const Matrix<double>& centers,
                              const Vector<double>& periods, const Vector<double>& units) {
    const Points given = points_of(points);
    const size_t n = points.shape(0), d = points.shape(1), k = centers.shape(0);
    if (labels.shape(0) != n || (weights && weights->shape(0) != n))
        throw nb::value_error("labels and weights must have one value per point");
    if (centers.shape(1) != d || periods.shape(0) != d || units.shape(0) != d)
        throw nb::value_error("centers, periods and units must have one value per feature");
    ClusterSums found = without_gil([&] {
        return sum_clusters(given, labels.data(), weights ? weights->data() : nullptr, centers.data(),
                            static_cast<i64>(k), periods.data(), units.data());
    });
    return nb::make_tuple(found.total, to_numpy(std::move(found.weights), {k}),
                          to_numpy(std::move(found.sums), {k, d}), to_numpy(std::move(found.squares), {k, d}),
                          to_numpy(std::move(found.lows), {k, d}), to_numpy(std::move(found.highs), {k, d}));
}

void bind_query(nb::module_& m) {
    m.def("find_cells", &query_cells<find_cells>, nb::arg("cells"), nb::arg("counts"), nb::arg("query"),
          nb::arg("cells_per_period"), nb::arg("reach"), nb::arg("n_threads"));
    m.def("window_counts", &query_cells<window_counts>, nb::arg("cells"), nb::arg("counts"), nb::arg("query"),
          nb::arg("cells_per_period"), nb::arg("reach"), nb::arg("n_threads"));
    m.def("sum_clusters", &sum_labelled, nb::arg("points"), nb::arg("labels"), nb::arg("weights").none(),
          nb::arg("centers"), nb::arg("periods"), nb::arg("units"));
}
