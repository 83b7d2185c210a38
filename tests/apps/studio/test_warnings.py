"""Warnings of the package reach the page of the job that raised them."""

import threading
import warnings

import numpy as np
import pytest
import tifffile

from meanshiftpp import MeanShiftPP
from meanshiftpp.apps.studio.page_warnings import collecting, routed_warnings, warning_message


def test_a_search_that_does_not_converge_is_reported_in_the_words_of_the_page():
    points = np.random.default_rng(0).normal(size=(1000, 2))
    with pytest.warns(UserWarning, match="1 step") as caught:
        MeanShiftPP(bandwidth=0.5, max_iter=1).fit(points)
    text = warning_message(caught[0].message)
    assert text.startswith("Not converged: the search still moved points after ")
    assert text.endswith("; move Bandwidth to the right")


def test_a_warning_about_a_file_has_its_name_on_the_page(studio, tab, photo, tmp_path):
    values = photo.astype(np.float32) / 255
    values[3, 5] = np.nan
    tifffile.imwrite(tmp_path / "gap.tif", values, photometric="rgb")
    tab.open("gap.tif", (tmp_path / "gap.tif").read_bytes())
    (text,) = tab.receive("warnings")["messages"]
    assert text.startswith("gap.tif: masked 1 of ")
    assert str(studio.temporary) not in text


def test_threads_do_not_mix_their_warnings():
    lists: dict[int, list[Warning]] = {number: [] for number in range(4)}
    barrier = threading.Barrier(4)

    def work(number):
        with collecting(lists[number]):
            for _ in range(50):
                barrier.wait()
                warnings.warn(str(number), UserWarning, stacklevel=1)

    with routed_warnings():
        threads = [threading.Thread(target=work, args=(number,)) for number in lists]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for number, caught in lists.items():
        assert [str(each) for each in caught] == [str(number)] * 50


def test_other_warnings_are_printed_as_before():
    with warnings.catch_warnings(record=True) as printed:
        warnings.simplefilter("always")
        with routed_warnings(), collecting([]) as _:
            warnings.warn("numbers", RuntimeWarning, stacklevel=1)
        with routed_warnings():
            warnings.warn("elsewhere", UserWarning, stacklevel=1)
    assert [str(each.message) for each in printed] == ["numbers", "elsewhere"]
