"""Cross-validation of our tracker by sequence: every figure is of films that chose nothing.

    python -m benchmarks.tracking.folds DATA_DIR
    python -m benchmarks.tracking.folds DATA_DIR --folds 21   # leave out one sequence at a time

Each sequence is played from five starts, three of them backwards. For each fold, the other folds
choose a setting of a small grid by the mean IoU, and coefficients and threshold of the confidence;
the fold only reports. The outputs are tracking_folds.md and tracking_folds.json.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.common.command_line import add_output_option, command_parser
from benchmarks.common.reporting import (
    Table,
    markdown_table,
    print_tables,
    progress_bar,
    write_report,
)
from benchmarks.tracking.confidence import Signals, balanced_threshold, fit, log_odds
from benchmarks.tracking.metrics import Flags, LossReports, Values, overlaps
from benchmarks.tracking.sequences import Boxes, Frame, VideoSequence, load, whole_pixels
from meanshiftpp import Tracker, _kernel
from meanshiftpp.tracking.tracker import _colour_cells

STARTS = ((0.0, 1), (0.0, -1), (1 / 3, 1), (1 / 3, -1), (1 / 2, -1))  # share skipped, direction
GRID = {"shape_weight": (1.0, 1.5, 2.2, 3.2), "radius": (1.0, 1.5)}

Setting = tuple[tuple[str, float], ...]  # names and values; () is the default


@dataclass(frozen=True)
class Run:
    """One start of a sequence: overlaps, `ok` and signals of each frame."""

    overlaps: Values
    ok: Flags
    signals: Signals

    @property
    def lost(self) -> Flags:
        return ~(self.overlaps > 0)


class TunedTracker(Tracker):
    """Our tracker with other constants."""

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self._setting = dict(setting)

    def _new_engine(self) -> _kernel.ColourTracker:
        cells = _colour_cells(self._cell_size)
        self.engine = _kernel.ColourTracker(cells, True, self._setting)
        return self.engine


def grid() -> list[Setting]:
    """Return the default and all combinations of the grid."""
    combinations = product(*([(name, value) for value in values] for name, values in GRID.items()))
    return [(), *combinations]


def plays(frames: Sequence[Frame], truth: Boxes) -> Iterator[tuple[Sequence[Frame], Boxes]]:
    """Yield the frames and boxes from each start on."""
    for share, step in STARTS:
        first = round(share * len(frames))
        boxes = truth[::step][first:]
        known = np.flatnonzero(~np.isnan(boxes).any(axis=1))
        if len(known) and known[0] < len(boxes) - 1:
            yield frames[::step][first + known[0] :], boxes[known[0] :]


def follow(setting: Setting, frames: Sequence[Frame], truth: Boxes) -> Run:
    """Track from the first frame to the last."""
    tracker = TunedTracker(setting)
    tracker.init(frames[0], whole_pixels(truth[0]))
    boxes, oks, signals = [], [], []
    for frame in frames[1:]:
        ok, window = tracker.update(frame)
        boxes.append(window)
        oks.append(ok)
        signals.append(tracker.engine.signals())
    iou = overlaps(np.array(boxes, float), truth[1:])
    return Run(iou, np.array(oks), np.array(signals))


def split(names: Sequence[str], n_folds: int) -> list[list[str]]:
    """Split the names into folds of about the same size."""
    folds = min(n_folds, len(names))
    return [list(names[k::folds]) for k in range(folds)]


def mean_iou(runs: dict[str, list[Run]], names: Sequence[str]) -> float:
    """Return the mean over sequences of the mean over their starts."""
    per_start = [[np.nanmean(run.overlaps) for run in runs[name]] for name in names]
    return float(np.mean([np.mean(values) for values in per_start]))


def choose(runs: dict[Setting, dict[str, list[Run]]], names: Sequence[str]) -> Setting:
    """Return the setting with the highest mean IoU over some sequences."""
    return max(runs, key=lambda setting: mean_iou(runs[setting], names))


def left_out_reports(runs: dict[str, list[Run]], fold: Sequence[str]) -> LossReports:
    """Count the losses of a fold that a confidence fitted to the other folds reports."""
    others = [run for name in runs if name not in fold for run in runs[name]]
    coefficients = fit([(run.signals, run.lost) for run in others])
    odds = [log_odds(coefficients, run.signals) for run in others]
    threshold = balanced_threshold(
        np.concatenate(odds), np.concatenate([run.lost for run in others])
    )
    flags = [
        (run.lost, log_odds(coefficients, run.signals) > threshold)
        for name in fold
        for run in runs[name]
    ]
    return count(flags)


def count(flags: Sequence[tuple[Flags, Flags]]) -> LossReports:
    """Count lost and reported frames."""
    lost, reported = (np.concatenate(each) for each in zip(*flags, strict=True))
    counts = len(lost), lost.sum(), reported.sum(), (lost & reported).sum()
    return LossReports(*map(int, counts))


@dataclass(frozen=True)
class FoldResult:
    """The figures of one fold: the chosen setting, its mean IoU, the default's, and losses."""

    names: list[str]
    chosen: Setting
    iou: float
    default_iou: float
    left_out: LossReports
    default: LossReports


