"""Segment and score, in several processes; what was done once is not done again.

Every result is a line of JSON in a journal, written as soon as it is there: a run that was stopped
goes on where it was. A line also says what the answer depends on (a version; for ours, the code),
so that a change makes it stale instead of wrong.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.partitions import Scores, score
from benchmarks.photos import Photo
from benchmarks.segmenters import METHODS, Method, Setting

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
    """The results so far, in memory and in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[Key, Found] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        for line in filter(None, lines):
            try:
                *key, scores, regions = json.loads(line)
            except ValueError:  # cut short when a run was stopped
                continue
            self.found[tuple(key)] = Found(Scores(*scores), regions)

    def get(self, method: Method, setting: Setting, photo: Photo) -> Found | None:
        return self.found.get(_key(method, setting, photo))

    def add(self, method: Method, setting: Setting, photo: Photo, found: Found) -> None:
        key = _key(method, setting, photo)
        self.found[key] = found
        with self.path.open("a", encoding="utf-8") as file:  # a line starts anew, whatever was cut
            file.write("\n" + json.dumps([*key, found.scores, found.regions]))

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
