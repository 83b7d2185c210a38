// Window sums of many axes, of which few cells are occupied.
//
// Cells that agree along the first axes are in one bucket, at consecutive places. A warp sums a window: its
// lanes look up the buckets within reach and compare the other axes of their cells, packed in one word each.

#include "state.cuh"

// How keys are divided: the bucket's key is the upper part of a key, the other axes are fields of a word. A
// field has a bit more than its coordinates need, so that a comparison does not change the field above.
struct Packing {
    u64 mask;              // of the hash table of buckets
    u64 axes;              // along which the cells of a bucket agree
    u64 divisor;           // key / divisor is the key of the bucket
    u64 guards, ones;      // the highest and the lowest bit of each field
    u64 stride[kMaxAxes];  // per axis of a bucket: the difference in key of adjacent buckets
    u64 shift[kMaxAxes];   // per axis: the lowest bit of its field
};

// Counts the cell of a list entry in its bucket.
__device__ inline void enter_bucket(State* state, const Arrays& arrays, const Packing& packing, int now,
                                    u64 i) {
    const Buckets& buckets = arrays.buckets;
    const u64 key = arrays.keys[now][arrays.list[now][i]] - 1;
    const u64 slot = insert_key(buckets.keys, packing.mask, key / packing.divisor);
    if (slot == kNone) {
        state->overflow = 1;
        return;
    }
    buckets.slot[i] = static_cast<u32>(slot);
    buckets.number[i] = atomicAdd(buckets.size + slot, 1u);
}

// Reserves the places of a bucket; its first list entry does it.
__device__ inline void reserve_places(State* state, const Buckets& buckets, u64 i) {
    const u32 slot = buckets.slot[i];
    if (buckets.number[i] == 0)
        buckets.first[slot] =
            static_cast<u32>(atomicAdd(&state->placed, static_cast<u64>(buckets.size[slot])));
}

// Words of a row at its place: an even number, so that two are loaded at once.
template <int D>
constexpr int kRowWords = (D + 2) / 2 * 2;

// Writes the cell of a list entry to its place.
template <int D>
__device__ inline void fill_place(const Arrays& arrays, const Packing& packing, const u64* stride, int now,
                                  u64 i) {
    const Buckets& buckets = arrays.buckets;
    const u64 at = arrays.list[now][i];
    const u64 place = buckets.first[buckets.slot[i]] + buckets.number[i];
    u64 left = arrays.keys[now][at] - 1, word = 0;
    for (int j = 0; j < D; ++j) {
        const u64 coordinate = left / stride[j];
        left -= coordinate * stride[j];
        if (j >= packing.axes) word |= coordinate << packing.shift[j];
    }
    buckets.suffix[place] = word;
    for (int j = 0; j <= D; ++j) buckets.rows[place * kRowWords<D> + j] = arrays.rows[now][at * (D + 1) + j];
}

constexpr int kWarps = 8;  // in a block
constexpr int kAhead = 4;  // cells that a lane loads before it compares them

// The places of up to 32 buckets in a row, one bucket per lane of a warp.
struct Run {
    u32 end[32];     // number of the first place after this bucket
    u32 offset[32];  // from a number to the place

    // OUT the run; returns how many places it has.
    __device__ u32 gather(u32 first, u32 size, int lane) {
        u32 sum = size;
        for (int step = 1; step < 32; step *= 2) {
            const u32 below = __shfl_up_sync(~0u, sum, step);
            if (lane >= step) sum += below;
        }
        __syncwarp();  // the previous run has been read
        end[lane] = sum;
        offset[lane] = first - (sum - size);
        __syncwarp();
        return __shfl_sync(~0u, sum, 31);
    }

    __device__ u32 place(u32 number) const {
        int at = 0;
        for (int half = 16; half > 0; half /= 2)
            if (end[at + half - 1] <= number) at += half;
        return number + offset[at];
    }
};

// Adds up the cells of a window. The lanes of a warp collect the places of 32 of them before each adds one.
template <int D>
struct Window {
    u32* collected;  // in shared memory, room for 64
    int lane;
    u32 count = 0;
    u64 sums[kRowWords<D>] = {};

    __device__ Window(u32* collected, int lane) : collected(collected), lane(lane) {}

    // Adds the cell of each lane that found one.
    __device__ void add(bool found, u32 place, const u64* rows) {
        const u32 votes = __ballot_sync(~0u, found);
        if (found) collected[count + __popc(votes & ((1u << lane) - 1))] = place;
        __syncwarp();
        count += __popc(votes);
        if (count < 32) return;
        add_row(rows, collected[lane]);
        const u32 rest = collected[lane + 32];
        __syncwarp();
        collected[lane] = rest;
        __syncwarp();
        count -= 32;
    }

