// The part of the native module that densities need.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "kernel/density.hpp"

namespace nb = nanobind;
using namespace mspp;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Cells = nb::ndarray<const i64, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

static auto window_counts_of(const Cells& cells, const Vector<u64>& counts, const Cells& query,
                             const Vector<i64>& period, i64 reach, int n_threads) {
    const size_t d = cells.shape(1);
    if (d < 1 || d != query.shape(1) || d != period.shape(0) || counts.shape(0) != cells.shape(0))
        throw nb::value_error("cells, counts, query and period must belong together");
    if (reach < 0 || reach > INT32_MAX) throw nb::value_error("reach must be from 0 to 2**31 - 1");
    for (size_t j = 0; j < d; ++j)
        if (period.data()[j] != 0 && period.data()[j] < 2 * reach + 1)
            throw nb::value_error("a period must be as long as a window");
    const GridView grid{static_cast<int>(d), static_cast<i64>(cells.shape(0)), cells.data(), counts.data(),
                        nullptr};
    auto* owned = new Array<u64>;
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Array<u64>*>(p); });
    {
        nb::gil_scoped_release release;
        const i64 m = static_cast<i64>(query.shape(0));
        *owned = window_counts(grid, {period.data()}, query.data(), m, reach, n_threads);
    }
    return nb::ndarray<nb::numpy, u64>(owned->data(), {owned->size()}, owner);
}

void bind_density(nb::module_& m) {
    m.def("window_counts", &window_counts_of, nb::arg("cells"), nb::arg("counts"), nb::arg("query"),
          nb::arg("period"), nb::arg("reach"), nb::arg("n_threads"));
}