def judge(runs: dict[Setting, dict[str, list[Run]]], n_folds: int) -> list[FoldResult]:
    """Report each fold with the choices of the others."""
    results = []
    names = list(runs[()])
    for fold in split(names, n_folds):
        chosen = choose(runs, [name for name in names if name not in fold])
        default = [(run.lost, ~run.ok) for name in fold for run in runs[()][name]]
        results.append(
            FoldResult(
                fold,
                chosen,
                mean_iou(runs[chosen], fold),
                mean_iou(runs[()], fold),
                left_out_reports(runs[()], fold),
                count(default),
            )
        )
    return results


def track_all(sequences: Sequence[VideoSequence]) -> dict[Setting, dict[str, list[Run]]]:
    """Track every sequence from every start with every setting."""
    runs: dict[Setting, dict[str, list[Run]]] = {setting: {} for setting in grid()}
    with progress_bar() as bar:
        task = bar.add_task("tracking", total=len(sequences) * len(runs))
        for sequence in sequences:
            frames = sequence.frames()
            for setting, found in runs.items():
                bar.update(task, description=f"{sequence.name}, {name_of(setting)}")
                found[sequence.name] = [
                    follow(setting, *play) for play in plays(frames, sequence.truth)
                ]
                bar.advance(task)
    return runs


# -- output ----------------------------------------------------------------------------------------


def name_of(setting: Setting) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in setting) or "default"


def settings_table(runs: dict[Setting, dict[str, list[Run]]]) -> Table:
    """Return a row for each setting: its mean IoU over all sequences."""
    rows = [[name_of(each), f"{mean_iou(found, list(found)):.4f}"] for each, found in runs.items()]
    return ["setting, on all sequences", "mean IoU"], rows


def total(reports: Sequence[LossReports]) -> LossReports:
    return LossReports(*np.sum(list(reports), axis=0).tolist())


def folds_table(results: Sequence[FoldResult]) -> Table:
    """Return a row for each fold, and one for all sequences."""
    rows = []
    for each in results:
        iou = [name_of(each.chosen), f"{each.iou:.3f}", f"{each.default_iou:.3f}"]
        rows.append([" ".join(each.names), *iou, *_shares(each.left_out), *_shares(each.default)])
    sizes = [len(each.names) for each in results]
    means = [
        np.average([getattr(each, name) for each in results], weights=sizes)
        for name in ("iou", "default_iou")
    ]
    losses = [total([getattr(each, name) for each in results]) for name in ("left_out", "default")]
    shares = [*_shares(losses[0]), *_shares(losses[1])]
    rows.append(["all", "", *(f"{value:.3f}" for value in means), *shares])
    header = ["left out", "chosen without them", "mean IoU", "default", "lost", "precision"]
    return [*header, "recall", "lost", "precision of the default", "recall"], rows


def _shares(reports: LossReports) -> list[str]:
    shares = (reports.precision, reports.recall)
    return [str(reports.lost), *("-" if np.isnan(share) else f"{share:.2f}" for share in shares)]


def as_json(results: Sequence[FoldResult]) -> dict[str, Any]:
    return {
        "folds": [
            {
                "left_out": each.names,
                "chosen": dict(each.chosen),
                "iou": each.iou,
                "default_iou": each.default_iou,
                "loss_reports": each.left_out._asdict(),
                "default_loss_reports": each.default._asdict(),
            }
            for each in results
        ]
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line and return the exit status."""
    parser = command_parser("tracking.folds", __doc__)
    parser.add_argument("data", type=Path, metavar="DATA_DIR", help="as for benchmarks.tracking")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="some sequences")
    parser.add_argument("--folds", type=int, default=7, help="number of folds, at least 2")
    add_output_option(parser)
    options = parser.parse_args(arguments)
    try:
        sequences = load(options.data, options.only)
    except (FileNotFoundError, ValueError) as error:
        parser.error(str(error))
    if options.folds < 2 or len(sequences) < 2:
        parser.error("--folds: expected at least 2 folds and 2 sequences")
    runs = track_all(sequences)
    results = judge(runs, options.folds)
    tables = [settings_table(runs), folds_table(results)]
    text = "\n".join(line for table in tables for line in ["", *markdown_table(table)])
    write_report(options.out, "tracking_folds", f"# Tracking, left out\n{text}\n", as_json(results))
    print_tables(tables, Console())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
