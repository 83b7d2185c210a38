"""Object tracking: the tracker, windows, drawing, and clips with a known truth."""
