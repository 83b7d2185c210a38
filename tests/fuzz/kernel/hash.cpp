// The rows of a sample by hash: those of the same values in float64, for every number of threads.
#include <optional>

#include "input.hpp"
#include "kernel/cells/row_hash.hpp"

using namespace fuzz;

static std::optional<HashedRows> hashed(const Points& points, u64 least, int threads) {
    try {
        return hash_rows(points, least, threads);
    } catch (const BadInput& error) {  // an integer that float64 cannot hold
        REQUIRE(points.dtype == Dtype::i64 || points.dtype == Dtype::u64);
        REQUIRE(error.row >= 0 && error.row < points.n && error.column >= 0 && error.column < points.d);
        return {};
    }
}

FUZZ(input) {
    const int d = static_cast<int>(input.whole(1, 6));
    const AnyPoints x(input, input.whole(0, 40), d, [&] { return input.any(); });
    const u64 least = static_cast<u64>(input.byte()) << 56;
    const auto found = hashed(x.points, least, 1),
               shared = hashed(x.points, least, input.byte() % 16 ? 1 : 3);
    REQUIRE(found.has_value() == shared.has_value());
    if (!found) return;
    REQUIRE(found->rows == shared->rows && found->hashes == shared->hashes);
    REQUIRE(std::is_sorted(found->rows.begin(), found->rows.end()));
    std::vector<double> wide;
    for (i64 i = 0; i < x.points.n; ++i)
        for (int j = 0; j < d; ++j) wide.push_back(x.at(i, j));
    const Points plain{reinterpret_cast<const char*>(wide.data()), Dtype::f64, x.points.n, d, 8 * d, 8};
    const HashedRows all = hash_rows(plain, 0, 1);
    REQUIRE(static_cast<i64>(all.rows.size()) == x.points.n);
    size_t k = 0;
    for (i64 i = 0; i < x.points.n; ++i)
        if (all.hashes[i] >= least) REQUIRE(found->rows.at(k) == i && found->hashes.at(k++) == all.hashes[i]);
    REQUIRE(k == found->rows.size());
}
