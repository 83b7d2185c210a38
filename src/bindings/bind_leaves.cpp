// The leaves of a tree: build_leaves, find_leaves, take_leaves, least_shift, Piles.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "bindings.hpp"
#include "kernel/leaves/join_cells.hpp"
#include "kernel/leaves/piles.hpp"
#include "lattices.hpp"

using namespace mspp;

namespace {

using Weights = std::optional<Vector<u64>>;

template <class T>
auto to_rows(Array<T>&& values, size_t n) {
    const size_t columns = n > 0 ? values.size() / n : 0;
    return to_numpy(std::move(values), {n, columns});
}

// The tuple (codes, bits, positions, weights).
nb::tuple to_tuple(TreeLeaves&& leaves) {
    const size_t m = leaves.size();
    return nb::make_tuple(to_rows(std::move(leaves.codes), m), to_numpy(std::move(leaves.bits), {m}),
                          to_rows(std::move(leaves.positions), m), to_numpy(std::move(leaves.weights), {m}));
}

nb::tuple build(const AnyMatrix& x, const Weights& weights, const TreeLattice& lattice, u64 limit,
                int n_threads) {
    const Points points = points_of(x);
    check_axes(x, lattice);
    if (weights && weights->shape(0) != x.shape(0))
        throw nb::value_error("weights must have one value per point");
    if (x.shape(0) > UINT32_MAX) throw nb::value_error("leaves hold at most 2^32 - 1 rows");
    auto [leaves, placed] = without_gil([&] {
        return build_leaves(points, weights ? weights->data() : nullptr, lattice, lattice.view(), limit,
                            n_threads);
    });
    const size_t m = leaves.size(), n = placed.rows.size();
    return nb::make_tuple(to_tuple(std::move(leaves)), to_numpy(std::move(placed.rows), {n}),
                          to_numpy(std::move(placed.first), {m + 1}), placed.squares);
}

auto find(const AnyMatrix& x, const TreeLattice& lattice, const Matrix<double>& ends,
          const Matrix<u64>& codes, const Vector<u16>& bits, int n_threads) {
    const Points points = points_of(x);
    check_axes(x, lattice);
    const size_t words = static_cast<size_t>(code_words(lattice.d()));
    if (codes.shape(0) != bits.shape(0) || codes.shape(1) != words)
        throw nb::value_error("codes and bits have the wrong shape");
    const EndPiles piles = ends_of(ends, lattice);
    Array<i32> found(x.shape(0));
    without_gil([&] {
        find_leaves(points, lattice, piles, codes.data(), bits.data(), static_cast<i64>(bits.shape(0)),
                    found.data(), n_threads);
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

void make_piles(Piles* self, const Features& features, const TreeLattice& lattice, const Matrix<double>& ends,
                const Matrix<double>& positions, const Vector<i64>& weights, double total, bool whole,
                u64 row, const Vector<double>& grain) {
    if (grain.shape(0) != lattice.d() || features.size() != lattice.d() ||
        positions.shape(1) != lattice.d() || positions.shape(0) != weights.shape(0))
        throw nb::value_error("marginals, positions or weights have the wrong shape");
    if (row == 0) throw nb::value_error("a row must have counts");
    const EndPiles piles = ends_of(ends, lattice);
    without_gil([&] {
        TreeLeaves single;
        single.positions.assign(positions.data(), positions.data() + positions.size());
        single.weights.assign(weights.data(), weights.data() + weights.size());
        new (self) Piles(features, lattice, piles, single, total, whole, row, grain.data());
    });
}

nb::tuple pile_leaves(const Piles& piles, u64 limit, int n_threads) {
    if (limit < 1) throw nb::value_error("limit must be at least 1");
    Array<i32> found;
    TreeLeaves leaves = without_gil([&] { return piles.leaves(limit, found, n_threads); });
    const size_t n = found.size();
    return nb::make_tuple(to_tuple(std::move(leaves)), to_numpy(std::move(found), {n}));
}

int shift_of(const Matrix<i64>& cells, int least, size_t most) {
    if (least < 0 || least > kMostShift || most < 1) throw nb::value_error("least or most is out of range");
    return without_gil([&] {
        return least_shift(cells.data(), static_cast<i64>(cells.shape(0)), cells.shape(1), least, most);
    });
}

}  // namespace

void bind_leaves(nb::module_& m) {
    m.def("build_leaves", &build, nb::arg("points"), nb::arg("weights").none(), nb::arg("lattice"),
          nb::arg("limit"), nb::arg("n_threads"));
    m.def("find_leaves", &find, nb::arg("points"), nb::arg("lattice"), nb::arg("ends"), nb::arg("codes"),
          nb::arg("bits"), nb::arg("n_threads"));
    m.def("take_leaves", &take, nb::arg("rows"), nb::arg("first"), nb::arg("values"),
          nb::arg("labels").noconvert(), nb::arg("n_threads"));
    m.def("least_shift", &shift_of, nb::arg("cells"), nb::arg("least"), nb::arg("most"));
    nb::class_<Piles>(m, "Piles")
        .def("__init__", &make_piles, nb::arg("marginals"), nb::arg("lattice"), nb::arg("ends"),
             nb::arg("positions"), nb::arg("weights"), nb::arg("total"), nb::arg("whole"), nb::arg("row"),
             nb::arg("grain"))
        .def_prop_ro("total", &Piles::total)
        .def("leaves", &pile_leaves, nb::arg("limit"), nb::arg("n_threads"));
}
