// The tree of significant clusters: grow_tree, the limits of its leaves, and the order of its cuts.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <numeric>
#include <optional>

#include "arrays.hpp"
#include "bindings.hpp"
#include "kernel/tree/grown.hpp"

using namespace mspp;

namespace {

// One column of the splits.
template <class T>
auto column(const std::vector<Split>& splits, T Split::* member) {
    using Value = std::conditional_t<std::is_integral_v<T>, i64, double>;
    Array<Value> values;
    for (const Split& split : splits) values.push_back(static_cast<Value>(split.*member));
    const size_t n = values.size();
    return to_numpy(std::move(values), {n});
}

nb::dict columns(const std::vector<Split>& splits) {
    nb::dict result;
    result["cluster"] = column(splits, &Split::cluster);
    result["parent"] = column(splits, &Split::parent);
    result["stage"] = column(splits, &Split::stage);
    result["window"] = column(splits, &Split::mass);
    result["front"] = column(splits, &Split::front);
    result["joins"] = column(splits, &Split::joins);
    result["top"] = column(splits, &Split::top);
    result["weight"] = column(splits, &Split::weight);
    result["depth"] = column(splits, &Split::depth);
    result["z"] = column(splits, &Split::z);
    result["critical"] = column(splits, &Split::critical);
    result["score"] = column(splits, &Split::score);
    result["peak"] = column(splits, &Split::peak);
    result["saddle"] = column(splits, &Split::saddle);
    result["dimension"] = column(splits, &Split::dimension);
    return result;
}

nb::tuple grow(const TreeLattice& lattice, const Matrix<double>& positions, const Vector<i64>& weights,
               const Vector<double>& sizes, const std::optional<Vector<i64>>& hosts, double rows,
               const Vector<double>& strictness, i64 enough, const Vector<double>& critical, int n_threads) {
    const size_t n = positions.shape(0);
    if (n < 1 || positions.shape(1) != lattice.d() || weights.shape(0) != n || sizes.shape(0) != n ||
        critical.shape(0) != 4 || strictness.shape(0) < 1 || (hosts && hosts->shape(0) != n))
        throw nb::value_error("an array of leaves, strictness or critical has the wrong shape");
    const auto is_weight = [](i64 weight) { return 0 < weight && weight <= i64{1} << 31; };
    if (!std::all_of(weights.data(), weights.data() + n, is_weight))
        throw nb::value_error("weights must be from 1 to 2^31");
    const auto is_host = [&](i64 leaf) { return -1 <= leaf && leaf < static_cast<i64>(n); };
    if (hosts && !std::all_of(hosts->data(), hosts->data() + n, is_host))
        throw nb::value_error("hosts must be leaves, or -1");
    if (std::all_of(lattice.units.begin(), lattice.units.end(), [](double unit) { return unit == 0; }))
        throw nb::value_error("a tree needs a feature that varies");
    const double total = static_cast<double>(std::accumulate(weights.data(), weights.data() + n, i64{0}));
    if (!(rows > 0 && rows <= total))
        throw nb::value_error("rows must be above 0 and at most the sum of weights");
    const double *c = critical.data(), *s = strictness.data();
    const Growth growth{rows, {s, s + strictness.shape(0)}, enough};
    const Counted leaves{lattice, positions.data(), weights.data(), sizes.data(), static_cast<i64>(n)};
    const Grown grown = without_gil([&] {
        return grow_leaves(leaves, hosts ? hosts->data() : nullptr, growth,
                           CriticalValues{c[0], c[1], c[2], c[3]}, n_threads);
    });
    const Tree& tree = grown.tree;
    return nb::make_tuple(to_numpy(tree.labels), to_numpy(tree.radii), columns(tree.splits), tree.mass,
                          tree.levels, to_numpy(grown.hosts));
}

u64 finer(const Vector<i64>& labels, const Vector<i64>& weights, double rows, u64 limit) {
    const i64 *begin = labels.data(), n = static_cast<i64>(labels.shape(0));
    if (n < 1 || weights.shape(0) != labels.shape(0) || *std::min_element(begin, begin + n) < 0)
        throw nb::value_error("labels or weights have the wrong shape or values");
    return finer_limit(begin, weights.data(), n, rows, limit);
}

// Throws unless all columns of splits have the same length, and all clusters have a size.
template <class... Columns>
void check_splits(size_t n_clusters, const Vector<i64>& cluster, const Vector<i64>& other,
                  const Columns&... columns) {
    const size_t n = cluster.shape(0);
    const auto in_range = [&](i64 label) { return 0 <= label && label < static_cast<i64>(n_clusters); };
    if (other.shape(0) != n || ((columns.shape(0) != n) || ...) ||
        !std::all_of(cluster.data(), cluster.data() + n, in_range) ||
        !std::all_of(other.data(), other.data() + n, in_range))
        throw nb::value_error("splits have the wrong shape or clusters");
}

auto small(const Vector<double>& size, const Vector<i64>& cluster, const Vector<i64>& other,
           const Vector<double>& level, double min_size) {
    check_splits(size.shape(0), cluster, other, level);
    std::vector<Meeting> meetings;
    for (size_t k = 0; k < cluster.shape(0); ++k)
        meetings.push_back({cluster.data()[k], other.data()[k], level.data()[k]});
    return join_small({size.data(), size.data() + size.shape(0)}, std::move(meetings), min_size);
}

auto weakest(const Vector<double>& size, const Vector<i64>& cluster, const Vector<i64>& parent,
             const Vector<i64>& other, const Vector<i64>& stage, const Vector<double>& depth) {
    check_splits(size.shape(0), cluster, other, parent, stage, depth);
    check_splits(size.shape(0), parent, parent);
    std::vector<Separation> splits;
    for (size_t k = 0; k < cluster.shape(0); ++k)
        splits.push_back(
            {cluster.data()[k], parent.data()[k], other.data()[k], stage.data()[k], depth.data()[k]});
    return without_gil(
        [&] { return weakest_first({size.data(), size.data() + size.shape(0)}, std::move(splits)); });
}

}  // namespace

void bind_tree(nb::module_& m) {
    m.def("grow_tree", &grow, nb::arg("lattice"), nb::arg("positions"), nb::arg("weights"), nb::arg("sizes"),
          nb::arg("hosts").none(), nb::arg("rows"), nb::arg("strictness"), nb::arg("enough"),
          nb::arg("critical"), nb::arg("n_threads"));
    m.def("leaf_limit", &leaf_limit, nb::arg("rows"), nb::arg("total"));
    m.def("finer_limit", &finer, nb::arg("labels"), nb::arg("weights"), nb::arg("rows"), nb::arg("limit"));
    m.def("join_small", &small, nb::arg("size"), nb::arg("cluster"), nb::arg("other"), nb::arg("level"),
          nb::arg("min_size"));
    m.def("weakest_first", &weakest, nb::arg("size"), nb::arg("cluster"), nb::arg("parent"), nb::arg("other"),
          nb::arg("stage"), nb::arg("depth"));
}
