// The parts of the native module: a function for each folder of the kernel, two for leaves, each in a file of
// its name.
#pragma once

#include <nanobind/nanobind.h>

void bind_base(nanobind::module_& m);       // errors
void bind_cells(nanobind::module_& m);      // merge_cells, coarsen_cells
void bind_bin(nanobind::module_& m);        // bin_points, Assignment
void bind_seek(nanobind::module_& m);       // seek_modes
void bind_query(nanobind::module_& m);      // find_cells, window_counts
void bind_marginals(nanobind::module_& m);  // marginals, Marginal, Lattice
void bind_leaves(nanobind::module_& m);     // build_leaves, find_leaves, take_leaves, Piles
void bind_tree(nanobind::module_& m);       // grow_tree, limits, cuts
void bind_image(nanobind::module_& m);      // convert_colours, Hierarchy
void bind_track(nanobind::module_& m);      // ColourCells, ColourTracker, CellFollower
