// The state of a search, which all blocks share.

#include "hash.cuh"

// search.py reads it by the position of its members.
struct State {
    u64 barrier;         // arrivals so far
    u64 length[2];       // occupied rows of either table
    u64 placed;          // cells in buckets so far
    u32 moving[2];       // whether a cell moves in this step, and in the next
    u32 steps, now;      // steps so far; which table is this step's
    u32 done, overflow;  // overflow: a hash table was too small, and the result is invalid
    u32 rested, unused;  // rested: a cell rested beside others, in any step
};
static_assert(sizeof(State) == 8 * sizeof(u64), "search.py allocates 8 words");

// Cells that agree along the first axes; see buckets.cuh.
struct Buckets {
    u64* keys;           // hash table of the buckets
    u32 *size, *first;   // per slot of it: the number of cells, and the first place
    u32 *slot, *number;  // per list entry: its bucket, and its number there
    u64* suffix;         // per place: the other axes of the cell, packed
    u64* rows;           // per place: the row
    u64* window;         // per list entry: the sum of its window
};

// The arrays of a search, as search.py lays them out.
struct Arrays {
    u64 *keys[2], *rows[2];  // keys only in a hash table
    u64* list[2];            // occupied rows
    u32* group[2];           // per list entry: the group that represents everything merged there
    u64* position;           // per list entry and axis: its new position
    u64* weight;             // per list entry: its count
    u64* target;             // per list entry: the key it moves to, then the row
    u32* entry;              // per row of the next table: its list entry
    Buckets buckets;
    u32* parent;  // per group: the group it merged into, or itself
};

// Waits for all threads of all blocks.
__device__ inline void barrier(State* state) {
    __syncthreads();
    if (gridDim.x == 1) return;
    if (threadIdx.x == 0) {
        u64 arrived;
        asm volatile("atom.add.release.gpu.u64 %0, [%1], 1;"
                     : "=l"(arrived)
                     : "l"(&state->barrier)
                     : "memory");
        const u64 all = (arrived / gridDim.x + 1) * gridDim.x;
        do asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(arrived) : "l"(&state->barrier) : "memory");
        while (arrived < all);
    }
    __syncthreads();
}

// Reads from memory, because other blocks write the value.
template <class T>
__device__ inline T fresh(const T& value) {
    return *static_cast<const volatile T*>(&value);
}
