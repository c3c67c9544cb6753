"""The catalogue's benchmark: every model has a row, a row says what it measured."""

import json

import pytest

from feynkac.benchmarks.bench import Thoroughness
from feynkac.benchmarks.suite import MODELS, Model, choose_models, run_suite
from feynkac.errors import InputError
from feynkac.families import Bachelier, MultiAsset
from feynkac.families.catalogue import BUILT_IN

QUICK = Thoroughness(inputs=256, simulated_inputs=8, paths=64)


def test_every_model_of_the_catalogue_has_a_row():
    paper = list(BUILT_IN)[:4]
    assert {model.family.name() for model in MODELS} == BUILT_IN.keys() - set(paper)
    assert len({model.name for model in MODELS}) == len(MODELS)


def test_targets_are_those_of_the_issue():
    targets = {model.name: model.target for model in MODELS}
    assert targets.pop("geometric-basket, 50 assets") == 0.002
    hard = {name for name, target in targets.items() if target == 0.005}
    assert hard == {"digital", "barrier, down and out", "barrier, up and out", "channel"}
    assert all(target == 0.001 for name, target in targets.items() if name not in hard)


def test_a_row_is_chosen_by_its_name_or_its_family():
    assert [m.name for m in choose_models(["heston", "barrier, up and out"])] == [
        "barrier, up and out",
        "heston",
    ]
    with pytest.raises(InputError, match="'black-scholes' is not in the suite; there are: ornst"):
        choose_models(["black-scholes"])


@pytest.mark.slow
def test_rows_measure_against_the_closed_form_or_paths():
    said = []
    models = (Model("one", Bachelier(), target=10.0), Model("two", MultiAsset(2), target=1e-9))
    found = run_suite(models, budget=1.0, effort=QUICK, announce=said.append)
    one, two = found.rows
    assert (one.reference, one.reference_se, one.measured_on) == ("closed form", 0.0, 256)
    assert one.met
    assert 0.0 < one.l1 < 10.0
    assert (two.reference, two.measured_on, two.inputs) == ("simulated", 8, 8)
    assert two.reference_se > 0.0
    assert not two.met
    columns, rows = found.table()
    assert all(len(row) == len(columns) for row in rows)
    record = json.loads(json.dumps(found.record()))
    assert [row["met"] for row in record["rows"]] == [True, False]
    assert any("one: training, seed 0" in text for text in said)
