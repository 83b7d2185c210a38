// The loops of near_loops.hpp. MSPP_ISA names the instruction set that this file is compiled for.
#include "kernel/tree/near_loops.hpp"

#include "kernel/base/lanes.hpp"

namespace mspp::MSPP_ISA {

namespace {

// D is the number of axes, 0 for any, -1 for any with periods.
template <int D>
inline int axes(int d) {
    return D > 0 ? D : d;
}

// The squared distances of the boxes of eight children from a box.
template <int D>
inline Lanes squared_gaps(const float* node, const float* box, const int32_t* period, int d) {
    d = axes<D>(d);
    Lanes sum = Lanes::all(0);
    for (int j = 0; j < d; ++j, node += 2 * kLanes) {
        Lanes gap = (Lanes::load(node) - Lanes::all(box[j])).magnitude();
        if (D < 0 && period[j] > 0) {  // the shorter way round the circle
            const Lanes half = Lanes::all(static_cast<float>(period[j]) / 2);
            gap = half - (half - gap).magnitude();
        }
        gap = (gap - Lanes::load(node + kLanes) - Lanes::all(box[d + j])).or_zero();
        sum = sum + gap * gap;
    }
    return sum;
}

unsigned near_children(const float* node, const float* box, const int32_t* period, int d, float further,
                       float* gaps) {
    const Lanes squared =
        period ? squared_gaps<-1>(node, box, period, d) : squared_gaps<0>(node, box, nullptr, d);
    squared.store(gaps);
    return squared.at_most(Lanes::all(further));
}

#if defined(__AVX2__) && !defined(__AVX512VL__)
// For each set of eight, the places of its members.
struct Places {
    uint64_t of[256] = {};
    constexpr Places() {
        for (unsigned set = 0; set < 256; ++set)
            for (unsigned c = 0, n = 0; c < 8; ++c)
                if (set >> c & 1) of[set] |= uint64_t{c} << 8 * n++;
    }
};
constexpr Places kPlaces;
#endif

// Writes the numbers of those values that are at most `most` next to each other, from `first` on, and with
// `squared` the values. Returns how many. Hits cannot be predicted, so no value has a branch.
inline int keep_near(const Lanes& values, const Lanes& most, uint32_t first, float* squared,
                     uint32_t* numbers) {
#if defined(__AVX512VL__)
    const __mmask8 near = _mm256_cmp_ps_mask((__m256)values.v, (__m256)most.v, _CMP_LE_OQ);
    const __m256i ids = _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
                                         _mm256_set1_epi32(static_cast<int>(first)));
    if (squared) _mm256_storeu_ps(squared, _mm256_maskz_compress_ps(near, (__m256)values.v));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(numbers), _mm256_maskz_compress_epi32(near, ids));
    return __builtin_popcount(near);
#elif defined(__AVX2__)
    const unsigned near = values.at_most(most);
    const __m256i places = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(kPlaces.of[near])));
    const __m256i ids = _mm256_add_epi32(places, _mm256_set1_epi32(static_cast<int>(first)));
    if (squared) _mm256_storeu_ps(squared, _mm256_permutevar8x32_ps((__m256)values.v, places));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(numbers), ids);
    return __builtin_popcount(near);
#else
    if (!values.any_at_most(most)) return 0;
    float each[kLanes], limit[kLanes];
    values.store(each), most.store(limit);
    int n = 0;
    for (int c = 0; c < kLanes; ++c) {
        if (squared) squared[n] = each[c];
        numbers[n] = first + static_cast<uint32_t>(c);
        n += each[c] <= limit[c];
    }
    return n;
#endif
}

template <int D>
int64_t find_children(const BoxTree& tree, const NearQuery& query, int layer, const uint32_t* nodes,
                      int64_t n, uint32_t* children) {
    const int64_t node_floats = int64_t{2} * kLanes * axes<D>(tree.d);
    const Lanes further = Lanes::all(query.further);
    int64_t count = 0;
    for (int64_t k = 0; k < n; ++k) {
        const float* node = tree.layer[layer] + nodes[k] * node_floats;
        const Lanes gaps = squared_gaps<D>(node, query.box, tree.period, tree.d);
        count += keep_near(gaps, further, nodes[k] * kLanes, nullptr, children + count);
    }
    return count;
}

