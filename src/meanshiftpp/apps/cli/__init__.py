"""The command line: one verb a task, the result on stdout, everything else on stderr."""
