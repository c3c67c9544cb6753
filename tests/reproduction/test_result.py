"""Pages, numbers and figures of a result."""

import json
from dataclasses import replace

import pytest
from matplotlib.figure import Figure

from feynkac.benchmarks.store import Used
from feynkac.reproduction.result import (
    FULL,
    Provenance,
    Result,
    describe_machine,
    describe_versions,
    read_provenance,
    render,
)

COMMANDS = ("feynkac reproduce table-9 --full --seeds 0,3",)
PROVENANCE = Provenance((0, 3), 12.4, {"feynkac": "1.0"}, "2 threads", commands=COMMANDS)
USED = (
    Used("the paper's method", 0, 5593.0, "1.0+abc", "paper", full=True, committed=True),
    Used("the paper's method", 2, 5601.0, "1.0+abc", "paper", full=True, committed=True),
    Used("the fast method", 0, 28.4, "1.0+def", "fast"),
    Used("the fast method", 0, 28.4, "1.0+def", "fast"),
    Used("numbers", None, 3.0, "1.0+def"),
)


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
    assert page.endswith("Made by\n\n    feynkac reproduce table-9 --full --seeds 0,3\n")
    assert "Seeds 0, 3. This call: 12 s; 2 threads; feynkac 1.0." in page
    assert ".png" not in page


def test_trainings_have_their_own_seeds_seconds_and_versions():
    provenance = replace(PROVENANCE, used=USED)
    assert provenance.sentence() == (
        "The paper's method: seeds 0, 2, 5,593, 5,601 s of training, by feynkac 1.0+abc; "
        "from `docs/results/trainings`. "
        "The fast method: seeds 0, 28 s of training, by feynkac 1.0+def. "
        "Numbers: 3 s of computing, by feynkac 1.0+def. "
        "This call: 12 s; 2 threads; feynkac 1.0."
    )
    assert provenance.seeds_text() == "the paper's method 0, 2; the fast method 0"
    assert replace(provenance, used=USED[2:]).seeds_text() == "0"
    assert provenance.spent == pytest.approx(5593 + 5601 + 28.4 + 3)


def test_provenance_is_read_back():
    provenance = replace(PROVENANCE, used=USED)
    assert read_provenance(json.loads(json.dumps(provenance.record()))) == provenance


def test_a_record_without_a_command_says_so():
    page = result().markdown(replace(PROVENANCE, commands=()))
    assert page.endswith("nor the seconds of its trainings.\n")
    assert "Seeds" not in page


def test_a_full_result_says_so():
    assert "Full scale." in result().markdown(PROVENANCE)
    assert "Scaled" not in result().markdown(PROVENANCE)
    assert "cale" not in result("").markdown(PROVENANCE)


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
    assert " on " in describe_machine()
    assert describe_versions().keys() == {"feynkac", "torch", "python"}
