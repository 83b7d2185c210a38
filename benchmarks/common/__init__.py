"""What several benchmarks use; nothing here knows of any of them.

Reports go to `RESULTS` if nothing else is said.

    data        arrays drawn from a seed       machine  where it ran
    notes       results kept in a file as they come
    partitions  how alike two partitions are   shown    tables, goals, times in words, a bar
    plots       axes and names of lines in the style of the package's pictures
"""

from pathlib import Path

RESULTS = Path(__file__).parents[1] / "results"
