// The leaves of a tree as arrays, for codes of any length.
#pragma once

#include "kernel/leaves/end_piles.hpp"
#include "kernel/leaves/leaves.hpp"

namespace mspp {

// Boxes of a lattice, in the order of their codes.
struct TreeLeaves {
    Array<u64> codes;  // (leaves, words), the first code in the box of each
    Array<u16> bits;   // free bits of the codes in it
    Array<i64> weights;
    Array<double> positions;  // (leaves, d), their means in the tree
    size_t size() const { return weights.size(); }
};

// The points of leaves: those of leaf k are rows[first[k]] up to rows[first[k + 1]], along the curve.
struct Placed {
    Array<u32> rows, first;
    double squares;  // sum of the squared weights of points with equal coordinates
};

// Points that are given by their coordinates (n, d).
inline Points points_of(const Array<i64>& coordinates, size_t d) {
    return {reinterpret_cast<const char*>(coordinates.data()),
            Dtype::i64,
            static_cast<i64>(coordinates.size() / d),
            static_cast<int>(d),
            static_cast<i64>(8 * d),
            8};
}

namespace detail {

template <int W>
TreeLeaves to_arrays(const LeafSet<W>& set, const TreeLattice& lattice) {
    const size_t m = set.weights.size(), d = lattice.d();
    TreeLeaves leaves{
        Array<u64>(m * W), set.bits, {set.weights.begin(), set.weights.end()}, Array<double>(m * d)};
    for (size_t k = 0; k < m; ++k) {
        std::copy_n(set.codes[k].words.data(), W, &leaves.codes[k * W]);
        for (size_t j = 0; j < d; ++j) {
            const double mean =
                static_cast<double>(set.sums[k * d + j]) / static_cast<double>(set.weights[k]);
            leaves.positions[k * d + j] = (mean + 0.5) * lattice.scale[j];
        }
    }
    return leaves;
}

}  // namespace detail

// IN points in data units, or with `cells` by their coordinates; weights and limit as make_leaf_set.
inline std::pair<TreeLeaves, Placed> build_leaves(const Points& points, const u64* weights,
                                                  const TreeLattice& lattice, const Lattice& cells, u64 limit,
                                                  int n_threads) {
    return with_words(points.d, [&](auto words) {
        constexpr int W = decltype(words)::value;
        LeafSet<W> set = make_leaf_set<W>(points, weights, cells, limit, n_threads);
        TreeLeaves leaves = detail::to_arrays(set, lattice);
        return std::pair{std::move(leaves), Placed{std::move(set.rows), std::move(set.first), set.squares}};
    });
}

// OUT found (n,): the leaf whose box holds each point, -1 for none. IN codes (m, words) and bits (m,).
inline void find_leaves(const Points& points, const Lattice& cells, const u64* codes, const u16* bits, i64 m,
                        i32* found, int n_threads) {
    with_words(points.d, [&](auto words) {
        constexpr int W = decltype(words)::value;
        const auto* boxes = reinterpret_cast<const Code<W>*>(codes);
        find_leaves<W>(points, cells, boxes, bits, m, found, n_threads);
    });
}

// The same for points whose piles at the ends were spread.
inline void find_leaves(const Points& points, const TreeLattice& lattice, const EndPiles& ends,
                        const u64* codes, const u16* bits, i64 m, i32* found, int n_threads) {
    if (ends.empty()) return find_leaves(points, lattice.view(), codes, bits, m, found, n_threads);
    const size_t d = lattice.d();
    Array<i64> coordinates(static_cast<size_t>(points.n) * d);
    with_type(points.dtype, [&](auto type) {
        const int team = team_size(points.n, 1 << 12, n_threads);
        parallel(team, [&](int t) {
            each_of(part(points.n, t, team), 8 * points.d, [&](i64 i) {
                for (int j = 0; j < points.d; ++j) {
                    const double x = widen<decltype(type)>(points, i, j);
                    if (!std::isfinite(x)) reject(i, j, x, lattice.cell_size[j]);
                    coordinates[i * points.d + j] = lattice.coordinate(x, static_cast<size_t>(j));
                }
            });
        });
    });
    place_ends(coordinates, lattice, ends);
    find_leaves(points_of(coordinates, d), WholeCells(lattice).view(), codes, bits, m, found, n_threads);
}

}  // namespace mspp
