"""For people: the command line, the studio and the demonstration."""