    // OUT the sum of all cells.
    __device__ void finish(const u64* rows, u64* out) {
        if (lane < count) add_row(rows, collected[lane]);
        __syncwarp();
        for (int j = 0; j <= D; ++j) {
            for (int step = 16; step > 0; step /= 2) sums[j] += __shfl_xor_sync(~0u, sums[j], step);
            if (lane == 0) out[j] = sums[j];
        }
    }

    __device__ void add_row(const u64* rows, u32 place) {
        const u64* row = rows + static_cast<u64>(place) * kRowWords<D>;
        for (int j = 0; j < kRowWords<D>; j += 2) {
            const ulonglong2 two = *reinterpret_cast<const ulonglong2*>(row + j);
            sums[j] += two.x;
            sums[j + 1] += two.y;
        }
    }
};

// The cells of a run that are within reach along the axes of the fields.
struct Reach {
    u64 guards, own, limit;
    __device__ Reach(const Packing& packing, u64 suffix, int reach)
        : guards(packing.guards),
          own(suffix + reach * packing.ones | guards),
          limit(2 * reach * packing.ones | guards) {}

    __device__ bool holds(u64 suffix) const {
        const u64 above = own - suffix;               // a guard is left unless the field is too high
        const u64 below = limit - (above & ~guards);  // and here unless it is too low
        return (above & below & guards) == guards;
    }

    template <int D>
    __device__ void add(const Run& run, u32 places, const Buckets& buckets, Window<D>& window) const {
        for (u32 start = 0; start < places; start += 32 * kAhead) {
            u32 place[kAhead];
            u64 suffix[kAhead];
            for (int k = 0; k < kAhead; ++k) {
                const u32 number = start + 32 * k + window.lane;
                place[k] = number < places ? run.place(number) : 0;
                suffix[k] = buckets.suffix[place[k]];
            }
            for (int k = 0; k < kAhead && start + 32 * k < places; ++k)
                window.add(holds(suffix[k]) && start + 32 * k + window.lane < places, place[k], buckets.rows);
        }
    }
};

// The key of the w-th bucket within reach of a bucket.
__device__ inline u64 near_bucket(u64 key, int w, int reach, const Packing& packing) {
    const int side = 2 * reach + 1;
    for (int j = static_cast<int>(packing.axes) - 1, rest = w; j >= 0; --j) {
        key += static_cast<u64>(static_cast<i64>(rest % side - reach)) * packing.stride[j];
        rest /= side;
    }
    return key;
}

// OUT the window sums of all list entries, a warp for each. Neighbours in the list are done at the same time;
// in the first step, which has the most cells, they are neighbours in space and share most of their windows.
template <int D>
__device__ inline void sum_buckets(const Arrays& arrays, const Packing& packing, u64 length, int reach) {
    __shared__ Run runs[kWarps];
    __shared__ u32 collected[kWarps][64];
    const Buckets& buckets = arrays.buckets;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int n_near = 1;
    for (int j = 0; j < packing.axes; ++j) n_near *= 2 * reach + 1;
    const u64 warps = static_cast<u64>(gridDim.x) * kWarps;
    for (u64 i = blockIdx.x * kWarps + warp; i < length; i += warps) {
        const u32 home = buckets.slot[i];
        const u64 bucket = buckets.keys[home] - 1;
        const Reach within(packing, buckets.suffix[buckets.first[home] + buckets.number[i]], reach);
        Window<D> window(collected[warp], lane);
        for (int w = lane; w - lane < n_near; w += 32) {
            const u64 key = near_bucket(bucket, w, reach, packing);
            const u64 slot = w < n_near ? find_key(buckets.keys, packing.mask, key) : kNone;
            const bool found = slot != kNone;
            const u32 places =
                runs[warp].gather(found ? buckets.first[slot] : 0, found ? buckets.size[slot] : 0, lane);
            within.add(runs[warp], places, buckets, window);
        }
        window.finish(buckets.rows, buckets.window + i * (D + 1));
    }
}

// OUT the window sums of all list entries, by the threads of all blocks.
template <int D>
__device__ inline void sum_windows(State* state, const Arrays& arrays, const Packing& packing,
                                   const u64* stride, int now, u64 length, int reach) {
    const u64 first = blockIdx.x * static_cast<u64>(blockDim.x) + threadIdx.x;
    const u64 step = static_cast<u64>(gridDim.x) * blockDim.x;
    for (u64 i = first; i < length; i += step) enter_bucket(state, arrays, packing, now, i);
    barrier(state);
    if (fresh(state->overflow)) return;
    for (u64 i = first; i < length; i += step) reserve_places(state, arrays.buckets, i);
    barrier(state);
    for (u64 i = first; i < length; i += step) fill_place<D>(arrays, packing, stride, now, i);
    barrier(state);
    sum_buckets<D>(arrays, packing, length, reach);
    barrier(state);
    if (first == 0) state->placed = 0;
    for (u64 i = first; i < length; i += step) {
        const u32 slot = arrays.buckets.slot[i];
        arrays.buckets.keys[slot] = 0;
        arrays.buckets.size[slot] = 0;
    }
}
