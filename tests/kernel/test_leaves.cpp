// leaves/ against brute force, with ==: coordinates, boxes of limited weight, and the leaf of any point.
#include <map>
#include <numeric>

#include "check.hpp"
#include "kernel/leaves/leaves.hpp"
#include "laws.hpp"
#include "oracle.hpp"

using namespace mspp;
using laws::check_polls, laws::each_caller, laws::kThreads;

namespace {

// Arrays of a lattice, one value per axis.
struct Cells {
    std::vector<double> cell_size;
    std::vector<i64> cells_per_period, low, extent, shift;

    // Cells of 2^-4 around zero, of which the lowest bit is dropped.
    explicit Cells(int d, bool periodic = false)
        : cell_size(size_t(d), 0x1p-4),
          cells_per_period(size_t(d), 0),
          low(size_t(d), -120),
          extent(size_t(d), 256),
          shift(size_t(d), 1) {
        if (!periodic) return;
        cells_per_period[0] = 64;  // a period of 4
        low[0] = 0;
    }
    Lattice lattice() const {
        return {static_cast<int>(cell_size.size()),
                cell_size.data(),
                cells_per_period.data(),
                low.data(),
                extent.data(),
                shift.data()};
    }
    // The coordinates of a point; empty if it is outside.
    std::vector<i64> locate(const double* x) const {
        std::vector<i64> at;
        for (size_t j = 0; j < low.size(); ++j) {
            double cell = std::floor(x[j] / cell_size[j]);
            if (const double turn = static_cast<double>(cells_per_period[j]); turn > 0) {
                cell -= std::floor(cell / turn) * turn;
            } else {
                cell -= static_cast<double>(low[j]);
                if (cell < 0 || cell >= static_cast<double>(extent[j])) return {};
            }
            at.push_back(static_cast<i64>(cell) / (i64{1} << shift[j]));
        }
        return at;
    }
};

// The bits of a box on the curve, the highest first: those of all coordinates in turn.
std::string bits_of_code(const std::vector<i64>& at, int bits) {
    std::string code;
    for (int b = bits - 1; b >= 0; --b)
        for (const i64 x : at) code += (x >> b & 1) ? '1' : '0';
    return code;
}

struct Box {
    std::string prefix;
    std::vector<u32> rows;
    u64 weight;
    bool operator==(const Box&) const = default;
};

// Halves a box until it is light, or its points are equal.
void divide(const std::string& prefix, const std::map<u32, std::string>& codes,
            const std::vector<u64>& weights, u64 limit, std::vector<Box>& boxes) {
    Box box{prefix, {}, 0};
    for (const auto& [row, code] : codes)
        if (code.starts_with(prefix)) {
            box.rows.push_back(row);
            box.weight += weights[row];
        }
    if (box.rows.empty()) return;
    if (box.weight <= limit || prefix.size() == codes.begin()->second.size()) return boxes.push_back(box);
    divide(prefix + '0', codes, weights, limit, boxes);
    divide(prefix + '1', codes, weights, limit, boxes);
}

// How many bits of each coordinate a code of W words has.
int bits_for(int d, int words) { return std::min(Lattice::kMaxBits, 64 * words / d); }

template <int W>
void check_leaves(const oracle::Cloud& cloud, const std::vector<u64>& weights, const Cells& cells,
                  u64 limit) {
    const int bits = bits_for(cloud.d, W);
    std::map<u32, std::string> codes;
    double squares = 0;
    std::map<std::string, u64> equal;
    for (u32 i = 0; i < cloud.n(); ++i) {
        const std::vector<i64> at = cells.locate(&cloud.x[i * static_cast<size_t>(cloud.d)]);
        if (weights[i] == 0 || at.empty()) continue;
        codes[i] = bits_of_code(at, bits);
        equal[codes[i]] += weights[i];
    }
    for (const auto& [code, weight] : equal) squares += static_cast<double>(weight * weight);
    std::vector<Box> expected;
    if (!codes.empty()) divide("", codes, weights, limit, expected);
    for (const int threads : {1, 3}) {
        const LeafSet<W> found =
            make_leaf_set<W>(cloud.points(), weights.data(), cells.lattice(), limit, threads);
        CHECK(found.squares == squares);
        CHECK(found.weights.size() == expected.size() && found.first.size() == expected.size() + 1);
        for (size_t k = 0; k < expected.size(); ++k) {
            std::vector<u32> rows(found.rows.begin() + found.first[k],
                                  found.rows.begin() + found.first[k + 1]);
            std::sort(rows.begin(), rows.end());
            CHECK(rows == expected[k].rows && found.weights[k] == expected[k].weight);
            CHECK(found.bits[k] == bits * cloud.d - static_cast<int>(expected[k].prefix.size()));
            for (int j = 0; j < cloud.d; ++j) {
                u64 sum = 0;
                for (const u32 i : rows)
                    sum += weights[i] *
                           static_cast<u64>(cells.locate(&cloud.x[i * static_cast<size_t>(cloud.d)])[j]);
                CHECK(found.sums[k * static_cast<size_t>(cloud.d) + static_cast<size_t>(j)] == sum);
            }
        }
        // Every point is found in its box, also those that were not placed.
        std::vector<i32> leaf(static_cast<size_t>(cloud.n()));
        find_leaves<W>(cloud.points(), cells.lattice(), found.codes.data(), found.bits.data(),
                       static_cast<i64>(found.bits.size()), leaf.data(), threads);
        for (u32 i = 0; i < cloud.n(); ++i) {
            const std::vector<i64> at = cells.locate(&cloud.x[i * static_cast<size_t>(cloud.d)]);
            i32 own = -1;
            for (size_t k = 0; k < expected.size() && !at.empty(); ++k)
                if (bits_of_code(at, bits).starts_with(expected[k].prefix)) own = static_cast<i32>(k);
            CHECK(leaf[i] == own);
        }
    }
}

}  // namespace

