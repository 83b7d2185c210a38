// The native module: its limits and its parts.
#include "bindings.hpp"
#include "kernel/base/limits.hpp"

NB_MODULE(_kernel, m) {
    m.doc() = "The loops of meanshiftpp. Use the package, not this module.";
    m.attr("OFFSET_BITS") = mspp::kOffsetBits;
    m.attr("TIE_BITS") = mspp::kTieBits;
    m.attr("WINDOW_SUM_BITS") = mspp::kWindowSumBits;
    m.attr("FREE_STEPS") = mspp::kFreeSteps;
    m.attr("DOUBLING_STEPS") = mspp::kDoublingSteps;
    m.attr("COUNT_LIMIT") = mspp::kCountLimit;
    m.attr("MAX_CELL") = mspp::kMaxCell;
    m.attr("MAX_EXACT") = mspp::kMaxExact;
    m.attr("MAX_REACH") = mspp::kMaxReach;
    m.attr("MAX_FEATURES") = mspp::kMaxFeatures;
    m.attr("MAX_KEY_AXES") = mspp::kMaxKeyAxes;
    m.attr("MAX_COLOUR_CELLS") = mspp::kMaxColourCells;
    m.attr("MARGINAL_CELLS") = mspp::kMarginalCells;
    bind_base(m);
    bind_cells(m);
    bind_bin(m);
    bind_seek(m);
    bind_query(m);
    bind_marginals(m);
    bind_leaves(m);
    bind_tree(m);
    bind_image(m);
    bind_track(m);
}