template <int D>
int64_t find_leaves(const BoxTree& tree, const NearQuery& query, const uint32_t* groups, int64_t n,
                    float* squared, uint32_t* leaves) {
    const int d = axes<D>(tree.d);
    const Lanes limit = Lanes::all(query.limit);
    int64_t count = 0;
    for (int64_t k = 0; k < n; ++k) {
        const int32_t* x = tree.positions + int64_t{groups[k]} * kLanes * d;
        Lanes sum = Lanes::all(0);
        for (int j = 0; j < d; ++j, x += kLanes) {
            const Lanes gap = D < 0 && tree.period[j] > 0
                                  ? Lanes::difference(x, query.centre[j], tree.period[j])
                                  : Lanes::difference(x, query.centre[j]);
            sum = sum + gap * gap;
        }
        count += keep_near(sum, limit, groups[k] * kLanes, squared + count, leaves + count);
    }
    return count;
}

template <int D>
void find_bins(const float* squared, int64_t n, float scale, float bins, int32_t* bin) {
    for (int64_t k = 0; k < n; ++k) {
        const float share = squared[k] * scale, x = share < 1.0f ? share : 1.0f;
        float volume = x;
        if constexpr (D == 1) volume = sqrtf(x);
        if constexpr (D == 3) volume = x * sqrtf(x);
        if constexpr (D == 4) volume = x * x;
        if constexpr (D == 5) volume = x * x * sqrtf(x);
        bin[k] = static_cast<int32_t>(volume * bins);
    }
}

// The place of each is the number of those before it: fewer instructions than a sort, and no branches.
void sort_few(const float* squared, const uint32_t* leaves, int n, float* sorted_squared, uint32_t* sorted) {
    constexpr int32_t kOnes[2 * kLanes] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
    int32_t bits[kFew + kLanes], places[kFew + kLanes];  // distances are not negative, so they sort like bits
    std::memcpy(bits, squared, sizeof(float) * static_cast<size_t>(n + kLanes));
    for (int first = 0; first < n; first += kAtOnce) {
        const int end = first + kAtOnce < n ? first + kAtOnce : n;
        const Integers own = Integers::load(bits + first), next = own + Integers::load(kOnes + kLanes);
        Integers place = Integers::load(kOnes);
        for (int j = 0; j < first; ++j) place.count(next, bits[j]);  // before its equals
        for (int j = first; j < end; ++j)
            place.count(own + Integers::load(kOnes + kLanes - 1 - (j - first)), bits[j]);
        for (int j = end; j < n; ++j) place.count(own, bits[j]);
        place.store(places + first);
    }
    for (int k = 0; k < n; ++k) {
        sorted_squared[places[k]] = squared[k];
        sorted[places[k]] = leaves[k];
    }
}

// Calls fn<D>() for the number of axes.
#define MSPP_FOR_AXES(tree, fn, ...)             \
    if (tree.period) return fn<-1>(__VA_ARGS__); \
    switch (tree.d) {                            \
        case 1:                                  \
            return fn<1>(__VA_ARGS__);           \
        case 2:                                  \
            return fn<2>(__VA_ARGS__);           \
        case 3:                                  \
            return fn<3>(__VA_ARGS__);           \
        case 4:                                  \
            return fn<4>(__VA_ARGS__);           \
        case 5:                                  \
            return fn<5>(__VA_ARGS__);           \
        default:                                 \
            return fn<0>(__VA_ARGS__);           \
    }

int64_t find_children_of(const BoxTree& tree, const NearQuery& query, int layer, const uint32_t* nodes,
                         int64_t n, uint32_t* children){
    MSPP_FOR_AXES(tree, find_children, tree, query, layer, nodes, n, children)}

int64_t find_leaves_of(const BoxTree& tree, const NearQuery& query, const uint32_t* groups, int64_t n,
                       float* squared, uint32_t* leaves) {
    MSPP_FOR_AXES(tree, find_leaves, tree, query, groups, n, squared, leaves)
}

void find_bins_of(const float* squared, int64_t n, float scale, float bins, int d, int32_t* bin) {
    switch (d) {
        case 1:
            return find_bins<1>(squared, n, scale, bins, bin);
        case 2:
            return find_bins<2>(squared, n, scale, bins, bin);
        case 3:
            return find_bins<3>(squared, n, scale, bins, bin);
        case 4:
            return find_bins<4>(squared, n, scale, bins, bin);
        default:
            return find_bins<5>(squared, n, scale, bins, bin);
    }
}

}  // namespace

extern const NearLoops near;
const NearLoops near = {near_children, find_children_of, find_leaves_of, find_bins_of, sort_few};

}  // namespace mspp::MSPP_ISA
