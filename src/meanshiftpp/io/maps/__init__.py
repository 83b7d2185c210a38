"""Maps: rasters, scenes of many tiles, polygons, and places on the ground."""
