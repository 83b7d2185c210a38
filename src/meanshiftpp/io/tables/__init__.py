"""Tables: CSV, Parquet and Arrow files as a source of points, and their columns."""
