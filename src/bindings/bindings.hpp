// The parts of the native module, each a file of that name.
#pragma once

#include <nanobind/nanobind.h>

void bind_cells(nanobind::module_& m);  // cells of grids: merged, searched, looked up
void bind_track(nanobind::module_& m);  // the trackers
