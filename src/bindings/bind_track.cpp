// Trackers: ColourCells, ColourTracker, CellFollower.
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>

#include "arrays.hpp"
#include "bindings.hpp"
#include "kernel/track/follower.hpp"
#include "kernel/track/tracker.hpp"

using namespace mspp;

using Pixels = nb::ndarray<const uint8_t, nb::shape<-1, -1, 3>, nb::device::cpu>;
using OutMask = nb::ndarray<uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Sides = std::array<double, 3>;
using TrackResult = std::tuple<bool, std::tuple<i64, i64, i64, i64>>;  // ok, (left, top, width, height)

static Frame frame_of(const Pixels& pixels) {
    return {pixels.data(),
            static_cast<i64>(pixels.shape(0)),
            static_cast<i64>(pixels.shape(1)),
            pixels.stride(0),
            pixels.stride(1),
            pixels.stride(2)};
}

template <class T>
static void init(T& self, const Pixels& pixels, std::array<i64, 4> window,
                 std::optional<Matrix<uint8_t>> selected) {
    const Frame frame = frame_of(pixels);
    const Rect rect{window[0], window[1], window[0] + window[2], window[1] + window[3]};
    if (rect.left < 0 || rect.top < 0 || window[2] < 1 || window[3] < 1 || rect.right > frame.width ||
        rect.bottom > frame.height)
        throw nb::value_error("the window must lie in the frame");
    if (selected && (static_cast<i64>(selected->shape(0)) != window[3] ||
                     static_cast<i64>(selected->shape(1)) != window[2]))
        throw nb::value_error("selected must have the window's shape");
    nb::gil_scoped_release release;
    self.init(frame, rect, selected ? selected->data() : nullptr);
}

template <class T>
static TrackResult update(T& self, const Pixels& pixels) {
    const Frame frame = frame_of(pixels);
    nb::gil_scoped_release release;
    self.update(frame);
    const Rect w = self.window(frame.height, frame.width);
    return {self.ok(), {w.left, w.top, w.width(), w.height()}};
}

template <class T>
static void fill_mask(const T& self, const Pixels& pixels, OutMask out) {
    const Frame frame = frame_of(pixels);
    if (out.shape(0) != pixels.shape(0) || out.shape(1) != pixels.shape(1))
        throw nb::value_error("the mask must have the frame's shape");
    nb::gil_scoped_release release;
    self.mask(frame, out.data());
}

template <class T>
static auto cells_of(const T& self) {
    const std::vector<std::array<i64, 3>> cells = self.cells();
    Array<i64> flat;
    for (const auto& cell : cells) flat.insert(flat.end(), cell.begin(), cell.end());
    return to_numpy(std::move(flat), {cells.size(), size_t{3}});
}

template <class T>
static void add_methods(nb::class_<T>& type) {
    type.def("init", &init<T>, nb::arg("frame"), nb::arg("window"), nb::arg("selected").none())
        .def("update", &update<T>, nb::arg("frame"))
        .def("mask", &fill_mask<T>, nb::arg("frame"), nb::arg("out").noconvert())
        .def("cells", &cells_of<T>)
        .def("score", &T::score);
}

void bind_track(nb::module_& m) {
    nb::class_<ColourCells>(m, "ColourCells")
        .def("__init__", [](ColourCells* self, const Sides& sides) { new (self) ColourCells(sides); })
        .def("__len__", &ColourCells::size);
    nb::class_<ColourTracker> tracker(m, "ColourTracker");
    tracker.def(
        "__init__",
        [](ColourTracker* self, std::shared_ptr<const ColourCells> cells, bool scale,
           const std::map<std::string, double>& settings) {
            TrackSettings changed;
            for (const auto& [name, value] : settings) setting(changed, name) = value;
            new (self) ColourTracker(std::move(cells), scale, changed);
        },
        nb::arg("cells"), nb::arg("scale"), nb::arg("settings") = std::map<std::string, double>());
    tracker.def("signals", &ColourTracker::signals);
    add_methods(tracker);
    nb::class_<CellFollower> follower(m, "CellFollower");
    follower.def(nb::init<const Sides&, bool, double, int>(), nb::arg("sides"), nb::arg("adapt"),
                 nb::arg("tol"), nb::arg("max_iter"));
    add_methods(follower);
}
