"""The parts that several commands share: options and the output on the console."""
