"""Compare trackers on sequences with a box for every frame.

`python -m benchmarks.tracking --help` describes the benchmark.

    sequences    the video sequences and their true boxes
    trackers     the contenders: three variants of ours, and OpenCV's trackers
    metrics      scores of a track, and whether its `ok` was right
    track_cache  the tracks so far, in a file
    restarts     VOT's protocol: a tracker that failed starts again
    folds        cross-validation by sequence, a command of its own
    confidence   the tracker's confidence, fitted to films
    timing       the contenders take turns
    evaluation   the whole benchmark: track all sequences, take times
    report       JSON, Markdown, the screen
    plots        figures and strips of frames
"""
