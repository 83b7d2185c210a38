// The tree of significant clusters: grow_tree.
#include "arrays.hpp"
#include "bindings.hpp"
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
    result["window"] = column(splits, &Split::mass);
    result["front"] = column(splits, &Split::front);
    result["joins"] = column(splits, &Split::joins);
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
               double strictness, const Vector<double>& critical, int n_threads) {
    const i64 n = static_cast<i64>(points.shape(0));
    check_axes(points.shape(1));
    if (n < 1 || weights.shape(0) != points.shape(0) || period.shape(0) != points.shape(1) ||
        critical.shape(0) != 4)
        throw nb::value_error("points, weights, period or critical has the wrong shape");
    const auto in_range = [](i64 weight) { return 0 < weight && weight <= i64{1} << 31; };
    if (!std::all_of(weights.data(), weights.data() + n, in_range))
        throw nb::value_error("weights must be from 1 to 2^31");
    const double* c = critical.data();
    Tree tree = without_gil([&] {
        return grow_tree(points.data(), weights.data(), n, static_cast<int>(points.shape(1)), period.data(),
                         strictness, CriticalValues{c[0], c[1], c[2], c[3]}, n_threads);
    });
    return nb::make_tuple(to_numpy(tree.labels), to_numpy(tree.radii), columns(tree.splits), tree.mass);
}

}  // namespace

void bind_tree(nb::module_& m) {
    m.def("grow_tree", &grow, nb::arg("points"), nb::arg("weights"), nb::arg("period"), nb::arg("strictness"),
          nb::arg("critical"), nb::arg("n_threads"));
}
