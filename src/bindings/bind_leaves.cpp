// The leaves of a tree: marginals, build_leaves, find_leaves, take_leaves.
#include <nanobind/stl/optional.h>

#include <optional>

#include "arrays.hpp"
#include "bindings.hpp"
#include "kernel/leaves/leaves.hpp"
#include "kernel/leaves/marginal.hpp"

using namespace mspp;

namespace {

using Weights = std::optional<Vector<u64>>;

void check_weights(const Weights& weights, size_t n) {
    if (weights && weights->shape(0) != n) throw nb::value_error("weights must have one value per point");
}

nb::list marginals(const AnyMatrix& x, const Weights& weights, const Vector<double>& period, int n_threads) {
    const Points points = points_of(x);
    check_weights(weights, x.shape(0));
    if (period.shape(0) != x.shape(1)) throw nb::value_error("period must have one value per axis");
    std::vector<Marginal> found = without_gil([&] {
        return make_marginals(points, weights ? weights->data() : nullptr, period.data(), n_threads);
    });
    nb::list result;
    for (const Marginal& marginal : found) {
        Array<i64> cells;
        Array<u64> counts;
        for (const auto& [cell, weight] : marginal.entries) {
            cells.push_back(cell);
            counts.push_back(weight);
        }
        const size_t n = cells.size();
        result.append(nb::make_tuple(marginal.level, to_numpy(std::move(cells), {n}),
                                     to_numpy(std::move(counts), {n}), marginal.low, marginal.high));
    }
    return result;
}

void check_all_finite(const AnyMatrix& x, int n_threads) {
    const Points points = points_of(x);
    without_gil([&] {
        with_type(points.dtype, [&](auto type) { check_finite<decltype(type)>(points, n_threads); });
    });
}

Lattice lattice_of(size_t d, const Vector<double>& cell_size, const Vector<i64>& cells_per_period,
                   const Vector<i64>& low, const Vector<i64>& extent, const Vector<i64>& shift) {
    check_axes(d);
    for (const size_t n :
         {cell_size.shape(0), cells_per_period.shape(0), low.shape(0), extent.shape(0), shift.shape(0)})
        if (n != d) throw nb::value_error("a lattice must have one value per axis");
    for (size_t j = 0; j < d; ++j) {
        const i64 bits = shift.data()[j], cells = std::max(extent.data()[j], cells_per_period.data()[j]);
        if (bits < 0 || bits > 62 || extent.data()[j] < 1 || extent.data()[j] > kMaxCell ||
            (cells - 1) >> bits >> Lattice::kMaxBits != 0)
            throw nb::value_error("coordinates must have at most 30 bits");
    }
    return {static_cast<int>(d), cell_size.data(), cells_per_period.data(),
            low.data(),          extent.data(),    shift.data()};
}

nb::tuple build_leaves(const AnyMatrix& x, const Weights& weights, const Vector<double>& cell_size,
                       const Vector<i64>& cells_per_period, const Vector<i64>& low, const Vector<i64>& extent,
                       const Vector<i64>& shift, u64 limit, int n_threads) {
    const Points points = points_of(x);
    check_weights(weights, x.shape(0));
    if (x.shape(0) > UINT32_MAX) throw nb::value_error("leaves hold at most 2^32 - 1 rows");
    const Lattice lattice = lattice_of(x.shape(1), cell_size, cells_per_period, low, extent, shift);
    return with_words(lattice.d, [&](auto words) {
        constexpr int W = decltype(words)::value;
        LeafSet<W> leaves = without_gil([&] {
            return make_leaf_set<W>(points, weights ? weights->data() : nullptr, lattice, limit, n_threads);
        });
        const size_t m = leaves.weights.size(), d = x.shape(1), n = leaves.rows.size();
        Array<u64> codes(m * W);
        for (size_t k = 0; k < m; ++k) std::copy_n(leaves.codes[k].words.data(), W, &codes[k * W]);
        return nb::make_tuple(
            to_numpy(std::move(leaves.rows), {n}), to_numpy(std::move(leaves.first), {m + 1}),
            to_numpy(std::move(leaves.weights), {m}), to_numpy(std::move(leaves.sums), {m, d}),
            to_numpy(std::move(codes), {m, W}), to_numpy(std::move(leaves.bits), {m}), leaves.squares);
    });
}

auto find(const AnyMatrix& x, const Vector<double>& cell_size, const Vector<i64>& cells_per_period,
          const Vector<i64>& low, const Vector<i64>& extent, const Vector<i64>& shift,
          const Matrix<u64>& codes, const Vector<u16>& bits, int n_threads) {
    const Points points = points_of(x);
    const Lattice lattice = lattice_of(x.shape(1), cell_size, cells_per_period, low, extent, shift);
    const i64 m = static_cast<i64>(bits.shape(0));
    Array<i32> found(x.shape(0));
    with_words(lattice.d, [&](auto words) {
        constexpr int W = decltype(words)::value;
        if (codes.shape(0) != bits.shape(0) || codes.shape(1) != W)
            throw nb::value_error("codes and bits have the wrong shape");
        const auto* leaves = reinterpret_cast<const Code<W>*>(codes.data());
        without_gil(
            [&] { find_leaves<W>(points, lattice, leaves, bits.data(), m, found.data(), n_threads); });
    });
    return to_numpy(std::move(found), {x.shape(0)});
}

void take(const Vector<u32>& rows, const Vector<u32>& first, const Vector<i32>& values, OutLabels labels,
          int n_threads) {
    const i64 m = static_cast<i64>(values.shape(0)), n = static_cast<i64>(labels.shape(0));
    if (first.shape(0) != values.shape(0) + 1) throw nb::value_error("values must have one value per leaf");
    const auto in_range = [&](u32 row) { return row < n; };
    if (!std::all_of(rows.data(), rows.data() + rows.shape(0), in_range) ||
        !std::is_sorted(first.data(), first.data() + m + 1) || first.data()[m] != rows.shape(0))
        throw nb::value_error("rows and first do not fit the labels");
    without_gil([&] {
        const int team = team_size(m, 1 << 12, n_threads);
        parallel(team, [&](int t) {
            each_of(part(m, t, team), 64, [&](i64 k) {
                for (u32 i = first.data()[k]; i < first.data()[k + 1]; ++i)
                    labels.data()[rows.data()[i]] = values.data()[k];
            });
        });
    });
}

}  // namespace

void bind_leaves(nb::module_& m) {
    m.def("marginals", &marginals, nb::arg("points"), nb::arg("weights").none(), nb::arg("period"),
          nb::arg("n_threads"));
    m.def("check_finite", &check_all_finite, nb::arg("points"), nb::arg("n_threads"));
    m.def("build_leaves", &build_leaves, nb::arg("points"), nb::arg("weights").none(), nb::arg("cell_size"),
          nb::arg("cells_per_period"), nb::arg("low"), nb::arg("extent"), nb::arg("shift"), nb::arg("limit"),
          nb::arg("n_threads"));
    m.def("find_leaves", &find, nb::arg("points"), nb::arg("cell_size"), nb::arg("cells_per_period"),
          nb::arg("low"), nb::arg("extent"), nb::arg("shift"), nb::arg("codes"), nb::arg("bits"),
          nb::arg("n_threads"));
    m.def("take_leaves", &take, nb::arg("rows"), nb::arg("first"), nb::arg("values"),
          nb::arg("labels").noconvert(), nb::arg("n_threads"));
}
