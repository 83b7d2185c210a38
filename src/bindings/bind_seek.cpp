// The search: seek_modes, seek_modes_by, and its rules for other devices: join_modes, rest_limit.
#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "kernel/seek/seek.hpp"

using namespace mspp;

static nb::tuple seek_modes_by(const Matrix<i64>& cells, const Vector<u64>& counts, const Matrix<u64>& sums,
                               const Vector<i64>& cells_per_period, int reach, double tol, int max_iter,
                               int n_threads, const std::string& window_sums) {
    constexpr std::pair<const char*, WindowSums> methods[] = {
        {"auto", WindowSums::automatic}, {"rows", WindowSums::rows}, {"planes", WindowSums::planes}};
    const GridView grid = grid_of(cells, counts, sums);
    if (reach < 1 || reach > kMaxReach) throw nb::value_error("reach must be from 1 to MAX_REACH");
    const Periods periods = periods_of(cells_per_period, grid, reach);
    const WindowSums method = choice_of(window_sums, methods, "window_sums must be auto, rows or planes");
    Modes modes = without_gil([&] { return seek(grid, periods, reach, tol, max_iter, n_threads, method); });
    const size_t k = modes.weights.size(), d = cells.shape(1), m = cells.shape(0);
    return nb::make_tuple(to_numpy(std::move(modes.cell_labels), {m}),
                          to_numpy(std::move(modes.cells), {k, d}),
                          to_numpy(std::move(modes.fractions), {k, d}),
                          to_numpy(std::move(modes.weights), {k}), modes.n_iter, modes.converged);
}

static nb::tuple seek_modes(const Matrix<i64>& cells, const Vector<u64>& counts, const Matrix<u64>& sums,
                            const Vector<i64>& cells_per_period, int reach, double tol, int max_iter,
                            int n_threads) {
    return seek_modes_by(cells, counts, sums, cells_per_period, reach, tol, max_iter, n_threads, "auto");
}

static nb::tuple join_found(const Matrix<i64>& cells, const Vector<u64>& weights,
                            const Vector<i64>& cells_per_period, int reach, int n_threads) {
    const GridView grid = grid_of(cells, weights);
    const Periods periods = periods_of(cells_per_period, grid, reach);
    Joined joined = without_gil(
        [&] { return join_modes(grid.cells, grid.counts, grid.m, grid.d, periods, reach, n_threads); });
    const size_t k = joined.labels.size(), left = joined.kept.size();
    return nb::make_tuple(to_numpy(std::move(joined.labels), {k}), to_numpy(std::move(joined.kept), {left}),
                          to_numpy(std::move(joined.weights), {left}));
}

void bind_seek(nb::module_& m) {
    m.def("seek_modes", &seek_modes, nb::arg("cells"), nb::arg("counts"), nb::arg("sums"),
          nb::arg("cells_per_period"), nb::arg("reach"), nb::arg("tol"), nb::arg("max_iter"),
          nb::arg("n_threads"));
    m.def("seek_modes_by", &seek_modes_by, nb::arg("cells"), nb::arg("counts"), nb::arg("sums"),
          nb::arg("cells_per_period"), nb::arg("reach"), nb::arg("tol"), nb::arg("max_iter"),
          nb::arg("n_threads"), nb::arg("window_sums"));
    m.def("join_modes", &join_found, nb::arg("cells"), nb::arg("weights"), nb::arg("cells_per_period"),
          nb::arg("reach"), nb::arg("n_threads"));
    m.def(
        "rest_limit",
        [](int step, double tol, int bits, int reach) { return RestRule(tol, bits, reach).limit(step); },
        nb::arg("step"), nb::arg("tol"), nb::arg("bits"), nb::arg("reach"));
}
