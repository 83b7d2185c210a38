"""Iterate in a background thread, so that reading goes on while the caller computes."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable
from queue import Empty, Full, Queue
from typing import Any, TypeVar

T = TypeVar("T")
_POLL = 0.1  # seconds after which a waiting thread checks whether the other one has stopped


def read_ahead(items: Iterable[T], depth: int = 2) -> Generator[T, None, None]:
    """Iterate in a background thread, up to `depth` items ahead of the caller.

    An exception of the iterator is raised here, after the items before it. The thread ends when
    this generator is closed, also by an error in the caller's loop.

    Examples
    --------
    >>> from meanshiftpp._support.read_ahead import read_ahead
    >>> list(read_ahead(range(5)))
    [0, 1, 2, 3, 4]
    """
    queue: Queue[tuple[str, Any]] = Queue(depth)
    stopped = threading.Event()

    def put(kind: str, value: Any) -> bool:
        while not stopped.is_set():
            try:
                queue.put((kind, value), timeout=_POLL)
                return True
            except Full:
                pass
        return False

    def work() -> None:
        iterator: Any = None
        try:
            iterator = iter(items)
            for item in iterator:
                if not put("item", item):
                    return
            put("end", None)
        except BaseException as error:
            put("error", error)
        finally:
            if hasattr(iterator, "close"):
                iterator.close()

    thread = threading.Thread(target=work, name="meanshiftpp reader", daemon=True)
    thread.start()
    try:
        while True:
            kind, value = _get(queue, thread)
            if kind == "end":
                return
            if kind == "error":
                raise value
            yield value
    finally:
        stopped.set()
        thread.join()


def _get(queue: Queue[tuple[str, Any]], thread: threading.Thread) -> tuple[str, Any]:
    while True:  # the timeout lets Ctrl-C through on every system
        try:
            return queue.get(timeout=_POLL)
        except Empty:
            # The order of the two checks matters: the thread may put an item and end in between.
            if not thread.is_alive() and queue.empty():
                raise RuntimeError("the reader thread ended unexpectedly") from None
