"""Read drawings of regions back to label images."""

import re
from xml.etree import ElementTree

import numpy as np


def draw_path(data, shape):
    """Fill a path of horizontal and vertical steps with the even-odd rule."""
    crossings = np.zeros((shape[0], shape[1] + 1), int)
    x = y = first = None
    for command in re.findall(r"M\d+ \d+|[hv]-?\d+|z", data):
        before = x, y
        if command[0] == "M":
            x, y = first = tuple(map(int, command[1:].split()))
            continue
        if command == "z":
            x, y = first
        elif command[0] == "h":
            x += int(command[1:])
        else:
            y += int(command[1:])
        assert (x == before[0]) != (y == before[1])
        if x == before[0]:
            crossings[min(y, before[1]) : max(y, before[1]), x] += 1
    return crossings.cumsum(axis=1)[:, :-1] % 2 == 1


def read_svg(path, shape):
    """Return the label image of a drawing and the colours of its labels."""
    root = ElementTree.parse(path).getroot()
    assert root.get("viewBox") == f"0 0 {shape[1]} {shape[0]}"
    labels, colours = np.full(shape, -1), {}
    for each in root:
        label = int(each.get("id").removeprefix("region-")) - 1
        covered = draw_path(each.get("d"), shape)
        assert (labels[covered] == -1).all()
        labels[covered] = label
        colours[label] = each.get("fill")
    return labels, colours
