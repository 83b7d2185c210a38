// The part of the native module that densities need.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "kernel/density.hpp"

namespace nb = nanobind;
using namespace mspp;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Cells = nb::ndarray<const i64, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

static auto window_counts_of(const Cells& cells, const Vector<u64>& counts, const Cells& query, i64 reach,
                             int n_threads) {
    if (cells.shape(1) < 1 || cells.shape(1) != query.shape(1) || counts.shape(0) != cells.shape(0))
        throw nb::value_error("cells, counts and query must belong together");
    if (reach < 0 || reach > INT32_MAX) throw nb::value_error("reach must be from 0 to 2**31 - 1");
    const GridView grid{static_cast<int>(cells.shape(1)), static_cast<i64>(cells.shape(0)), cells.data(),
                        counts.data(), nullptr};
    auto* owned = new Array<u64>;
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Array<u64>*>(p); });
    {
        nb::gil_scoped_release release;
        *owned = window_counts(grid, query.data(), static_cast<i64>(query.shape(0)), reach, n_threads);
    }
    return nb::ndarray<nb::numpy, u64>(owned->data(), {owned->size()}, owner);
}

void bind_density(nb::module_& m) {
    m.def("window_counts", &window_counts_of, nb::arg("cells"), nb::arg("counts"), nb::arg("query"),
          nb::arg("reach"), nb::arg("n_threads"));
}
