// The pieces of an image: connected components of its colour clusters.
#pragma once

#include "kernel/base/disjoint_sets.hpp"
#include "kernel/image/pixels.hpp"

namespace mspp {

// Numbers the sets 0, 1, ... in the order of their smallest members. IN pieces (N,): the piece of each pixel.
// OUT numbered (N,): the number of that piece's set; may be the same array. Returns the number of sets.
inline u32 number_sets(DisjointSets& sets, const Array<u32>& pieces, Array<u32>& numbered) {
    u32 n = 0;
    std::vector<u32> number(sets.size());
    for (u32 x = 0; x < sets.size(); ++x) {
        const u32 root = sets.find(x);
        number[x] = root == x ? n++ : number[root];
    }
    numbered.resize(pieces.size());
    for (size_t p = 0; p < pieces.size(); ++p)
        numbered[p] = pieces[p] == kNoRegion ? kNoRegion : number[pieces[p]];
    return n;
}

// IN clusters (N,), negative for masked pixels; OUT pieces (N,), numbered in the order of their first pixels.
// Returns their number.
inline u32 connected_pieces(const i32* clusters, const Shape& shape, Array<u32>& pieces) {
    DisjointSets sets;
    pieces.resize(static_cast<size_t>(shape.size()));
    each_pixel(shape, [&](const Pixel& pixel) {
        u32 piece = kNoRegion;
        const i32 cluster = clusters[pixel.p];
        if (cluster >= 0) {
            pixel.each_earlier(shape, [&](i64 q) {
                if (clusters[q] != cluster) return;
                piece = piece == kNoRegion || piece == pieces[q] ? pieces[q] : sets.join(piece, pieces[q]);
            });
            if (piece == kNoRegion) piece = sets.add();
        }
        pieces[pixel.p] = piece;
    });
    return number_sets(sets, pieces, pieces);
}

}  // namespace mspp
