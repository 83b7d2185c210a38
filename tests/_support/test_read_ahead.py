"""Reading ahead in a thread: order, errors, depth, and the end of the thread."""

from __future__ import annotations

import threading
from queue import Queue

import pytest

from meanshiftpp._support.read_ahead import _get, read_ahead


def count_readers() -> int:
    return sum(thread.name == "meanshiftpp reader" for thread in threading.enumerate())


def test_keeps_the_order_and_raises_after_the_items():
    def items():
        yield from range(100)
        raise KeyError("gone")

    seen = []
    with pytest.raises(KeyError, match="gone"):
        seen.extend(read_ahead(items()))
    assert seen == list(range(100))
    assert count_readers() == 0


def test_raises_if_the_items_cannot_be_iterated():
    class Broken:
        def __iter__(self):
            raise KeyError("no beginning")

    with pytest.raises(KeyError, match="no beginning"):
        list(read_ahead(Broken()))
    with pytest.raises(TypeError, match="not iterable"):
        list(read_ahead(5))
    assert count_readers() == 0


def test_raises_if_the_thread_has_died():
    dead = threading.Thread(target=int)
    dead.start()
    dead.join()
    queue: Queue = Queue()
    queue.put(("item", 7))
    assert _get(queue, dead) == ("item", 7)  # an item that was put before the thread ended
    with pytest.raises(RuntimeError, match="ended unexpectedly"):
        _get(queue, dead)


def test_reads_no_further_than_its_depth():
    produced, taken = [], 0

    def items():
        for item in range(50):
            produced.append(item)
            yield item

    for _ in read_ahead(items(), depth=3):
        taken += 1
        assert len(produced) <= taken + 3 + 1  # in the queue, and one that waits for a place
    assert taken == 50


def test_thread_ends_when_the_generator_is_closed():
    closed = threading.Event()

    def items():
        try:
            while True:
                yield 0
        finally:
            closed.set()

    ahead = read_ahead(items())
    assert next(ahead) == 0
    ahead.close()
    assert closed.is_set()
    assert count_readers() == 0


def test_thread_ends_after_an_error_of_the_caller():
    with pytest.raises(ZeroDivisionError):
        [1 / item for item in read_ahead(range(1000))]
    assert count_readers() == 0
