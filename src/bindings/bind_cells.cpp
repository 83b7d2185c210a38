// Cells of grids, merged, searched and looked up: checks arrays, releases the GIL, owns memory; nothing else.
#include <nanobind/stl/string.h>

#include <chrono>

#include "arrays.hpp"
#include "bindings.hpp"
#include "kernel/query/find_cells.hpp"
#include "kernel/query/window_counts.hpp"
#include "kernel/seek/seek.hpp"

using namespace mspp;

static GridView view_of(const Matrix<i64>& cells, const Vector<u64>& counts) {
    if (cells.shape(1) < 1 || counts.shape(0) != cells.shape(0))
        throw nb::value_error("cells and counts must belong together");
    return {static_cast<int>(cells.shape(1)), static_cast<i64>(cells.shape(0)), cells.data(), counts.data(),
            nullptr};
}

static GridView view_of(const Matrix<i64>& cells, const Vector<u64>& counts, const Matrix<u64>& sums) {
    GridView grid = view_of(cells, counts);
    if (sums.shape(0) != cells.shape(0) || sums.shape(1) != cells.shape(1))
        throw nb::value_error("cells and sums must belong together");
    grid.sums = sums.data();
    return grid;
}

static Periods periods_of(const Vector<i64>& cells_per_period, const GridView& grid, i64 reach) {
    if (cells_per_period.shape(0) != static_cast<size_t>(grid.d))
        throw nb::value_error("cells and cells_per_period must have the same number of axes");
    for (size_t j = 0; j < cells_per_period.shape(0); ++j)
        if (cells_per_period.data()[j] != 0 && cells_per_period.data()[j] < 2 * reach + 1)
            throw nb::value_error("a period must be at least as long as a window");
    return {cells_per_period.data()};
}

static nb::tuple merge_cells(const Matrix<i64>& cells, const Vector<u64>& counts, const Matrix<u64>& sums) {
    const GridView rows = view_of(cells, counts, sums);
    Array<u32> place;
    GridData merged = unlocked([&] { return merge(rows, place); });
    return to_tuple(std::move(merged), to_numpy(std::move(place), {cells.shape(0)}));
}

// Lets Ctrl-C through, ten times a second.
struct Pulse {
    std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
    void operator()() {
        const auto now = std::chrono::steady_clock::now();
        if (now - last < std::chrono::milliseconds(100)) return;
        last = now;
        nb::gil_scoped_acquire acquire;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
};

static nb::tuple seek_modes_by(const Matrix<i64>& cells, const Vector<u64>& counts, const Matrix<u64>& sums,
                               const Vector<i64>& cells_per_period, int reach, double tol, int max_iter,
                               int n_threads, const std::string& window_sums) {
    const GridView grid = view_of(cells, counts, sums);
    if (reach < 1 || reach > kMaxReach) throw nb::value_error("reach must be from 1 to MAX_REACH");
    const Periods periods = periods_of(cells_per_period, grid, reach);
    const WindowSums chosen = window_sums == "rows"     ? WindowSums::rows
                              : window_sums == "planes" ? WindowSums::planes
                                                        : WindowSums::automatic;
    if (chosen == WindowSums::automatic && window_sums != "auto")
        throw nb::value_error("window_sums must be auto, rows or planes");
    Modes modes =
        unlocked([&] { return seek(grid, periods, reach, tol, max_iter, n_threads, chosen, Pulse()); });
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

// What `look` finds around each query cell: a number for each.
template <auto look>
static auto look_up(const Matrix<i64>& cells, const Vector<u64>& counts, const Matrix<i64>& query,
                    const Vector<i64>& cells_per_period, i64 reach, int n_threads) {
    const GridView grid = view_of(cells, counts);
    if (query.shape(1) != cells.shape(1)) throw nb::value_error("cells and query must belong together");
    if (reach < 0 || reach > INT32_MAX) throw nb::value_error("reach must be from 0 to 2**31 - 1");
    const Periods periods = periods_of(cells_per_period, grid, reach);
    const i64 m = static_cast<i64>(query.shape(0));
    auto found = unlocked([&] { return look(grid, periods, query.data(), m, reach, n_threads); });
    return to_numpy(std::move(found), {query.shape(0)});
}

void bind_cells(nb::module_& m) {
    m.def("merge_cells", &merge_cells, nb::arg("cells"), nb::arg("counts"), nb::arg("sums"));
    m.def("seek_modes", &seek_modes, nb::arg("cells"), nb::arg("counts"), nb::arg("sums"),
          nb::arg("cells_per_period"), nb::arg("reach"), nb::arg("tol"), nb::arg("max_iter"),
          nb::arg("n_threads"));
    m.def("seek_modes_by", &seek_modes_by, nb::arg("cells"), nb::arg("counts"), nb::arg("sums"),
          nb::arg("cells_per_period"), nb::arg("reach"), nb::arg("tol"), nb::arg("max_iter"),
          nb::arg("n_threads"), nb::arg("window_sums"));
    m.def("find_cells", &look_up<nearest_cells>, nb::arg("cells"), nb::arg("counts"), nb::arg("query"),
          nb::arg("cells_per_period"), nb::arg("reach"), nb::arg("n_threads"));
    m.def("window_counts", &look_up<window_counts>, nb::arg("cells"), nb::arg("counts"), nb::arg("query"),
          nb::arg("cells_per_period"), nb::arg("reach"), nb::arg("n_threads"));
}
