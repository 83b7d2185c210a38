"""Trackers held against a box for every frame: `python -m benchmarks.tracking DATA_DIR`.

What is done is told by `--help`, and written down in `__main__`.

    data        the films                      measures  how good a track is
    peers       what follows the boxes: ours three ways, and OpenCV's trackers
    journal     the tracks so far, in a file   race      times, in turns
    evaluation  all of it, in order
    report      JSON, Markdown, the screen     plots     pictures
"""
