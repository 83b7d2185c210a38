"""Files of any size: sources that read points in chunks, writers of labels, checkpoints."""
