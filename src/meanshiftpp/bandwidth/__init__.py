"""Which bandwidth: what the data suggests, and a sweep over many."""
