"""Compare segmentations of BSDS500 with human drawings: `python -m benchmarks.bsds DATA_DIR`.

    photos       the photographs and the regions drawn on them
    segmenters   the contenders: ours, the paper's, and the peers, each with a grid of settings
    score_cache  segments and scores photographs in several processes; results stay in a file
    timing       the contenders take turns
    evaluation   the whole benchmark: choose settings, score all photographs, take times
    report       JSON, Markdown, the screen
    plots        figures
    scales       every level of a hierarchy: ODS, OIS, boundaries, gPb's maps
    superpixels  segment(regions=n) and other superpixels
    train        makes the table of the learned cost
    drawings     drawn pictures for the training, beside the photographs

From Python, to try an idea:

    from benchmarks.bsds import evaluate, load
    print(evaluate(lambda image: segment(image, detail=1.2), load(DATA_DIR, 40)))
"""

from benchmarks.bsds.evaluation import evaluate
from benchmarks.bsds.photos import load

__all__ = ["evaluate", "load"]
