"""`meanshiftpp cluster`: the options, the clustering, its summary and its files."""