TEST(leaves_are_the_largest_light_boxes) {
    for (const int d : {1, 2, 3, 4, 7, 13})
        for (const u64 limit : {0, 1, 3, 20, 1000}) {
            const oracle::Cloud cloud = oracle::make_cloud(static_cast<u32>(d), 120, d);
            with_words(d, [&](auto words) {
                constexpr int W = decltype(words)::value;
                check_leaves<W>(cloud, std::vector<u64>(120, 1), Cells(d), limit);
                check_leaves<W>(cloud, oracle::make_weights(3, 120), Cells(d, true), limit);
            });
        }
}

TEST(points_outside_of_the_lattice_have_no_leaf) {
    oracle::Cloud cloud{1, {-1e300, -7.51, -7.5, 0.0, 8.49, 8.5, 1e300}};
    const Cells cells(1);
    const LeafSet<1> found = make_leaf_set<1>(cloud.points(), nullptr, cells.lattice(), 1, 1);
    CHECK((std::vector<u32>(found.rows.begin(), found.rows.end()) == std::vector<u32>{2, 3, 4}));
    check_leaves<1>(cloud, std::vector<u64>(7, 1), cells, 1);
}

TEST(values_that_are_not_finite_have_a_place) {
    const oracle::Cloud cloud{2, {0, 1, 2, NAN, 4, 5}};
    try {
        make_leaf_set<1>(cloud.points(), nullptr, Cells(2).lattice(), 1, 1);
        CHECK(false);
    } catch (const BadInput& error) {
        CHECK(error.row == 1 && error.column == 1);
    }
}

TEST(codes_are_read_in_any_bits) {
    const Interleave<2> interleave(5);
    const u32 coordinates[] = {1, 0, 3, 0x1ffffff, 2};
    const Code<2> code = interleave.code(coordinates);
    std::vector<u64> sums(5, 7);
    interleave.add_coordinates(code, 2, sums.data());
    for (int j = 0; j < 5; ++j) CHECK(sums[j] == 7 + 2 * u64{coordinates[j]});
    CHECK(interleave.total_bits() == 125);
    CHECK(bits_of(code, 0, 10) == 0b0011110110u);  // the two lowest bits of each, the first axis highest
    CHECK(without_lowest(code, 128) == Code<2>{});
    CHECK(first_difference(code, code) == 0);
    CHECK(first_difference(code, without_lowest(code, 10)) == 8);
}

TEST(leaves_are_equal_for_every_order_and_number_of_threads) {
    const oracle::Cloud cloud = oracle::make_cloud(5, 60'000, 2);
    oracle::Cloud reversed{2, {}};
    for (i64 i = cloud.n() - 1; i >= 0; --i)
        reversed.x.insert(reversed.x.end(), &cloud.x[2 * i], &cloud.x[2 * i] + 2);
    const Cells cells(2);
    const LeafSet<1> one = make_leaf_set<1>(cloud.points(), nullptr, cells.lattice(), 4, 1);
    for (const int threads : {2, 3}) {
        const LeafSet<1> other = make_leaf_set<1>(reversed.points(), nullptr, cells.lattice(), 4, threads);
        CHECK(one.codes == other.codes && one.bits == other.bits && one.sums == other.sums);
        CHECK(one.weights == other.weights && one.squares == other.squares && one.first == other.first);
    }
}

TEST(building_and_finding_leaves_can_be_interrupted) {
    const oracle::Cloud cloud = oracle::make_cloud(1, 100'000, 2, 5.0);
    const Cells cells(2);
    const Lattice lattice = cells.lattice();
    const LeafSet<1> leaves = make_leaf_set<1>(cloud.points(), nullptr, lattice, 8, 1);
    check_polls(4, [&](int threads) { make_leaf_set<1>(cloud.points(), nullptr, lattice, 8, threads); });
    std::vector<i32> found(static_cast<size_t>(cloud.n()));
    check_polls(2, [&](int threads) {
        find_leaves<1>(cloud.points(), lattice, leaves.codes.data(), leaves.bits.data(),
                       static_cast<i64>(leaves.bits.size()), found.data(), threads);
    });
}

TEST(callers_build_the_same_leaves) {
    const oracle::Cloud cloud = oracle::make_cloud(4, 60'000, 3);
    const Cells cells(3);
    each_caller([&] { return make_leaf_set<1>(cloud.points(), nullptr, cells.lattice(), 5, kThreads).sums; });
}
