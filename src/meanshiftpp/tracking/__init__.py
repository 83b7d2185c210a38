"""Object tracking: the tracker, its windows, drawing them, and clips with a known truth."""
