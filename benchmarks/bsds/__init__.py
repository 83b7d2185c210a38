"""Segmentations of BSDS500 held against what people drew: `python -m benchmarks.bsds DATA_DIR`.

    photos      the photographs and the regions drawn on them
    segmenters  what is run on them: ours, the paper's own setting, the peers and their settings
    journal     segment and score, in several processes; what was done is kept
    race        times, in turns                evaluation  all of it, in order
    report      JSON, Markdown, the screen     plots       pictures

From Python, to try an idea:

    from benchmarks.bsds import evaluate, load
    print(evaluate(lambda image: segment(image, detail=1.2), load(DATA_DIR, 40)))
"""

from benchmarks.bsds.evaluation import evaluate
from benchmarks.bsds.photos import load

__all__ = ["evaluate", "load"]
