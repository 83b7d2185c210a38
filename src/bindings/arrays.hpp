// Arrays at the boundary: types of the inputs, conversions to the kernel's views, and outputs.
//
// The files bind_*.cpp check shapes, release the GIL and pass ownership of results to NumPy; nothing else.
// Inputs are borrowed for the call.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <initializer_list>
#include <utility>

#include "kernel/base/interrupt.hpp"
#include "kernel/cells/grid.hpp"
#include "kernel/cells/periods.hpp"
#include "kernel/cells/points.hpp"

namespace nb = nanobind;

namespace mspp {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;  // of any type and strides
using OutLabels = nb::ndarray<i32, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Raises KeyboardInterrupt after Ctrl-C.
inline void check_signals() {
    nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// Calls fn without the GIL and returns its result; Ctrl-C ends it.
template <class Fn>
auto without_gil(Fn&& fn) {
    nb::gil_scoped_release release;
    const Call call(check_signals);
    return fn();
}

// -- IN

inline Dtype dtype_of(const nb::dlpack::dtype& dtype) {
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
    throw nb::type_error("points must be float32, float64 or an integer type of at most 64 bits");
}

inline void check_axes(size_t d) {
    if (d < 1 || d > static_cast<size_t>(kMaxFeatures))
        throw nb::value_error("points and cells must have from 1 to MAX_FEATURES axes");
}

inline Points points_of(const AnyMatrix& x) {
    check_axes(x.shape(1));
    const i64 item = static_cast<i64>(x.itemsize());
    return {static_cast<const char*>(x.data()), dtype_of(x.dtype()), static_cast<i64>(x.shape(0)),
            static_cast<int>(x.shape(1)),       x.stride(0) * item,  x.stride(1) * item};
}

inline GridView grid_of(const Matrix<i64>& cells, const Vector<u64>& counts) {
    check_axes(cells.shape(1));
    if (counts.shape(0) != cells.shape(0)) throw nb::value_error("counts must have one value per cell");
    return {static_cast<int>(cells.shape(1)), static_cast<i64>(cells.shape(0)), cells.data(), counts.data(),
            nullptr};
}

inline GridView grid_of(const Matrix<i64>& cells, const Vector<u64>& counts, const Matrix<u64>& sums) {
    GridView grid = grid_of(cells, counts);
    if (sums.shape(0) != cells.shape(0) || sums.shape(1) != cells.shape(1))
        throw nb::value_error("cells and sums must have the same shape");
    grid.sums = sums.data();
    return grid;
}

inline Periods periods_of(const Vector<i64>& cells_per_period, const GridView& grid, i64 reach) {
    if (cells_per_period.shape(0) != static_cast<size_t>(grid.d))
        throw nb::value_error("cells_per_period must have one value per axis of cells");
    for (size_t j = 0; j < cells_per_period.shape(0); ++j)
        if (cells_per_period.data()[j] != 0 && cells_per_period.data()[j] < 2 * reach + 1)
            throw nb::value_error("a period must be at least as long as a window");
    return {cells_per_period.data()};
}

// The value of a name in a table of (name, value); raises ValueError(message) for an unknown name.
template <class T, size_t N>
T choice_of(const std::string& name, const std::pair<const char*, T> (&choices)[N], const char* message) {
    for (const auto& [known, value] : choices)
        if (name == known) return value;
    throw nb::value_error(message);
}

// -- OUT

// Passes an array to NumPy without a copy; NumPy then owns it.
template <class T>
auto to_numpy(Array<T>&& from, std::initializer_list<size_t> shape) {
    auto* owned = new Array<T>(std::move(from));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Array<T>*>(p); });
    return nb::ndarray<nb::numpy, T>(owned->data(), shape, owner);
}

// A copy.
template <class T>
auto to_numpy(const std::vector<T>& values) {
    return to_numpy(Array<T>(values.begin(), values.end()), {values.size()});
}

// The tuple (cells, counts, sums, more...).
template <class... More>
nb::tuple to_tuple(GridData&& grid, More&&... more) {
    const size_t d = static_cast<size_t>(grid.d), m = static_cast<size_t>(grid.size());
    return nb::make_tuple(to_numpy(std::move(grid.cells), {m, d}), to_numpy(std::move(grid.counts), {m}),
                          to_numpy(std::move(grid.sums), {m, d}), std::forward<More>(more)...);
}

}  // namespace mspp
