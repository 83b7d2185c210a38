// The inner loops of the search for near leaves: eight boxes, or eight leaves, at a time.
//
// near_loops.cpp is compiled once per instruction set, as bin/loops.cpp is and for the same reasons;
// near_choice.cpp chooses one when the program runs. All sets return the same numbers.
#pragma once

#include <cstdint>

namespace mspp {

inline constexpr int kLanes = 8;

// A tree of boxes, as boxes.hpp builds it.
struct BoxTree {
    static constexpr int kMostLayers = 12;  // 8^12 leaves
    int d;
    int layers;
    const float* layer[kMostLayers];  // that of the groups first
    const int32_t* positions;         // of the leaves, a group after the other
    const int32_t* period;            // of each axis; null if none has one
};

// Where leaves are searched: a box, as middles along all axes and half the widths, and for one leaf its
// position too.
struct NearQuery {
    const float* box;
    const int32_t* centre;
    float limit;    // squared distance
    float further;  // the same for boxes, and more: for the rounding of a sum of squares
};

struct NearLoops {
    // The boxes of the eight children of a node that are near, as bits. OUT gaps (8,): squared distances.
    unsigned (*near_children)(const float* node, const float* box, const int32_t* period, int d,
                              float further, float* gaps);
    // The near children of some nodes of a layer: nodes of the layer below, or groups. OUT children: rising,
    // room for 8 of each node and 8 more.
    int64_t (*find_children)(const BoxTree& tree, const NearQuery& query, int layer, const uint32_t* nodes,
                             int64_t n, uint32_t* children);
    // The leaves of some groups that are within the limit. OUT squared, leaves: in rising order, room for 8
    // of each group and 8 more. Returns their number, which may include the padding of the last group.
    int64_t (*find_leaves)(const BoxTree& tree, const NearQuery& query, const uint32_t* groups, int64_t n,
                           float* squared, uint32_t* leaves);
    // The share of a ball of d dimensions within a squared distance, as one of `bins` equal parts. IN scale:
    // 1 / the squared radius. OUT bin (n,), rising with the distance; room for 8 more.
    void (*find_bins)(const float* squared, int64_t n, float scale, float bins, int d, int32_t* bin);
    // Sorts a few leaves by distance; those with equal distances keep their order. IN n <= kFew; squared has
    // room for 8 more. OUT sorted_squared, sorted: (n,).
    void (*sort_few)(const float* squared, const uint32_t* leaves, int n, float* sorted_squared,
                     uint32_t* sorted);
};

inline constexpr int kFew = 64;

struct NearChoice {
    const char* name;  // of the instruction set
    const NearLoops& loops;
    bool runs_here;
};

// All compiled loops, best first.
const NearChoice* near_choices(int& n);
// The best for this machine.
const NearLoops& near_loops();

}  // namespace mspp
