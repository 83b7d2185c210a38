// The settings of the robust tracker: one set for all videos.
#pragma once

namespace mspp {

// Lengths are in units of the window's mean side, the geometric mean of its sides.
struct TrackSettings {
    // Samples
    double ring = 0.5;             // width of the surroundings
    double scan_samples = 12000;   // of a search around the last place
    double frame_samples = 40000;  // of a search in the whole frame
    double window_samples = 4000;  // of the window and its ring

    // Search
    double radius = 1.0;           // of the search
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

    // Presence
    double score_memory = 0.7;      // weight of the score's past
    double present_score = 0.35;    // from which the object counts as present
    double found_evidence = 0.6;    // that moves the window to another place
    double evidence_margin = 0.15;  // by which that evidence must exceed the present one
    double patience = 2;            // frames without the object before the whole frame is searched
};

}  // namespace mspp
