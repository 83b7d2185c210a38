"""The table view of the web page: labels equal those of the native kernel."""

import io
import re

import numpy as np
import pytest
from tests.apps.studio.browser_page import download, drop, wait_for_answer, wait_for_tree

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


def several(n, d, seed):
    """Return points of groups of different sizes and spreads."""
    rng = np.random.default_rng(seed)
    centers, spreads = rng.uniform(0, 30, (9, d)), rng.uniform(0.3, 2, (9, 1))
    group = rng.integers(0, 9, n)
    return centers[group] + rng.normal(size=(n, d)) * spreads[group]


def datasets():
    rng = np.random.default_rng(1)
    plain = several(4000, 2, 0)
    moons = np.stack([np.cos(angles := rng.uniform(0, np.pi, 3000)), np.sin(angles)], axis=1)
    moons[1500:] = [1, 0.4] - moons[1500:]
    return {
        "plain": plain,
        "one blob": rng.normal(size=(3000, 2)),
        "moons": moons + rng.normal(0, 0.07, (3000, 2)),
        "rounded": plain.round(1),
        "coarsely rounded": several(20_000, 2, 3).round(),
        "rounded, three": several(6000, 3, 4).round(),
        "one rounded": np.stack([plain[:, 0], plain[:, 1].round()], axis=1),
        "duplicates": np.repeat(several(900, 2, 5), rng.integers(1, 9, 900), axis=0),
        "many duplicates": several(400, 2, 6)[rng.integers(0, 400, 5000)],
        "clipped": plain.clip(4, 20),
        "clipped, three": several(8000, 3, 7).clip(5, [25, 20, 30]),
        "clipped and rounded": several(20_000, 2, 8).clip(5, 20).round(1),
        "units": plain * [1, 1e4],
        "units, three": several(5000, 3, 9) * [1e-3, 1, 500],
        "constant": np.stack([plain[:, 0], np.full(4000, 7.5)], axis=1),
        "outliers": np.concatenate([plain, [[1e6, -1e6], [5e8, 3]], rng.normal(0, 4e3, (20, 2))]),
        "far away": plain + 1e9,
        "tiny": plain * 1e-200,
        "equal": np.full((50, 2), 3.25),
        "few": plain[:3],
        "background": np.concatenate([rng.uniform(-40, 70, (9000, 2)), several(1500, 2, 12)]),
        "large": several(150_000, 2, 2),
        "large, three": several(120_000, 3, 11),
    }


@pytest.mark.parametrize("name", datasets())
def test_significant_clusters_equal_a_fit(page, tmp_path, name):
    points = datasets()[name]
    np.save(tmp_path / "points.npy", points)
    drop(page, tmp_path / "points.npy")
    wait_for_answer(page, "table")
    if points.shape[1] == 3:
        page.select_option("#column-2", "x2")
    wait_for_tree(page)
    model = MeanShiftPP().fit(points)
    n = model.tree_.n_clusters
    assert page.get_attribute("#table", "data-cut") == str(n)
    np.testing.assert_array_equal(exported(page)["label"], model.labels_)
    most = int(page.get_attribute("#table .tree svg", "aria-valuemax"))
    for k in {2, n + 2, most} - {n}:
        if k > most:
            continue
        page.fill("#n-clusters", str(k))
        page.press("#n-clusters", "Enter")
        wait_for_answer(page, "table")
        np.testing.assert_array_equal(exported(page)["label"], model.cut(k).labels_)
        assert f"MeanShiftPP().fit(points).cut({k}).labels_" in page.inner_text("#table .code pre")


def test_centers_equal_those_of_a_fit(page, tmp_path):
    """A ring has its densest place as centre, and a blob its mean; the list shows both."""
    rng = np.random.default_rng(0)
    angles = rng.uniform(0, 2 * np.pi, 3000)
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1) * 10 + rng.normal(0, 0.3, (3000, 2))
    points = np.concatenate([ring, rng.normal(size=(2000, 2))])
    np.save(tmp_path / "points.npy", points)
    drop(page, tmp_path / "points.npy")
    wait_for_answer(page, "table")
    shown = [text.split(", ") for text in page.locator("#table .swatches b").all_inner_texts()]
    centers = MeanShiftPP().fit(points).cluster_centers_
    np.testing.assert_allclose(np.array(shown, float), centers, rtol=6e-3, atol=1e-3)


def test_clusters_equal_a_fit(page, tmp_path):
    points = blobs()
    write_csv(tmp_path / "points.csv", points)
    drop(page, tmp_path / "points.csv")
    wait_for_answer(page, "table")
    for step in (20, 60):
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
    page.locator("#table-bandwidth").fill("40")
    wait_for_answer(page, "table")
    labels = exported(page)["label"]
    assert np.array_equal(labels, MeanShiftPP(shown_bandwidth(page)).fit_predict(points))


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
    assert " table.csv --columns id,x -o " in page.locator("#table .code pre").inner_text()
    page.select_option("#column-0", "x")
    wait_for_answer(page, "table")
    page.click("#table .code [role=tab] >> nth=0")
    assert "open_points('table.csv', ['x', 'id'])" in page.locator("#table .code pre").inner_text()
