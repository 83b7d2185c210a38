"""Images: segmentation, palettes, drawing, picture files."""
