"""The ablation: each variant is the default with one thing changed, trained as long."""

import json

import pytest

import feynkac as fk
from feynkac.benchmarks import ablation
from feynkac.benchmarks.ablation import (
    INGREDIENTS,
    Ablation,
    Variant,
    run_ablation,
    to_markdown,
    variant_methods,
)
from feynkac.benchmarks.bench import Thoroughness

pytestmark = pytest.mark.slow

TINY = Thoroughness(inputs=64, simulated_inputs=8, paths=16)
FAMILIES = [fk.BlackScholes(), fk.BasketPut(), fk.HeatParaboloid()]


@pytest.fixture(scope="module")
def result() -> Ablation:
    few = {name: INGREDIENTS[name] for name in ("half the width", "constant learning rate")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ablation, "INGREDIENTS", few)
        return run_ablation(fk.BlackScholes(), budget=0.2, effort=TINY)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name())
def test_every_variant_differs_from_the_default(family):
    methods = variant_methods(family, fk.Fast().resolve(family))
    default = methods.pop("default")
    assert all(method != default for method in methods.values())


@pytest.mark.parametrize(
    ("family", "missing"),
    [
        (fk.BlackScholes(), "Euler–Maruyama with 25 steps"),
        (fk.BasketPut(), "Muon instead of Gauss–Newton"),
        (fk.HeatParaboloid(), "Sobol points not aligned"),
    ],
)
def test_what_the_default_has_not_got_is_not_removed(family, missing):
    methods = variant_methods(family, fk.Fast().resolve(family))
    assert missing in INGREDIENTS
    assert missing not in methods
    assert len(methods) > 6


def test_the_default_comes_first_and_is_the_measure_of_all(result):
    default, *others = result.variants
    names = [v.name for v in result.variants]
    assert names == ["default", "half the width", "constant learning rate"]
    assert default.factor == 1.0
    assert all(v.factor == pytest.approx(v.l1 / default.l1) for v in others)
    assert all(v.l1 > 0 and v.steps >= 1 for v in result.variants)
    assert (result.family, result.budget, result.seed) == ("black-scholes", 0.2, 0)


def test_the_result_is_json(result):
    found = json.loads(json.dumps(result.record(), allow_nan=False))
    assert found["variants"][1]["name"] == result.variants[1].name


def test_the_table_has_a_row_a_variant(result):
    columns, rows = result.table()
    assert [row[0] for row in rows] == [v.name for v in result.variants]
    assert {len(row) for row in rows} == {len(columns)}


def test_markdown_joins_families_in_one_table():
    a = Ablation("a", 20.0, 0, (Variant("default", 0.001, 0.0, 1.0, 9, 20.0),))
    b = Ablation(
        "b",
        2.5,
        0,
        (
            Variant("default", 0.002, 0.0, 1.0, 9, 2.5),
            Variant("half the width", 0.005, 0.0, 2.5, 9, 2.5),
        ),
    )
    assert to_markdown([a, b]).splitlines() == [
        "|  | a, 20 s | b, 2.5 s |",
        "| --- | --- | --- |",
        "| default | 0.00100 (× 1.0) | 0.00200 (× 1.0) |",
        "| half the width | – | 0.00500 (× 2.5) |",
    ]
