"""Files of any size: sources of chunks, labels written beside them, checkpoints."""
