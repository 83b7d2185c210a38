"""Segment and score photographs in several processes, and keep the scores in a file.

Every score is stored as soon as it is known, with everything that it depends on (a version; for
our methods, the code), so a stopped run continues where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.bsds.photos import Photo
from benchmarks.bsds.segmenters import METHODS, Method, Setting
from benchmarks.common.partition_metrics import Scores, score
from benchmarks.common.result_cache import ResultCache

OnProgress = Callable[[int], None]


class Segmentation(NamedTuple):
    """Scores and number of regions of one method with one setting on one photograph."""

    scores: Scores
    regions: int


class Task(NamedTuple):
    """One method on one photograph with several settings: the work of one process call."""

    photo: Photo
    method: str
    settings: list[Setting]


class ScoreCache:
    """The scores so far, in memory and in a file."""

    def __init__(self, path: Path) -> None:
        self._cache = ResultCache(path)

    def get(self, method: Method, setting: Setting, photo: Photo) -> Segmentation | None:
        stored = self._cache.get(*_key(method, setting, photo))
        return None if stored is None else Segmentation(Scores(*stored[0]), stored[1])

    def add(self, method: Method, setting: Setting, photo: Photo, result: Segmentation) -> None:
        self._cache.store(*_key(method, setting, photo), value=result)

    def fill(
        self, tasks: Iterable[Task], jobs: int, on_progress: OnProgress = lambda amount: None
    ) -> None:
        """Compute the missing results of the tasks; report the number of results as they come."""
        missing = []
        for photo, name, settings in tasks:
            unknown = [one for one in settings if self.get(METHODS[name], one, photo) is None]
            on_progress(len(settings) - len(unknown))
            if unknown:
                missing.append(Task(photo, name, unknown))
        if not missing:
            return
        with ProcessPoolExecutor(jobs, get_context("spawn"), threadpool_limits, (1,)) as pool:
            try:
                for future in as_completed([pool.submit(segment, task) for task in missing]):
                    task, results = future.result()
                    for setting, result in zip(task.settings, results, strict=True):
                        self.add(METHODS[task.method], setting, task.photo, result)
                    on_progress(len(results))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise


def segment(task: Task) -> tuple[Task, list[Segmentation]]:
    """Segment one photograph with each setting and score the results."""
    image, truths = read(task.photo)
    method = METHODS[task.method]
    call = method.cut if method.cut and len(task.settings) > 1 else method.call
    results = []
    for setting in task.settings:
        labels = call(image, **setting)
        regions = int(np.count_nonzero(np.bincount(labels.ravel())))
        results.append(Segmentation(score(labels, truths), regions))
    return task, results


@lru_cache(maxsize=2)
def read(photo: Photo) -> tuple[np.ndarray, Sequence[np.ndarray]]:
    return photo.image, photo.truths


def _key(method: Method, setting: Setting, photo: Photo) -> tuple[str, str, str, str]:
    return method.name, method.version, format_setting(setting), photo.name


def format_setting(setting: Setting) -> str:
    """Format a setting like the arguments of a call."""
    return ", ".join(f"{name}={value:g}" for name, value in setting.items())
