"""A run is written down completely: any setting changes its identity, and JSON keeps it all."""

import json
from dataclasses import dataclass, fields, replace

import pytest
from pydantic import TypeAdapter

from feynkac.errors import InputError
from feynkac.families import BasketPut, BlackScholes, HeatParaboloid
from feynkac.grids.grid import Grid
from feynkac.methods import Fast, Method, Paper
from feynkac.networks.feed_forward import FeedForward
from feynkac.networks.multilevel import Multilevel
from feynkac.networks.smooth import Smooth
from feynkac.runs.run import LOGISTICS, FamilyRecord, Run, differences, record_family, run_to_dict
from feynkac.sampling.noise import Antithetic, Sobol
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.log_ode import LogOde
from feynkac.sampling.schemes.milstein import Milstein
from feynkac.sampling.schemes.ninomiya_victoir import NinomiyaVictoir
from feynkac.training.optimisers.optimiser import SGD, AdamW
from feynkac.training.schedules import StepDecay
from feynkac.training.settings import Training

BASE = Run(
    family=record_family(BlackScholes()),
    method=Paper().resolve(BlackScholes()),
    training=Training(steps=10),
)
FAST = replace(BASE, method=Fast(**{f.name: getattr(BASE.method, f.name) for f in fields(Method)}))
OTHER_TRAINING = {
    "steps": [11],
    "budget": ["60s"],
    "seed": [1],
    "workers": [2],
    "device": ["cpu"],
    "compile": [True],
    "evaluations": [3],
}
OTHER_CHOICES = {
    "optimiser": [AdamW(1e-3), AdamW(1e-2, weight_decay=0.1), SGD(), SGD(momentum=0.5)],
    "schedule": [StepDecay(decay=0.5), StepDecay(patience=5), StepDecay(minimal=1e-7)],
    "batch_size": [64],
    "paths": [2],
    "noise": [Sobol(), Sobol(aligned=False), Antithetic()],
    "architecture": [
        Multilevel(levels=3),
        Multilevel(factor=4),
        Multilevel(residual=False),
        Multilevel(norm="layer"),
        Multilevel(activation="silu"),
        FeedForward(),
        Smooth(),
        Smooth(root_time=False),
    ],
    "scheme": [
        scheme(steps)
        for scheme in (EulerMaruyama, Milstein, NinomiyaVictoir, LogOde)
        for steps in (25, 50)
    ],
    "grid": [Grid((33,), 16), Grid((65,), 16)],
}
OTHER_FAST = {
    "formula": [True],
    "width": [3],
    "depth": [3],
    "slopes": [False],
    "slope_weight": [0.5],
    "symmetries": [False],
    "scale_inputs": [9],
    "head": [False],
}


def varied(run, choices):
    return [
        replace(run, method=replace(run.method, **{name: value}))
        for name, values in choices.items()
        for value in values
    ]


OTHER_RUNS = [
    *(replace(BASE, family=record_family(f)) for f in (BlackScholes(2), BasketPut())),
    *varied(BASE, OTHER_CHOICES),
    FAST,
    *varied(FAST, OTHER_FAST),
    *(
        replace(BASE, training=Training(**{"steps": None if name == "budget" else 10, name: value}))
        for name, values in OTHER_TRAINING.items()
        for value in values
    ),
]


def read_back(run):
    text = json.dumps(run_to_dict(run), allow_nan=False)
    return TypeAdapter(Run).validate_python(json.loads(text))


def test_every_setting_is_varied_below():
    assert {*OTHER_TRAINING, *LOGISTICS} == {f.name for f in fields(Training)}
    assert set(OTHER_CHOICES) == {f.name for f in fields(Method)}
    assert {*OTHER_CHOICES, *OTHER_FAST} == {f.name for f in fields(Fast)}


def test_any_other_setting_gives_another_identity():
    assert len({run.identity for run in [BASE, *OTHER_RUNS]}) == 1 + len(OTHER_RUNS)


@pytest.mark.parametrize("run", [BASE, *OTHER_RUNS], ids=lambda run: run.identity[:8])
def test_json_keeps_a_run_and_its_identity(run):
    assert read_back(run) == run
    assert read_back(run).identity == run.identity


@pytest.mark.parametrize("run", OTHER_RUNS, ids=lambda run: run.identity[:8])
def test_differences_are_found_exactly_between_different_runs(run):
    assert differences(run_to_dict(BASE), run_to_dict(run))
    assert differences(run_to_dict(run), run_to_dict(run)) == []


def test_how_often_checkpoints_are_written_does_not_matter():
    again = replace(BASE, training=Training(steps=10, checkpoint_seconds=60.0))
    assert again.identity == BASE.identity


def test_the_order_of_a_family_s_fields_does_not_matter():
    first, second = (
        replace(BASE, family=FamilyRecord("mine", fields, built_in=False)).identity
        for fields in ({"dim": 2, "rate": 0.1}, {"rate": 0.1, "dim": 2})
    )
    assert first == second


def test_a_built_in_family_is_recorded_by_name_and_fields():
    record = record_family(HeatParaboloid(dim=5))
    assert (record.name, record.fields, record.built_in) == ("heat-paraboloid", {"dim": 5}, True)


def test_a_namesake_is_not_taken_for_the_built_in_family():
    namesake = dataclass(frozen=True)(type("BlackScholes", (BlackScholes,), {}))
    record = record_family(namesake(dim=2))
    assert (record.name, record.fields, record.built_in) == ("black-scholes", {"dim": 2}, False)


def test_a_family_that_is_no_dataclass_of_its_own_is_refused():
    class Loose(BlackScholes):
        pass

    with pytest.raises(InputError, match=r"Loose must be a frozen dataclass.*@dataclass\(frozen"):
        record_family(Loose())


@pytest.mark.parametrize(
    ("ours", "theirs", "lines"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, ["a is 2 there, 1 here"]),
        ({"a": {"b": {"c": "x"}}}, {"a": {"b": {"c": "y"}}}, ["a.b.c is 'y' there, 'x' here"]),
        ({"a": 1}, {}, ["a is None there, 1 here"]),
        ({}, {"b": 2}, ["b is 2 there, None here"]),
        ({"b": 1, "a": 1}, {"a": 2, "b": 2}, ["a is 2 there, 1 here", "b is 2 there, 1 here"]),
        ({"a": [1, 2]}, {"a": [1, 3]}, ["a is [1, 3] there, [1, 2] here"]),
        ({"a": {"b": 1}}, {"a": 3}, ["a is 3 there, {'b': 1} here"]),
    ],
)
def test_differences_name_the_path_and_both_values(ours, theirs, lines):
    assert differences(ours, theirs) == lines
