"""All results by name, and the budget they share."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from feynkac.benchmarks.store import Store, Used
from feynkac.errors import InputError
from feynkac.reproduction.registry import (
    ITEMS,
    commands_for,
    divide,
    find_items,
    render,
    reproduce,
)
from feynkac.reproduction.result import read_provenance
from feynkac.reproduction.settings import Settings

PAGES = Path(__file__).parents[2] / "docs" / "results"


def test_every_result_of_the_paper_has_a_name():
    tables = [f"table-{n}" for n in range(1, 9)]
    figures = [f"figure-{n}" for n in range(1, 10)]
    theorems = [f"theorem-{n}" for n in (1, 2, 3, 4, "a4")]
    assert list(ITEMS) == [*tables, *figures, *theorems, "not-run"]
    assert find_items("all") == list(ITEMS)


def test_an_unknown_name_is_refused():
    with pytest.raises(InputError, match="nothing is called 'figure-10'"):
        find_items("figure-10")


def test_a_budget_is_divided_and_what_shows_another_has_its_share():
    shares = divide(1200.0, find_items("all"))
    own = sum(share for name, share in shares.items() if not ITEMS[name].shows)
    assert own == pytest.approx(1200.0)
    assert {shares[f"figure-{n}"] for n in range(3, 9)} == {shares["table-1"]}
    assert divide(60.0, ["figure-3"]) == {"figure-3": 60.0}


def test_a_result_is_made_and_written(tmp_path):
    told = []
    settings = Settings(Store(tmp_path / "runs"), seeds=(0,), announce=told.append)
    (made,) = reproduce("table-6", settings, tmp_path / "results")
    assert told == ["table-6, 1 of 1, about 2.0 min left"]
    assert {path.name for path in made.files} >= {"table-6.md", "table-6.json"}
    assert made.provenance.seeds == ()
    assert made.provenance.commands == ("feynkac reproduce table-6",)
    index = (tmp_path / "results" / "index.md").read_text()
    assert "[Table 6: ranges for hyperparameter optimisation](table-6.md) | full | – | – |" in index
    assert "table-1" not in index


FULL_RUN = Used("the paper's method", 0, 5593.0, "0.1", "paper", full=True)
FAST_RUN = Used("the fast method", 0, 28.0, "0.1", "fast")


@pytest.mark.parametrize(
    ("name", "options", "used", "commands"),
    [
        (
            "table-1",
            {},
            [FAST_RUN],
            ["feynkac reproduce table-1 --budget 120s --seeds 0,1"],
        ),
        (
            "table-1",
            {"full": True, "seeds": (0, 3), "methods": ("paper",)},
            [FULL_RUN, replace(FULL_RUN, seed=3)],
            ["feynkac reproduce table-1 --full --seeds 0,3 --method paper"],
        ),
        (
            "figure-3",
            {},
            [FULL_RUN, replace(FULL_RUN, seed=2), FAST_RUN],
            [
                "feynkac reproduce table-1 --full --seeds 0,2 --method paper",
                "feynkac reproduce figure-3 --budget 120s --seeds 0,1",
            ],
        ),
        (
            "figure-3",
            {},
            [replace(FULL_RUN, committed=True), FAST_RUN],
            ["feynkac reproduce figure-3 --budget 120s --seeds 0,1"],
        ),
        ("table-5", {"seeds": (7,)}, [], ["feynkac reproduce table-5"]),
    ],
)
def test_the_commands_make_the_result_from_nothing(tmp_path, name, options, used, commands):
    settings = replace(Settings(Store(tmp_path)), **options)
    assert commands_for(name, settings, used) == tuple(commands)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["table-1", "table-8", "figure-9", "figure-5"])
def test_a_page_is_written_from_recorded_numbers(tmp_path, name):
    shutil.copy(PAGES / f"{name}.json", tmp_path)
    before = json.loads((tmp_path / f"{name}.json").read_text())
    (made,) = render(name, tmp_path)
    after = json.loads((tmp_path / f"{name}.json").read_text())
    assert after["provenance"]["versions"] == before["provenance"]["versions"]
    assert made.result.scale.split(" ")[0] == before["scale"].split(" ")[0]
    assert {path.name for path in made.files} <= {path.name for path in tmp_path.iterdir()}
    assert f"({name}.md)" in (tmp_path / "index.md").read_text()


def test_what_has_no_numbers_cannot_be_rendered(tmp_path):
    with pytest.raises(InputError, match="leave --render out"):
        render("table-1", tmp_path)
    with pytest.raises(InputError, match="theorem-3 cannot be written"):
        render("theorem-3", PAGES)


def test_every_committed_page_is_that_of_its_numbers():
    """Nobody has written on a page, and a change of the code was followed by `--render`."""
    for name, item in ITEMS.items():
        path = PAGES / f"{name}.json"
        if item.present and path.exists():
            record = json.loads(path.read_text())
            result = item.present({"scale": record["scale"], **record["data"]})
            page = result.markdown(read_provenance(record["provenance"]))
            assert (PAGES / f"{name}.md").read_text() == page, name


@pytest.mark.slow
def test_all_of_it_with_an_index(tmp_path):
    settings = Settings(Store(tmp_path / "runs"), budget=120.0, seeds=(0,))
    made = reproduce("all", settings, tmp_path)
    index = (tmp_path / "index.md").read_text()
    for each in made:
        assert f"({each.result.name}.md)" in index
        record = json.loads((tmp_path / f"{each.result.name}.json").read_text())
        assert record["rows"]
