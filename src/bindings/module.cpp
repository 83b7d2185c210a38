// The native module: checks arrays, releases the GIL, owns memory; nothing else.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "arrays.hpp"
#include "bindings.hpp"
#include "kernel/bin/bin.hpp"
#include "kernel/image/colour.hpp"
#include "kernel/image/regions.hpp"

using namespace mspp;

using Ids = nb::ndarray<i32, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using AnyPoints = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;

static Dtype dtype_of(const nb::dlpack::dtype& dtype) {
    if (dtype == nb::dtype<float>()) return Dtype::f32;
    if (dtype == nb::dtype<double>()) return Dtype::f64;
    if (dtype == nb::dtype<uint8_t>()) return Dtype::u8;
    if (dtype == nb::dtype<int8_t>()) return Dtype::i8;
    if (dtype == nb::dtype<uint16_t>()) return Dtype::u16;
    if (dtype == nb::dtype<int16_t>()) return Dtype::i16;
    if (dtype == nb::dtype<uint32_t>()) return Dtype::u32;
    if (dtype == nb::dtype<int32_t>()) return Dtype::i32;
    if (dtype == nb::dtype<uint64_t>()) return Dtype::u64;
    if (dtype == nb::dtype<int64_t>()) return Dtype::i64;
    throw nb::type_error("points must be float32, float64 or an integer type of up to 64 bits");
}

static Points points_of(const AnyPoints& x) {
    const i64 item = static_cast<i64>(x.itemsize());
    return {static_cast<const char*>(x.data()), dtype_of(x.dtype()), static_cast<i64>(x.shape(0)),
            static_cast<int>(x.shape(1)),       x.stride(0) * item,  x.stride(1) * item};
}

static Strategy strategy_of(const std::string& name) {
    constexpr std::pair<const char*, Strategy> strategies[] = {
        {"auto", Strategy::automatic}, {"dense", Strategy::dense},   {"ranked", Strategy::ranked},
        {"hash", Strategy::hash},      {"sorted", Strategy::sorted}, {"wide", Strategy::wide}};
    for (const auto& [known, strategy] : strategies)
        if (name == known) return strategy;
    throw nb::value_error("strategy must be auto, dense, ranked, hash, sorted or wide");
}

// Those that run on this machine, best first.
static std::vector<std::string> instruction_sets() {
    int n;
    const LoopChoice* choices = loop_choices(n);
    std::vector<std::string> names;
    for (int k = 0; k < n; ++k)
        if (choices[k].runs_here) names.push_back(choices[k].name);
    return names;
}

static nb::tuple bin_points_by(const AnyPoints& x, const Vector<double>& cell_size,
                               std::optional<Vector<u64>> weights, std::optional<Ids> ids, int n_threads,
                               const std::string& strategy, std::optional<std::string> isa) {
    const Points points = points_of(x);
    const size_t n = x.shape(0);
    if (cell_size.shape(0) != x.shape(1) || (weights && weights->shape(0) != n) ||
        (ids && ids->shape(0) != n) || n_threads < 1 || points.d < 1)
        throw nb::value_error("points, cell_size, weights and ids must belong together");
    const Strategy chosen = strategy_of(strategy);
    const BlockLoops* loops = find_loops(isa ? isa->c_str() : nullptr);
    if (!loops) throw nb::value_error("no loops for this instruction set run on this machine");
    Binned binned = unlocked([&] {
        return bin(points, cell_size.data(), weights ? weights->data() : nullptr, ids ? ids->data() : nullptr,
                   n_threads, chosen, *loops);
    });
    return to_tuple(std::move(binned.grid), std::move(binned.assignment));
}

static nb::tuple bin_points(const AnyPoints& x, const Vector<double>& cell_size,
                            std::optional<Vector<u64>> weights, std::optional<Ids> ids, int n_threads) {
    return bin_points_by(x, cell_size, std::move(weights), std::move(ids), n_threads, "auto", std::nullopt);
}

static void take(const Assignment& assignment, const Vector<i32>& values, const Vector<i32>& ids,
                 Ids labels) {
    const i64 n = assignment.parts.empty() ? 0 : assignment.parts.back().rows.end;
    if (static_cast<i64>(values.shape(0)) != assignment.n_cells || static_cast<i64>(ids.shape(0)) != n ||
        static_cast<i64>(labels.shape(0)) != n)
        throw nb::value_error("values, ids and labels must belong to this assignment");
    nb::gil_scoped_release release;
    assignment.take(values.data(), ids.data(), labels.data());
}

