// Images: convert_colours, Hierarchy.
#include <nanobind/stl/array.h>
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

static void make_hierarchy(Hierarchy* self, const Matrix<float>& colours, const Vector<i32>& clusters,
                           std::array<i64, 3> shape, std::array<double, 3> weights, i64 min_size,
                           double limit, int n_threads) {
    const Shape image{shape[0], shape[1], shape[2]};
    if (image.size() != static_cast<i64>(clusters.shape(0)) || clusters.shape(0) != colours.shape(0) ||
        colours.shape(1) != 3)
        throw nb::value_error("colours must have three columns and one row per pixel, clusters one value");
    without_gil([&] {
        new (self) Hierarchy(colours.data(), clusters.data(), image, weights, min_size, limit, n_threads);
    });
}

static auto cut_hierarchy(const Hierarchy& self, const Matrix<float>& colours, double level, i64 min_size,
                          int n_threads) {
    if (static_cast<i64>(colours.shape(0)) != self.n_pixels() || colours.shape(1) != 3)
        throw nb::value_error("colours must be those of the image");
    Array<i32> labels(colours.shape(0));
    without_gil([&] { self.cut(colours.data(), level, min_size, labels.data(), n_threads); });
    return to_numpy(std::move(labels), {colours.shape(0)});
}

void bind_image(nb::module_& m) {
    m.def("convert_colours", &convert_colours, nb::arg("rgb"), nb::arg("space"), nb::arg("white"),
          nb::arg("n_threads"));
    nb::class_<Hierarchy>(m, "Hierarchy")
        .def("__init__", &make_hierarchy, nb::arg("colours"), nb::arg("clusters"), nb::arg("shape"),
             nb::arg("weights"), nb::arg("min_size"), nb::arg("limit"), nb::arg("n_threads"))
        .def("cut", &cut_hierarchy, nb::arg("colours"), nb::arg("level"), nb::arg("min_size"),
             nb::arg("n_threads"))
        .def("count", &Hierarchy::count, nb::arg("level"));
}
