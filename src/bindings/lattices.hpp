// Lattices and piles at the boundary, for the files that bind marginals and leaves.
#pragma once

#include "arrays.hpp"
#include "kernel/leaves/end_piles.hpp"

namespace mspp {

inline void check_axes(const AnyMatrix& x, const TreeLattice& lattice) {
    if (x.shape(1) != lattice.d()) throw nb::value_error("points must have the features of the lattice");
}

// IN rows of feature, value and width.
inline EndPiles ends_of(const Matrix<double>& rows, const TreeLattice& lattice) {
    if (rows.shape(1) != 3) throw nb::value_error("a pile has a feature, a value and a width");
    EndPiles ends;
    for (const double* row = rows.data(); row != rows.data() + rows.size(); row += 3) {
        if (!(row[0] >= 0 && row[0] < static_cast<double>(lattice.d()) && row[0] == std::floor(row[0])))
            throw nb::value_error("a pile is at the end of a feature that is not there");
        ends.push_back({static_cast<size_t>(row[0]), row[1], row[2]});
    }
    return ends;
}

}  // namespace mspp