static auto convert_colours(const AnyPoints& rgb, const std::string& space, double white, int n_threads) {
    constexpr std::pair<const char*, Space> spaces[] = {
        {"rgb", Space::rgb}, {"lab", Space::lab}, {"luv", Space::luv}, {"hsv", Space::hsv}};
    const auto* known =
        std::find_if(std::begin(spaces), std::end(spaces), [&](auto& s) { return space == s.first; });
    if (known == std::end(spaces) || rgb.shape(1) != 3)
        throw nb::value_error("colours are rgb, lab, luv or hsv, three each");
    Array<float> colours(rgb.shape(0) * 3);
    unlocked([&] { convert(points_of(rgb), known->second, white, colours.data(), n_threads); });
    return to_numpy(std::move(colours), {rgb.shape(0), size_t{3}});
}

static void make_hierarchy(Hierarchy* self, const Matrix<float>& colours, const Vector<i32>& clusters,
                           std::array<i64, 3> shape, std::array<double, 3> weights, i64 min_size,
                           double limit, int n_threads) {
    const Shape image{shape[0], shape[1], shape[2]};
    if (image.size() != static_cast<i64>(clusters.shape(0)) || clusters.shape(0) != colours.shape(0) ||
        colours.shape(1) != 3)
        throw nb::value_error("colours, clusters and shape must belong together");
    nb::gil_scoped_release release;
    new (self) Hierarchy(colours.data(), clusters.data(), image, weights, min_size, limit, n_threads);
}

static auto cut_hierarchy(const Hierarchy& self, const Matrix<float>& colours, double level, i64 min_size) {
    if (static_cast<i64>(colours.shape(0)) != self.n_pixels())
        throw nb::value_error("colours must be those of the image");
    Array<i32> labels(colours.shape(0));
    unlocked([&] { self.cut(colours.data(), level, min_size, labels.data()); });
    return to_numpy(std::move(labels), {colours.shape(0)});
}

// Sets InvalidInputError(problem, row=..., column=...) as the Python error.
static void raise(const BadInput& error) {
    auto index = [](i64 at) -> nb::object { return at < 0 ? nb::none() : nb::cast(at); };
    const nb::object type = nb::module_::import_("meanshiftpp.errors").attr("InvalidInputError");
    const nb::object value =
        type(error.what(), nb::arg("row") = index(error.row), nb::arg("column") = index(error.column));
    PyErr_SetObject(type.ptr(), value.ptr());
}

NB_MODULE(_kernel, m) {
    m.doc() = "The loops of meanshiftpp. Use the package, not this module.";
    nb::register_exception_translator([](const std::exception_ptr& p, void*) {
        try {
            std::rethrow_exception(p);
        } catch (const BadInput& error) {
            raise(error);
        }
    });
    m.attr("OFFSET_BITS") = kOffsetBits;
    m.attr("TIE_BITS") = kTieBits;
    m.attr("WINDOW_SUM_BITS") = kWindowSumBits;
    m.attr("COUNT_LIMIT") = kCountLimit;
    m.attr("MAX_CELL") = kMaxCell;
    m.attr("MAX_EXACT") = kMaxExact;
    m.attr("MAX_REACH") = kMaxReach;
    m.attr("MAX_KEY_AXES") = kMaxKeyAxes;
    m.attr("MAX_COLOUR_CELLS") = kMaxColourCells;
    nb::class_<Assignment>(m, "Assignment")
        .def("take", &take, nb::arg("values"), nb::arg("ids"), nb::arg("labels").noconvert());
    m.def("bin_points", &bin_points, nb::arg("points"), nb::arg("cell_size"), nb::arg("weights").none(),
          nb::arg("ids").none().noconvert(), nb::arg("n_threads"));
    m.def("bin_points_by", &bin_points_by, nb::arg("points"), nb::arg("cell_size"), nb::arg("weights").none(),
          nb::arg("ids").none().noconvert(), nb::arg("n_threads"), nb::arg("strategy"),
          nb::arg("isa").none());
    m.def("instruction_sets", &instruction_sets);
    nb::class_<Hierarchy>(m, "Hierarchy")
        .def("__init__", &make_hierarchy, nb::arg("colours"), nb::arg("clusters"), nb::arg("shape"),
             nb::arg("weights"), nb::arg("min_size"), nb::arg("limit"), nb::arg("n_threads"))
        .def("cut", &cut_hierarchy, nb::arg("colours"), nb::arg("level"), nb::arg("min_size"))
        .def("count", &Hierarchy::count, nb::arg("level"));
    m.def("convert_colours", &convert_colours, nb::arg("rgb"), nb::arg("space"), nb::arg("white"),
          nb::arg("n_threads"));
    bind_cells(m);
    bind_track(m);
}
