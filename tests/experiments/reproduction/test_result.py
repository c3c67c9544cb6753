"""Pages, numbers and figures of a result."""

import json

import pytest
from matplotlib.figure import Figure

from feynkac.experiments.reproduction.result import (
    FULL,
    Provenance,
    Result,
    describe_machine,
    describe_versions,
    render,
)

PROVENANCE = Provenance((0, 3), 12.4, {"feynkac": "1.0"}, "2 threads")


def line() -> Figure:
    figure = Figure(figsize=(2, 2), layout="constrained")
    figure.subplots().plot([0, 1], [1, 2])
    return figure


def result(scale=FULL, figure=None) -> Result:
    rows = [("0", "0.68 ± 0.07"), ("4,000", "0.01")]
    return Result(
        "table-9", "Table 9: x", ("step", "L1"), rows, scale, ("A note.",), {"l1": [1]}, figure
    )


def test_a_page_has_its_title_scale_table_notes_and_command():
    page = result("3 steps in place of 5.").markdown(PROVENANCE)
    assert page.startswith("# Table 9: x\n\n**Scaled down**: 3 steps in place of 5.\n")
    assert "| step | L1 |\n| --- | --- |\n| 0 | 0.68 ± 0.07 |\n| 4,000 | 0.01 |\n" in page
    assert "\nA note.\n" in page
    assert "    feynkac reproduce table-9\n" in page
    assert "Seeds 0, 3; 12 s for this call; 2 threads; feynkac 1.0." in page
    assert ".png" not in page


def test_a_full_result_says_so():
    assert "Full scale." in result().markdown(PROVENANCE)
    assert "Scaled" not in result().markdown(PROVENANCE)


@pytest.mark.parametrize(
    ("figure", "kinds"), [(False, ["json", "md"]), (True, ["json", "md", "png", "svg"])]
)
def test_all_files_are_written(tmp_path, figure, kinds):
    paths = result(figure=line() if figure else None).write(tmp_path / "new", PROVENANCE)
    assert sorted(path.suffix[1:] for path in paths) == kinds
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(
        f"table-9.{kind}" for kind in kinds
    )
    record = json.loads((tmp_path / "new" / "table-9.json").read_text())
    assert record["data"] == {"l1": [1]}
    assert record["scale"] == "full"
    assert record["provenance"]["seeds"] == [0, 3]


def test_the_same_figure_gives_the_same_pixels():
    assert render(line(), "png") == render(line(), "png")
    assert render(line(), "png").startswith(b"\x89PNG")
    assert b"<svg" in render(line(), "svg")


def test_provenance_names_machine_and_versions():
    assert "threads on" in describe_machine()
    assert describe_versions().keys() == {"feynkac", "torch", "python"}
