// Arrays in and out of the native module: what its parts share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <initializer_list>
#include <utility>

#include "kernel/cells/cells.hpp"

namespace nb = nanobind;

namespace mspp {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// What fn returns, computed without the GIL.
template <class Fn>
auto unlocked(Fn&& fn) {
    nb::gil_scoped_release release;
    return fn();
}

// Hands an array to NumPy without a copy.
template <class T>
auto to_numpy(Array<T>&& from, std::initializer_list<size_t> shape) {
    auto* owned = new Array<T>(std::move(from));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Array<T>*>(p); });
    return nb::ndarray<nb::numpy, T>(owned->data(), shape, owner);
}

// Cells, counts and sums of a grid, and what belongs to them.
template <class... More>
nb::tuple to_tuple(GridData&& grid, More&&... more) {
    const size_t d = static_cast<size_t>(grid.d), m = static_cast<size_t>(grid.size());
    return nb::make_tuple(to_numpy(std::move(grid.cells), {m, d}), to_numpy(std::move(grid.counts), {m}),
                          to_numpy(std::move(grid.sums), {m, d}), std::forward<More>(more)...);
}

}  // namespace mspp
