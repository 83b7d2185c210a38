"""The table view of the web page: labels equal those of the native kernel."""

import io
import re

import numpy as np
from tests.apps.studio.browser_page import download, drop, wait_for_answer

from meanshiftpp import MeanShiftPP


def exported(page):
    return np.genfromtxt(io.BytesIO(download(page, "[data-export=csv]")), delimiter=",", names=True)


def shown_bandwidth(page):
    code = page.locator("#table .code pre").inner_text()
    return [float(number) for number in re.search(r"MeanShiftPP\(\[(.*)\]\)", code)[1].split(",")]


def blobs():
    rng = np.random.default_rng(0)
    return rng.normal([[0, 0, 5]] * 400 + [[9, 90, 5]] * 300 + [[0, 90, 50]] * 200, [1, 10, 3])


def write_csv(path, points):
    rows = (",".join([*map(repr, row), "x"]) for row in points.tolist())
    path.write_text("\n".join(['a,b,"c, d",name', *rows]))


def test_clusters_equal_a_fit(page, tmp_path):
    points = blobs()
    write_csv(tmp_path / "points.csv", points)
    drop(page, tmp_path / "points.csv")
    for step in (None, 20, 60):
        if step is not None:
            page.locator("#table-bandwidth").fill(str(step))
        wait_for_answer(page, "table")
        table = exported(page)
        assert np.array_equal(np.stack([table["a"], table["b"]], axis=1), points[:, :2])
        model = MeanShiftPP(shown_bandwidth(page)).fit(points[:, :2])
        assert np.array_equal(table["label"], model.labels_)
        assert (
            page.locator("#table .count").inner_text() == f"{len(model.cluster_weights_)} clusters"
        )


def test_three_columns_of_an_npy_file(page, tmp_path):
    points = blobs()
    np.save(tmp_path / "points.npy", np.asfortranarray(points))
    drop(page, tmp_path / "points.npy")
    wait_for_answer(page, "table")
    page.select_option("#column-2", "x2")
    wait_for_answer(page, "table")
    labels = exported(page)["label"]
    assert np.array_equal(labels, MeanShiftPP(shown_bandwidth(page)).fit_predict(points))


def test_the_sweep_finds_the_groups(page, tmp_path):
    write_csv(tmp_path / "points.csv", blobs())
    drop(page, tmp_path / "points.csv")
    wait_for_answer(page, "table")
    assert page.locator("#table .count").inner_text() == "3 clusters"


def test_a_missing_value_is_reported_with_its_place(page, tmp_path):
    points = blobs().astype(object)
    points[6, 1] = ""
    rows = "\n".join(",".join(map(str, row)) for row in points)
    (tmp_path / "gap.csv").write_text(f"a,b,c\n{rows}\n")
    drop(page, tmp_path / "gap.csv")
    wait_for_answer(page, "table")
    page.select_option("#column-1", "b")
    page.wait_for_function("document.querySelector('#error').textContent")
    assert "Row 7, column 'b'" in page.locator("#error").inner_text()


def test_the_command_selects_an_identifier_that_was_chosen(page, tmp_path):
    rows = "\n".join(f"{n},{x}" for n, x in enumerate(blobs()[:, 0].tolist()))
    (tmp_path / "table.csv").write_text(f"id,x\n{rows}\n")
    drop(page, tmp_path / "table.csv")
    wait_for_answer(page, "table")
    page.click("#table .code [role=tab] >> nth=1")
    assert " table.csv --columns id,x -b " in page.locator("#table .code pre").inner_text()
    page.select_option("#column-0", "x")
    wait_for_answer(page, "table")
    page.click("#table .code [role=tab] >> nth=0")
    assert "open_points('table.csv', ['x', 'id'])" in page.locator("#table .code pre").inner_text()
