"""`meanshiftpp segment`: the options, the files to segment, and their results."""
