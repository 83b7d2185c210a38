"""Segment and score, in several processes; what was done once is not done again.

Every result is noted as soon as it is there, with what the answer depends on (a version; for ours,
the code): a run that was stopped goes on where it was.
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
from benchmarks.common.notes import Notes
from benchmarks.common.partitions import Scores, score

Key = tuple[str, str, str, str]  # method, what it is made of, setting, photograph
Done = Callable[[int], None]


class Found(NamedTuple):
    """What came of one method with one setting on one photograph."""

    scores: Scores
    regions: int


class Task(NamedTuple):
    """One method on one photograph, with some settings: what a process does in one go."""

    photo: Photo
    method: str
    settings: list[Setting]


class Journal:
    """The results so far."""

    def __init__(self, path: Path) -> None:
        self._notes = Notes(path)

    def get(self, method: Method, setting: Setting, photo: Photo) -> Found | None:
        noted = self._notes.get(*_key(method, setting, photo))
        return None if noted is None else Found(Scores(*noted[0]), noted[1])

    def add(self, method: Method, setting: Setting, photo: Photo, found: Found) -> None:
        self._notes.keep(*_key(method, setting, photo), value=found)

    def fill(self, tasks: Iterable[Task], jobs: int, done: Done = lambda number: None) -> None:
        """Do what is missing of the tasks; call `done` with the number of results as they come."""
        missing = []
        for photo, name, settings in tasks:
            wanted = [one for one in settings if self.get(METHODS[name], one, photo) is None]
            done(len(settings) - len(wanted))
            if wanted:
                missing.append(Task(photo, name, wanted))
        if not missing:
            return
        with ProcessPoolExecutor(jobs, get_context("spawn"), threadpool_limits, (1,)) as pool:
            try:
                for future in as_completed([pool.submit(work, task) for task in missing]):
                    task, results = future.result()
                    for setting, found in zip(task.settings, results, strict=True):
                        self.add(METHODS[task.method], setting, task.photo, found)
                    done(len(results))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise


def work(task: Task) -> tuple[Task, list[Found]]:
    """Segment one photograph with each setting and score the answers."""
    image, truths = read(task.photo)
    method = METHODS[task.method]
    call = method.cut if method.cut and len(task.settings) > 1 else method.call
    results = []
    for setting in task.settings:
        labels = call(image, **setting)
        regions = int(np.count_nonzero(np.bincount(labels.ravel())))
        results.append(Found(score(labels, truths), regions))
    return task, results


@lru_cache(maxsize=2)
def read(photo: Photo) -> tuple[np.ndarray, Sequence[np.ndarray]]:
    return photo.image, photo.truths


def _key(method: Method, setting: Setting, photo: Photo) -> Key:
    return method.name, method.made_of, say(setting), photo.name


def say(setting: Setting) -> str:
    """Write a setting as one would in a call."""
    return ", ".join(f"{name}={value:g}" for name, value in setting.items())
