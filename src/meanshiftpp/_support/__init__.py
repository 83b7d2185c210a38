"""What every layer uses and no layer is about: arrays and devices, checks, files, extras."""
