"""Score clusterings against reference labellings: `python -m benchmarks.clustering DATA`.

    suite        the data sets of Gagolewski's benchmark suite, and their halves
    generated    rare clusters and thousands of clusters, up to 1e7 points
    methods      the contenders, with and without the number of clusters
    scoring      how well a labelling agrees with the best of the reference labellings
    evaluation   every method on every data set; results stay in a file
    report       JSON, Markdown, the screen
    timing       times from 1e4 to 1e7 points, in turns
    toys         scikit-learn's toy data: `python -m benchmarks.clustering.toys`

From Python, to try an idea:

    from benchmarks.clustering import load, score
    sets, _ = load(DATA, half="choose")
    print([score(MeanShiftPP().fit_predict(each.X), each.references).ari for each in sets])
"""

from benchmarks.clustering.scoring import score
from benchmarks.clustering.suite import load

__all__ = ["load", "score"]
