"""The theorem's convergence rate, with the benchmark `benchmarks.rate`."""

from __future__ import annotations

from benchmarks import rate
from benchmarks.common.result_cache import code_version
from benchmarks.paper import report
from benchmarks.paper.run import Run


def section(run: Run) -> report.Section:
    """Measure how fast the largest error of the density falls."""
    sizes = [10**k for k in range(3, 5 if run.quick else 7)]
    repeats = 2 if run.quick else 5

    def compute() -> list[list[object]]:
        measured = rate.measure(sizes, repeats, lambda _: None)
        return [[truth.a, truth.d, [*by_n.items()]] for truth, by_n in measured.items()]

    run.log(f"theorem: samples of {sizes[0]:,} to {sizes[-1]:,}")
    key = ("theorem", str(sizes), str(repeats), code_version())
    stored = run.cache.get_or_compute(*key, compute=compute)
    measured = {rate.Cusp(a, d): dict(by_n) for a, d, by_n in stored}
    rate.picture(measured, run.out / "rate.png")
    header, rows = rate.slopes_table(measured)
    return report.Section(
        "theorem",
        "The theorem's rate",
        "With h of n^(-1/(2a+d)) the largest error of the cell-count density falls as "
        "n^(-a/(2a+d)) up to logarithms, where a is the Hölder exponent: minimax optimal.",
        [
            "The densities are Hölder continuous with exactly this exponent, and the supremum is "
            "computed, not sampled. The bound falls a little more slowly than its rate because of "
            "its logarithm."
        ],
        [report.Table("Slopes of log error over log n", header, rows, text_columns=2, paper=[4])],
        [report.Figure("rate.png", f"{repeats} samples of each size.")],
    )
