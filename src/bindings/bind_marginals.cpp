// The features of a tree: marginals, check_finite, Marginal, Lattice, unit_choices, plan_lattice.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <optional>

#include "bindings.hpp"
#include "lattices.hpp"

using namespace mspp;

namespace {

// -- marginals

Features marginals(const AnyMatrix& x, const std::optional<Vector<u64>>& weights,
                   const Vector<double>& period, int n_threads) {
    const Points points = points_of(x);
    if (weights && weights->shape(0) != x.shape(0))
        throw nb::value_error("weights must have one value per point");
    if (period.shape(0) != x.shape(1)) throw nb::value_error("period must have one value per axis");
    return without_gil([&] {
        Features features;
        const u64* counts = weights ? weights->data() : nullptr;
        for (Marginal& each : make_marginals(points, counts, period.data(), n_threads))
            features.emplace_back(std::move(each), period.data()[features.size()]);
        return features;
    });
}

void check_all_finite(const AnyMatrix& x, int n_threads) {
    const Points points = points_of(x);
    without_gil([&] {
        with_type(points.dtype, [&](auto type) { check_finite<decltype(type)>(points, n_threads); });
    });
}

Feature feature_of(int level, const Vector<i64>& cells, const Vector<u64>& counts, double low, double high,
                   double period) {
    const size_t n = cells.shape(0);
    if (counts.shape(0) != n || n > Marginal::kMost) throw nb::value_error("cells and counts do not fit");
    const i64* begin = cells.data();
    const bool is_rising = std::adjacent_find(begin, begin + n, std::greater_equal<>()) == begin + n;
    if (!is_rising || std::count(counts.data(), counts.data() + n, u64{0}) > 0)
        throw nb::value_error("cells must rise, and their counts must be positive");
    const bool has_range = period > 0 || (std::isfinite(low) && std::isfinite(high) && low <= high);
    if (!has_range || !(period >= 0) || std::abs(level) > 1100)
        throw nb::value_error("a marginal has an impossible range, period or level");
    Marginal marginal{level, low, high, {}};
    for (size_t k = 0; k < n; ++k) marginal.entries.push_back({cells.data()[k], counts.data()[k]});
    return {std::move(marginal), period};
}

template <class T, class Member>
auto column(const Feature& feature, Member member) {
    Array<T> values;
    for (const Marginal::Entry& each : feature.marginal().entries) values.push_back(each.*member);
    const size_t n = values.size();
    return to_numpy(std::move(values), {n});
}
auto cells(const Feature& feature) { return column<i64>(feature, &Marginal::Entry::cell); }
auto counts(const Feature& feature) { return column<u64>(feature, &Marginal::Entry::weight); }

void bind_marginal(nb::module_& m) {
    using State = std::tuple<int, Vector<i64>, Vector<u64>, double, double, double>;
    nb::class_<Feature>(m, "Marginal")
        .def(
            "__init__",
            [](Feature* self, int level, const Vector<i64>& cells, const Vector<u64>& counts, double low,
               double high,
               double period) { new (self) Feature(feature_of(level, cells, counts, low, high, period)); },
            nb::arg("level"), nb::arg("cells"), nb::arg("counts"), nb::arg("low"), nb::arg("high"),
            nb::arg("period"))
        .def("__getstate__",
             [](const Feature& f) {
                 return nb::make_tuple(f.marginal().level, cells(f), counts(f), f.low(), f.high(),
                                       f.period());
             })
        .def("__setstate__",
             [](Feature& self, const State& s) { new (&self) Feature(std::apply(feature_of, s)); })
        .def("__len__", &Feature::size)
        .def("__add__", [](const Feature& a,
                           const Feature& b) { return Feature(add(a.marginal(), b.marginal()), a.period()); })
        .def_prop_ro("level", [](const Feature& f) { return f.marginal().level; })
        .def_prop_ro("cells", &cells, nb::rv_policy::automatic)
        .def_prop_ro("counts", &counts, nb::rv_policy::automatic)
        .def_prop_ro("low", &Feature::low)
        .def_prop_ro("high", &Feature::high)
        .def_prop_ro("period", &Feature::period)
        .def_prop_ro("fine_level", &Feature::fine_level)
        .def_prop_ro("spread", &Feature::spread)
        .def_prop_ro("varies", &Feature::varies);
}

// -- lattices

// Throws for a lattice that the kernel could not use.
void check_lattice(const TreeLattice& lattice) {
    const size_t d = lattice.d();
    check_axes(d);
    for (const size_t n :
         {lattice.cell_size.size(), lattice.cells_per_period.size(), lattice.extent.size(),
          lattice.shift.size(), lattice.scale.size(), lattice.units.size(), lattice.constants.size()})
        if (n != d) throw nb::value_error("a lattice must have one value per axis");
    auto is_positive = [](double x) { return x > 0 && std::isfinite(x); };
    for (size_t j = 0; j < d; ++j) {
        const double unit = lattice.units[j];
        if (!is_positive(lattice.cell_size[j]) || !is_positive(lattice.scale[j]) ||
            !(unit == 0 || is_positive(unit)))
            throw nb::value_error("cells must be larger than 0");
        const i64 bits = lattice.shift[j], turn = lattice.cells_per_period[j], extent = lattice.extent[j],
                  cells = std::max(extent, turn);
        if (bits < 0 || bits > 62 || extent < 1 || turn < 0 || cells > kMaxCell ||
            std::abs(lattice.low[j]) > kMaxCell || (cells - 1) >> bits >> code_bits(d) != 0)
            throw nb::value_error("coordinates must fit a code");
    }
}

template <class T>
std::vector<T> to_vector(const Vector<T>& values) {
    return {values.data(), values.data() + values.shape(0)};
}

TreeLattice lattice_of(const Vector<double>& cell_size, const Vector<i64>& cells_per_period,
                       const Vector<i64>& low, const Vector<i64>& extent, const Vector<i64>& shift,
                       const Vector<double>& scale, const Vector<double>& units,
                       const Vector<double>& constants) {
    TreeLattice lattice;
    lattice.cell_size = to_vector(cell_size);
    lattice.cells_per_period = to_vector(cells_per_period);
    lattice.low = to_vector(low);
    lattice.extent = to_vector(extent);
    lattice.shift = to_vector(shift);
    lattice.scale = to_vector(scale);
    lattice.units = to_vector(units);
    lattice.constants = to_vector(constants);
    check_lattice(lattice);
    return lattice;
}

// Calls fn(x, axis) for each value of a matrix, and returns the results.
template <class Fn>
auto mapped(const AnyMatrix& x, const TreeLattice& lattice, Fn&& fn) {
    const Points points = points_of(x);
    check_axes(x, lattice);
    Array<double> results(x.size());
    without_gil([&] {
        with_type(points.dtype, [&](auto type) {
            each_of({0, points.n}, 8 * points.d, [&](i64 i) {
                for (int j = 0; j < points.d; ++j)
                    results[i * points.d + j] =
                        fn(widen<decltype(type)>(points, i, j), static_cast<size_t>(j));
            });
        });
    });
    return to_numpy(std::move(results), {x.shape(0), x.shape(1)});
}

template <class T>
auto field(std::vector<T> TreeLattice::* member) {
    return [member](const TreeLattice& lattice) { return to_numpy(lattice.*member); };
}

void bind_lattice(nb::module_& m) {
    using L = TreeLattice;
    using Reals = Vector<double>;
    using Wholes = Vector<i64>;
    using State = std::tuple<Reals, Wholes, Wholes, Wholes, Wholes, Reals, Reals, Reals>;
    nb::class_<L>(m, "Lattice")
        .def(
            "__init__",
            [](L* self, const Reals& cell_size, const Wholes& cells_per_period, const Wholes& low,
               const Wholes& extent, const Wholes& shift, const Reals& scale, const Reals& units,
               const Reals& constants) {
                new (self)
                    L(lattice_of(cell_size, cells_per_period, low, extent, shift, scale, units, constants));
            },
            nb::arg("cell_size"), nb::arg("cells_per_period"), nb::arg("low"), nb::arg("extent"),
            nb::arg("shift"), nb::arg("scale"), nb::arg("units"), nb::arg("constants"))
        .def("__getstate__",
             [](const L& l) {
                 return nb::make_tuple(to_numpy(l.cell_size), to_numpy(l.cells_per_period), to_numpy(l.low),
                                       to_numpy(l.extent), to_numpy(l.shift), to_numpy(l.scale),
                                       to_numpy(l.units), to_numpy(l.constants));
             })
        .def("__setstate__", [](L& self, const State& s) { new (&self) L(std::apply(lattice_of, s)); })
        .def_prop_ro("cell_size", field(&L::cell_size), nb::rv_policy::automatic)
        .def_prop_ro("cells_per_period", field(&L::cells_per_period), nb::rv_policy::automatic)
        .def_prop_ro("low", field(&L::low), nb::rv_policy::automatic)
        .def_prop_ro("extent", field(&L::extent), nb::rv_policy::automatic)
        .def_prop_ro("shift", field(&L::shift), nb::rv_policy::automatic)
        .def_prop_ro("scale", field(&L::scale), nb::rv_policy::automatic)
        .def_prop_ro("units", field(&L::units), nb::rv_policy::automatic)
        .def_prop_ro("constants", field(&L::constants), nb::rv_policy::automatic)
        .def_prop_ro(
            "period",
            [](const L& l) {
                std::vector<double> period;
                for (size_t j = 0; j < l.d(); ++j) period.push_back(l.period(j));
                return to_numpy(period);
            },
            nb::rv_policy::automatic)
        .def(
            "positions",
            [](const L& l, const AnyMatrix& x) {
                return mapped(x, l, [&](double value, size_t j) { return l.position(value, j); });
            },
            nb::arg("points"))
        .def(
            "middles",
            [](const L& l, const AnyMatrix& x) {
                return mapped(x, l,
                              [&](double value, size_t j) { return l.middle(l.coordinate(value, j), j); });
            },
            nb::arg("points"))
        .def(
            "wrapped",
            [](const L& l, const AnyMatrix& x) {
                return mapped(x, l, [&](double offset, size_t j) { return l.wrapped(offset, j); });
            },
            nb::arg("offsets"))
        .def(
            "values",
            [](const L& l, const AnyMatrix& x) {
                return mapped(x, l, [&](double position, size_t j) { return l.value(position, j); });
            },
            nb::arg("positions"));
}

nb::list units_of(const Features& features) {
    nb::list choices;
    for (const Units& units : unit_choices(features)) choices.append(to_numpy(units));
    return choices;
}

nb::tuple plan(const Features& features, const Vector<double>& units, double total) {
    if (features.empty() || units.shape(0) != features.size())
        throw nb::value_error("units must have one value per marginal");
    LatticePlan made(features, to_vector(units), total);
    Array<double> ends;
    for (const EndPile& end : made.ends)
        for (const double value : {static_cast<double>(end.feature), end.value, end.width})
            ends.push_back(value);
    return nb::make_tuple(std::move(made.lattice), to_numpy(std::move(ends), {made.ends.size(), 3}),
                          made.is_plain);
}

}  // namespace

void bind_marginals(nb::module_& m) {
    m.def("marginals", &marginals, nb::arg("points"), nb::arg("weights").none(), nb::arg("period"),
          nb::arg("n_threads"));
    m.def("check_finite", &check_all_finite, nb::arg("points"), nb::arg("n_threads"));
    bind_marginal(m);
    bind_lattice(m);
    m.attr("LEAST_SPREAD") = Feature::kLeastSpread;
    m.attr("PERIOD_BITS") = TreeLattice::kPeriodBits;
    m.attr("CODE_BITS") = 64 * code_words(kMaxFeatures);
    m.def("unit_choices", &units_of, nb::arg("marginals"));
    m.def("plan_lattice", &plan, nb::arg("marginals"), nb::arg("units"), nb::arg("total"));
}
