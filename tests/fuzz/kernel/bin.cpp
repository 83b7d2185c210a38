// Binning and the labels of points: every strategy, instruction set and number of threads is the plain sum.
#include "kernel/bin/bin.hpp"

#include <array>
#include <optional>

#include "input.hpp"

using namespace fuzz;

namespace {

struct Outcome {
    GridData grid{};
    std::vector<i32> labels;
    std::array<i64, 2> bad{-1, -1};  // the place of the value that was rejected
};

// Whether float64 cannot hold a value of a 64-bit type, or it has no cell.
bool is_bad(const AnyPoints& x, i64 i, int j, double h) {
    const double wide = x.at(i, j), limit = static_cast<double>(kMaxExact);
    const bool whole = x.points.dtype == Dtype::u64 || x.points.dtype == Dtype::i64;
    i64 bits;
    if (whole) std::memcpy(&bits, x.points.at(i, j), sizeof bits);
    return (whole && (std::abs(wide) > limit || std::abs(bits) == kMaxExact + 1)) || !has_cell(wide / h);
}

std::optional<std::array<i64, 2>> first_bad(const AnyPoints& x, const std::vector<double>& h) {
    for (i64 i = 0; i < x.points.n; ++i)
        for (int j = 0; j < x.points.d; ++j)
            if (is_bad(x, i, j, h[j])) return std::array<i64, 2>{i, j};
    return {};
}

Outcome run(const Points& points, const std::vector<double>& h, const u64* weights, Strategy strategy,
            int threads, const BlockLoops& loops) {
    Outcome out;
    std::vector<i32> ids(static_cast<size_t>(points.n));
    try {
        Binned binned = bin(points, h.data(), weights, ids.data(), threads, strategy, loops);
        std::vector<i32> numbers(static_cast<size_t>(binned.grid.size()));
        std::iota(numbers.begin(), numbers.end(), 0);
        binned.assignment.take(numbers.data(), ids.data(), ids.data());
        out.grid = std::move(binned.grid);
        out.labels = ids;
    } catch (const BadInput& error) {
        out.bad = {error.row, error.column};
    }
    return out;
}

// Checks a grid and the labels of its points by a sum into a map.
void check(const AnyPoints& x, const std::vector<double>& h, const std::vector<u64>& weights,
           const Outcome& out) {
    std::map<std::vector<i64>, std::vector<u64>> rows;
    std::vector<std::vector<i64>> cells;
    const int d = x.points.d;
    for (i64 i = 0; i < x.points.n; ++i) {
        std::vector<i64>& cell = cells.emplace_back();
        std::vector<u64> moments{weights[i]};
        for (int j = 0; j < d; ++j) {
            const double q = x.at(i, j) / h[j];
            cell.push_back(static_cast<i64>(std::floor(q)));
            moments.push_back(weights[i] *
                              static_cast<u64>(std::nearbyint(std::ldexp(q - std::floor(q), kOffsetBits))));
        }
        if (weights[i] == 0) continue;
        std::vector<u64>& row = rows.try_emplace(cell, d + 1, 0).first->second;
        for (int j = 0; j <= d; ++j) row[j] += moments[j];
    }
    GridData expected{d, {}, {}, {}};
    for (const auto& [cell, row] : rows) expected.append(cell.data(), row.data());
    REQUIRE(out.grid == expected);
    for (i64 i = 0; i < x.points.n; ++i) {
        const i64 label = out.labels[i];
        REQUIRE(label < 0 ? rows.count(cells[i]) == 0
                          : std::equal(cells[i].begin(), cells[i].end(), &expected.cells[label * d]));
    }
}

}  // namespace

FUZZ(input) {
    const int d = static_cast<int>(input.whole(1, 8));
    const AnyPoints x(input, input.whole(0, 40), d, [&] { return input.any(); });
    std::vector<double> h;
    for (int j = 0; j < d; ++j) h.push_back(std::max(std::abs(input.finite()), 0x1p-40));
    std::vector<u64> weights(static_cast<size_t>(x.points.n), 1);
    const bool weighted = input.flip();
    if (weighted)
        for (u64& weight : weights) weight = input.byte() % 4;
    int n_sets;
    const LoopChoice* sets = loop_choices(n_sets);
    const LoopChoice& set = sets[input.byte() % n_sets];
    if (!set.runs_here) return;
    const u64* w = weighted ? weights.data() : nullptr;
    const Outcome out = run(x.points, h, w, Strategy::automatic, 1, set.loops);
    const auto bad = first_bad(x, h);
    REQUIRE(out.bad == bad.value_or(std::array<i64, 2>{-1, -1}));
    if (!bad) check(x, h, weights, out);
    constexpr Strategy all[] = {Strategy::automatic, Strategy::dense,  Strategy::ranked,
                                Strategy::hash,      Strategy::sorted, Strategy::wide};
    const Strategy strategy = input.choice(all);
    const bool large = make_plan(x.points, h.data(), Strategy::automatic).slots > 4096;
    if (large && (strategy == Strategy::dense || strategy == Strategy::ranked)) return;
    const Outcome other = run(x.points, h, w, strategy, input.byte() % 16 ? 1 : 3, set.loops);
    REQUIRE(other.bad == out.bad && other.grid == out.grid && other.labels == out.labels);
}
