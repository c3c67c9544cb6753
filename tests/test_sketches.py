"""Small pictures are valid SVG inside their frame."""

import math
import re
import xml.etree.ElementTree as ET

import pytest

from feynkac.sketches import HEIGHT, WIDTH, bars, curve, intervals

NAN = math.nan


@pytest.mark.parametrize(
    ("picture", "parts"),
    [
        (curve([0.0, 1.0, 2.0], [3.0, NAN, -5e8], "a < b"), {"polyline": 1}),
        (curve([0.0, 1.0], [2.0, 2.0], "flat"), {"polyline": 1}),
        (intervals([0.0, 1.0, NAN], [0.1, 0.0, 1.0], "two"), {"circle": 2, "line": 3}),
        (bars([1.0, -2.0, NAN, 0.0], "three"), {"rect": 3}),
    ],
)
def test_pictures_are_drawn_inside_their_frame(picture, parts):
    root = ET.fromstring(picture)
    for name, count in parts.items():
        assert len(list(root.iter(f"{{http://www.w3.org/2000/svg}}{name}"))) == count
    points = re.findall(r"([\d.e+-]+),([\d.e+-]+)", root.find(".").attrib.get("points", ""))
    assert all(0 <= float(x) <= WIDTH and 0 <= float(y) <= HEIGHT for x, y in points)
    for element in root.iter():
        for name in ("x1", "x2", "cx"):
            assert 0 <= float(element.attrib.get(name, 0)) <= WIDTH
        for name in ("y1", "y2", "cy"):
            assert 0 <= float(element.attrib.get(name, 0)) <= HEIGHT


@pytest.mark.parametrize(
    "picture", [curve([1.0], [1.0], ""), curve([1.0, 2.0], [NAN, NAN], ""), bars([NAN], "")]
)
def test_nothing_to_draw_is_no_picture(picture):
    assert picture == ""


def test_a_higher_value_is_higher_up():
    (line,) = ET.fromstring(curve([0.0, 1.0], [0.0, 1.0], "")).iter(
        "{http://www.w3.org/2000/svg}polyline"
    )
    first, last = (pair.split(",") for pair in line.attrib["points"].split())
    assert float(first[0]) < float(last[0])
    assert float(first[1]) > float(last[1])
