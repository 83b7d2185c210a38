"""`meanshiftpp track`: the options, and the trackers of a video."""
