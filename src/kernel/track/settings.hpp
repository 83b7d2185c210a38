// The settings of the robust tracker: one set for all videos.
#pragma once

#include <string_view>

#include "kernel/base/errors.hpp"

namespace mspp {

// Lengths are in units of the window's mean side, the geometric mean of its sides.
struct TrackSettings {
    // Samples
    double ring = 0.5;             // width of the surroundings
    double scan_samples = 12000;   // of a search around the last place
    double frame_samples = 40000;  // of a search in the whole frame
    double window_samples = 4000;  // of the window and its ring

    // Search
    double radius = 1.5;           // of the search
    double distance_cost = 0.2;    // of a place one unit away
    double max_rivals = 3;         // places that look like the object
    double rival_score = 0.7;      // of a rival, as a share of the best score
    double rival_distance = 0.75;  // from other places, in windows

    // Learning
    double share_floor = 6e-4;    // cells with smaller shares have little weight
    double object_rate = 0.02;    // of all cells of the object
    double distinct_rate = 0.06;  // added for cells that only the object has
    double ring_rate = 0.1, rival_rate = 0.1;
    double learn_from = 0.5;  // contrast from which the object is learned, as a share of the first frame's

    // Sides and centre
    double adjust_from = 0.6;  // contrast from which borders are adjusted, as a share of the first frame's
    double growth_rate = 0.04, max_growth = 0.03;
    double restoring_power = 0.99;  // draws the scale back to 1
    double min_scale = 0.4, max_scale = 2.5;
    double aspect = 0.5;       // how independently the sides change: 0 not at all, 1 completely
    double border_pull = 0.1;  // of uneven borders on the centre

    // Shape
    double patch = 2.5;         // side of the patch
    double peak_width = 0.1;    // of the response
    double shape_ridge = 0.01;  // of the filter, as a share of its mean power
    double shape_rate = 0.04;   // in every other frame
    double first_share = 0.3;   // of the first frame's filter
    double shape_weight = 2.2;  // of a response, in units of contrast
    double refine = 0.5;        // share of the step to the colours' mean

    // Size
    double scale_step = 1.03;
    double scale_ridge = 0.1;  // as a share of the filter's mean power
    double scale_rate = 0.025;

    // Presence: the log odds that the object is lost, fitted to films
    double odds = 1.8, odds_of_likeness = -2.7, odds_of_contrast = -1.2, odds_of_peak = -10.2;
    double max_odds = 4;            // of one frame, either way
    double odds_memory = 0.8;       // weight of the past
    double present_from = 0.8;      // confidence from which the object counts as present
    double found_evidence = 0.6;    // that moves the window to another place
    double evidence_margin = 0.15;  // by which that evidence must exceed the present one
    double patience = 2;            // frames without the object before the whole frame is searched
};

// The settings that benchmarks try other values of.
inline double& setting(TrackSettings& settings, std::string_view name) {
    struct Entry {
        std::string_view name;
        double TrackSettings::* member;
    };
    static constexpr Entry entries[] = {
        {"radius", &TrackSettings::radius},
        {"distance_cost", &TrackSettings::distance_cost},
        {"object_rate", &TrackSettings::object_rate},
        {"first_share", &TrackSettings::first_share},
        {"shape_weight", &TrackSettings::shape_weight},
        {"shape_rate", &TrackSettings::shape_rate},
        {"odds", &TrackSettings::odds},
        {"odds_of_likeness", &TrackSettings::odds_of_likeness},
        {"odds_of_contrast", &TrackSettings::odds_of_contrast},
        {"odds_of_peak", &TrackSettings::odds_of_peak},
        {"present_from", &TrackSettings::present_from},
    };
    for (const Entry& entry : entries)
        if (entry.name == name) return settings.*entry.member;
    throw BadInput("expected the name of a setting in settings.hpp; got " + std::string(name));
}

}  // namespace mspp
