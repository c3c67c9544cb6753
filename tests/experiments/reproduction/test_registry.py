"""All results by name, and the budget they share."""

import json

import pytest

from feynkac.errors import InputError
from feynkac.experiments.reproduction.registry import ITEMS, divide, find_items, reproduce
from feynkac.experiments.reproduction.settings import Settings
from feynkac.experiments.reproduction.store import Store


def test_every_result_of_the_paper_has_a_name():
    tables = [f"table-{n}" for n in range(1, 9)]
    figures = [f"figure-{n}" for n in range(1, 10)]
    theorems = [f"theorem-{n}" for n in (1, 2, 3, 4, "a4")]
    assert list(ITEMS) == [*tables, *figures, *theorems]
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
    assert made.provenance.seeds == (0,)
    assert not (tmp_path / "results" / "index.md").exists()


@pytest.mark.slow
def test_all_of_it_with_an_index(tmp_path):
    settings = Settings(Store(tmp_path / "runs"), budget=120.0, seeds=(0,))
    made = reproduce("all", settings, tmp_path)
    index = (tmp_path / "index.md").read_text()
    for each in made:
        assert f"({each.result.name}.md)" in index
        record = json.loads((tmp_path / f"{each.result.name}.json").read_text())
        assert record["rows"]
