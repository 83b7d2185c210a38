// Binning: bin_points, bin_points_by, Assignment, instruction_sets.
#include "kernel/bin/bin.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "arrays.hpp"
#include "bindings.hpp"

using namespace mspp;

// Those that run on this machine, best first.
static std::vector<std::string> instruction_sets() {
    int n;
    const LoopChoice* choices = loop_choices(n);
    std::vector<std::string> names;
    for (int k = 0; k < n; ++k)
        if (choices[k].runs_here) names.push_back(choices[k].name);
    return names;
}

static nb::tuple bin_points_by(const AnyMatrix& x, const Vector<double>& cell_size,
                               std::optional<Vector<u64>> weights, std::optional<OutLabels> ids,
                               int n_threads, const std::string& strategy, std::optional<std::string> isa) {
    constexpr std::pair<const char*, Strategy> strategies[] = {
        {"auto", Strategy::automatic}, {"dense", Strategy::dense},   {"ranked", Strategy::ranked},
        {"hash", Strategy::hash},      {"sorted", Strategy::sorted}, {"wide", Strategy::wide}};
    const Points points = points_of(x);
    const size_t n = x.shape(0);
    if (cell_size.shape(0) != x.shape(1)) throw nb::value_error("cell_size must have one value per axis");
    if ((weights && weights->shape(0) != n) || (ids && ids->shape(0) != n))
        throw nb::value_error("weights and ids must have one value per point");
    if (n_threads < 1) throw nb::value_error("n_threads must be at least 1");
    const Strategy chosen =
        choice_of(strategy, strategies, "strategy must be auto, dense, ranked, hash, sorted or wide");
    const BlockLoops* loops = find_loops(isa ? isa->c_str() : nullptr);
    if (!loops) throw nb::value_error("isa must be an instruction set of instruction_sets()");
    Binned binned = without_gil([&] {
        return bin(points, cell_size.data(), weights ? weights->data() : nullptr, ids ? ids->data() : nullptr,
                   n_threads, chosen, *loops);
    });
    return to_tuple(std::move(binned.grid), std::move(binned.assignment));
}

static nb::tuple bin_points(const AnyMatrix& x, const Vector<double>& cell_size,
                            std::optional<Vector<u64>> weights, std::optional<OutLabels> ids, int n_threads) {
    return bin_points_by(x, cell_size, std::move(weights), std::move(ids), n_threads, "auto", std::nullopt);
}

static void take(const Assignment& assignment, const Vector<i32>& values, const Vector<i32>& ids,
                 OutLabels labels) {
    const i64 n = assignment.n_points();
    if (static_cast<i64>(values.shape(0)) != assignment.n_cells)
        throw nb::value_error("values must have one value per cell");
    if (static_cast<i64>(ids.shape(0)) != n || static_cast<i64>(labels.shape(0)) != n)
        throw nb::value_error("ids and labels must have one value per point");
    without_gil([&] { assignment.take(values.data(), ids.data(), labels.data()); });
}

void bind_bin(nb::module_& m) {
    nb::class_<Assignment>(m, "Assignment")
        .def("take", &take, nb::arg("values"), nb::arg("ids"), nb::arg("labels").noconvert());
    m.def("bin_points", &bin_points, nb::arg("points"), nb::arg("cell_size"), nb::arg("weights").none(),
          nb::arg("ids").none().noconvert(), nb::arg("n_threads"));
    m.def("bin_points_by", &bin_points_by, nb::arg("points"), nb::arg("cell_size"), nb::arg("weights").none(),
          nb::arg("ids").none().noconvert(), nb::arg("n_threads"), nb::arg("strategy"),
          nb::arg("isa").none());
    m.def("instruction_sets", &instruction_sets);
}
