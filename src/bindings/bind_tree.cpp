// The tree of significant clusters: grow_tree, find_extents.
#include <numeric>

#include "arrays.hpp"
#include "bindings.hpp"
#include "kernel/tree/extents.hpp"
#include "kernel/tree/tree.hpp"

using namespace mspp;

namespace {

template <class T>
auto to_numpy(const std::vector<T>& values) {
    return to_numpy(Array<T>(values.begin(), values.end()), {values.size()});
}

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

nb::tuple grow(const Matrix<double>& points, const Vector<i64>& weights, const Vector<double>& period,
               const Vector<double>& strictness, i64 enough, double rows, const Vector<double>& critical,
               int n_threads) {
    const i64 n = static_cast<i64>(points.shape(0));
    check_axes(points.shape(1));
    if (n < 1 || weights.shape(0) != points.shape(0) || period.shape(0) != points.shape(1) ||
        critical.shape(0) != 4 || strictness.shape(0) < 1)
        throw nb::value_error("points, weights, period, strictness or critical has the wrong shape");
    const auto in_range = [](i64 weight) { return 0 < weight && weight <= i64{1} << 31; };
    if (!std::all_of(weights.data(), weights.data() + n, in_range))
        throw nb::value_error("weights must be from 1 to 2^31");
    const double total = static_cast<double>(std::accumulate(weights.data(), weights.data() + n, i64{0}));
    if (!(rows > 0 && rows <= total))
        throw nb::value_error("rows must be above 0 and at most the sum of weights");
    const double *c = critical.data(), *s = strictness.data();
    const Growth growth{rows, {s, s + strictness.shape(0)}, enough};
    Tree tree = without_gil([&] {
        return grow_tree(points.data(), weights.data(), n, static_cast<int>(points.shape(1)), period.data(),
                         growth, CriticalValues{c[0], c[1], c[2], c[3]}, n_threads);
    });
    return nb::make_tuple(to_numpy(tree.labels), to_numpy(tree.radii), columns(tree.splits), tree.mass,
                          tree.levels);
}

auto extents(const Vector<i64>& labels, const Vector<double>& sizes, const Vector<double>& radii,
             i64 n_clusters, const Vector<i64>& cluster, const Vector<i64>& other,
             const Vector<double>& level, const Vector<double>& dimension, const Vector<double>& depth) {
    const size_t n = labels.shape(0), k = cluster.shape(0);
    const auto in_range = [&](i64 label) { return 0 <= label && label < n_clusters; };
    if (sizes.shape(0) != n || radii.shape(0) != n || other.shape(0) != k || level.shape(0) != k ||
        dimension.shape(0) != k || depth.shape(0) != k ||
        !std::all_of(labels.data(), labels.data() + n, in_range) ||
        !std::all_of(cluster.data(), cluster.data() + k, in_range) ||
        !std::all_of(other.data(), other.data() + k, in_range))
        throw nb::value_error("leaves or saddles have the wrong shape or labels");
    std::vector<Saddle> saddles;
    for (size_t i = 0; i < k; ++i)
        saddles.push_back(
            {cluster.data()[i], other.data()[i], level.data()[i], dimension.data()[i], depth.data()[i]});
    return to_numpy(without_gil([&] {
        return find_extents(labels.data(), sizes.data(), radii.data(), static_cast<i64>(n), n_clusters,
                            std::move(saddles));
    }));
}

}  // namespace

void bind_tree(nb::module_& m) {
    m.attr("LEAST_WINDOW") = Masses::kLeastRows;
    m.attr("SMALL_PART") = Masses::kSmallPart;
    m.def("grow_tree", &grow, nb::arg("points"), nb::arg("weights"), nb::arg("period"), nb::arg("strictness"),
          nb::arg("enough"), nb::arg("rows"), nb::arg("critical"), nb::arg("n_threads"));
    m.def("find_extents", &extents, nb::arg("labels"), nb::arg("sizes"), nb::arg("radii"),
          nb::arg("n_clusters"), nb::arg("cluster"), nb::arg("other"), nb::arg("level"), nb::arg("dimension"),
          nb::arg("depth"));
}
