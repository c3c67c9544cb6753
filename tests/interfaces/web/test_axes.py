"""Axes of the explorer: numbers that a person can read, also on a phone."""

from itertools import pairwise

import pytest
from browsing import Server

import feynkac as fk

LABELS = """
window.labels = [];
const write = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  const t = this.getTransform(), width = t.a * this.measureText(text).width;
  if (this.textAlign === "center" && /^[0-9]/.test(text) && t.b === 0)
    window.labels.push([text, Math.round(t.d * y + t.f), t.a * x + t.e - width / 2, width]);
  if (text === "0.01") document.documentElement.dataset.drawn = "yes";
  return write.apply(this, arguments);
};
"""
"""What is written onto canvases: text, height, left end and width; the page forbids `eval`."""


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A server of a solution over three decades of volatility."""
    sides = {"x": fk.Box(9, 10), "t": fk.Box(0, 1), "strike": fk.Box(10, 12)}
    domain = fk.Domain(**sides, sigma=fk.LogUniform(0.001, 0.9))
    folder = tmp_path_factory.mktemp("axes") / "wide"
    family = fk.BlackScholes(other_domain=domain)
    fk.solve(family, steps=1, batch_size=32, evaluations=1, out=folder)
    found = Server([folder]).start()
    yield found
    found.stop()


@pytest.mark.parametrize("view", ["a=sigma", "v=surface&a=sigma&b=t"])
def test_numbers_of_a_logarithmic_axis_do_not_overlap_on_a_phone(browser, wide, view):
    page = browser.new_page(viewport={"width": 360, "height": 740})
    page.add_init_script(LABELS)
    page.goto(f"{wide.address}#s=wide&{view}")
    page.wait_for_selector("html[data-drawn]")
    labels = page.evaluate("window.labels")
    bottom = next(y for text, y, _, _ in labels if text == "0.01")
    row = sorted({(x, width) for _, y, x, width in labels if y == bottom})
    assert len(row) > 2
    assert all(left + width < right for (left, width), (right, _) in pairwise(row))
    page.close()
