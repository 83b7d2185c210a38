"""Point clouds: LAS and LAZ files as a source of points, and checks before they are read."""
