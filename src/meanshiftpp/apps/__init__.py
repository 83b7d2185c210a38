"""Programs for end users: the command line, the studio and the demo."""
