"""The command line: one command per task, results on stdout, everything else on stderr."""
