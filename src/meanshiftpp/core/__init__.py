"""The method: points to a grid, a grid to modes, modes to labels."""
