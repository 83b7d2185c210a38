// Images: convert_colours, MergeTable, MergeTrace, Hierarchy.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "kernel/image/colour.hpp"
#include "kernel/image/hierarchy.hpp"

using namespace mspp;

static auto convert_colours(const AnyMatrix& rgb, const std::string& space, double white, int n_threads) {
    constexpr std::pair<const char*, Space> spaces[] = {
        {"rgb", Space::rgb}, {"lab", Space::lab}, {"luv", Space::luv}, {"hsv", Space::hsv}};
    if (rgb.shape(1) != 3) throw nb::value_error("rgb must have three columns");
    const Space chosen = choice_of(space, spaces, "space must be rgb, lab, luv or hsv");
    Array<float> colours(rgb.shape(0) * 3);
    without_gil([&] { convert(points_of(rgb), chosen, white, colours.data(), n_threads); });
    return to_numpy(std::move(colours), {rgb.shape(0), size_t{3}});
}

static void make_table(MergeTable* self, const Matrix<uint8_t>& features, const Matrix<float>& thresholds,
                       const Matrix<int16_t>& values, i32 bias) {
    const size_t trees = features.shape(0);
    if (features.shape(1) != kTreeDepth || thresholds.shape(0) != trees ||
        thresholds.shape(1) != kTreeDepth || values.shape(0) != trees || values.shape(1) != kTreeLeaves)
        throw nb::value_error("each tree must have five features, five thresholds and 32 values");
    new (self) MergeTable(static_cast<i64>(trees), features.data(), thresholds.data(), values.data(), bias);
}

static auto score_borders(const MergeTable& self, const Matrix<float>& features) {
    if (features.shape(1) != kMergeFeatures) throw nb::value_error("a border must have 38 features");
    constexpr size_t lanes = FeatureBatch::kSize;
    const size_t n = features.shape(0);
    Array<i32> scores(n);
    for (size_t first = 0; first < n; first += lanes) {
        FeatureBatch batch;
        const size_t count = std::min(lanes, n - first);
        for (size_t i = 0; i < count; ++i)
            for (int f = 0; f < kMergeFeatures; ++f)
                batch.of[f][i] = features.data()[(first + i) * kMergeFeatures + f];
        i32 all[lanes];
        self.score(batch, static_cast<int>(count), all);
        std::copy_n(all, count, &scores[first]);
    }
    return to_numpy(std::move(scores), {n});
}

static void make_hierarchy(Hierarchy* self, const Matrix<float>& colours, const Vector<i32>& clusters,
                           std::array<i64, 3> shape, std::array<double, 3> weights, i64 min_size,
                           double limit, int n_threads, const MergeTable* table,
                           const std::optional<Matrix<float>>& lab, MergeTrace* trace) {
    const Shape image{shape[0], shape[1], shape[2]};
    const size_t n = clusters.shape(0);
    if (image.size() != static_cast<i64>(n) || n != colours.shape(0) || colours.shape(1) != 3)
        throw nb::value_error("colours must have three columns and one row per pixel, clusters one value");
    if (lab && (lab->shape(0) != n || lab->shape(1) != 3))
        throw nb::value_error("lab must have the shape of colours");
    const Learned learned{table, lab ? lab->data() : colours.data(), trace};
    without_gil([&] {
        new (self)
            Hierarchy(colours.data(), clusters.data(), image, weights, min_size, limit, learned, n_threads);
    });
}

static auto cut_hierarchy(const Hierarchy& self, const Matrix<float>& colours, i64 wanted, i64 min_size,
                          int n_threads) {
    if (static_cast<i64>(colours.shape(0)) != self.n_pixels() || colours.shape(1) != 3)
        throw nb::value_error("colours must be those of the image");
    Array<i32> labels(colours.shape(0));
    without_gil([&] { self.cut(colours.data(), wanted, min_size, labels.data(), n_threads); });
    return to_numpy(std::move(labels), {colours.shape(0)});
}

template <class T>
static auto copy_to_numpy(const std::vector<T>& from, size_t columns) {
    return to_numpy(Array<T>(from.begin(), from.end()), {from.size() / columns, columns});
}

void bind_image(nb::module_& m) {
    m.def("convert_colours", &convert_colours, nb::arg("rgb"), nb::arg("space"), nb::arg("white"),
          nb::arg("n_threads"));
    nb::class_<MergeTable>(m, "MergeTable")
        .def("__init__", &make_table, nb::arg("features"), nb::arg("thresholds"), nb::arg("values"),
             nb::arg("bias"))
        .def("score", &score_borders, nb::arg("features"));
    nb::class_<MergeTrace>(m, "MergeTrace")
        .def(nb::init<>())
        .def("features", [](const MergeTrace& self) { return copy_to_numpy(self.features, kMergeFeatures); })
        .def("sides", [](const MergeTrace& self) { return copy_to_numpy(self.sides, 2); })
        .def("merged", [](const MergeTrace& self) { return copy_to_numpy(self.merged, 2); })
        .def("region_of_pixels", [](const MergeTrace& self) {
            return to_numpy(Array<u32>(self.region_of_pixels.begin(), self.region_of_pixels.end()),
                            {self.region_of_pixels.size()});
        });
    nb::class_<Hierarchy>(m, "Hierarchy")
        .def("__init__", &make_hierarchy, nb::arg("colours"), nb::arg("clusters"), nb::arg("shape"),
             nb::arg("weights"), nb::arg("min_size"), nb::arg("limit"), nb::arg("n_threads"),
             nb::arg("table") = nb::none(), nb::arg("lab") = nb::none(), nb::arg("trace") = nb::none())
        .def("cut", &cut_hierarchy, nb::arg("colours"), nb::arg("wanted"), nb::arg("min_size"),
             nb::arg("n_threads"))
        .def("count", &Hierarchy::count, nb::arg("level"));
}
