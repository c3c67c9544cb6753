"""Families by name and by file: found, rebuilt from their fields, refused in one sentence."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from feynkac.errors import InputError
from feynkac.families import BlackScholes, HeatGaussian, Payoff
from feynkac.families.catalogue import BUILT_IN, family_fields, find_family

SOURCE = """
from dataclasses import dataclass, field

import feynkac as fk

@dataclass(frozen=True)
class Cooling(fk.Family):
    dim: int = 2
    rate: float = 1.0
    shown: int = field(default=0, init=False)

    def __post_init__(self):
        if self.rate < 0:
            raise ValueError("rate must not be negative")

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(-1, 1, shape=(self.dim,)), t=fk.Box(0, 1))

    def drift(self, x, p):
        return -self.rate * x

    def diffusion(self, x, dw, p):
        return dw

    def initial(self, x, p):
        return x.sum(-1, keepdim=True)

@dataclass(frozen=True)
class Demanding(Cooling):
    extent: float = field(kw_only=True)

class Incomplete(fk.Family):
    pass

not_a_family = 3
"""


@pytest.fixture
def user_file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(SOURCE)
    return path


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_families_are_found_by_name(name):
    family = find_family(name)
    assert family.name() == name
    assert family == BUILT_IN[name]()


def test_the_four_families_of_the_paper_are_built_in():
    paper = ["black-scholes", "basket-put", "heat-paraboloid", "heat-gaussian"]
    assert list(BUILT_IN)[:4] == paper


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_family_is_rebuilt_from_its_name_and_fields(name):
    dim = {} if "dim" not in family_fields(BUILT_IN[name]()) else {"dim": 4}
    family = BUILT_IN[name](**dim)
    assert json.loads(json.dumps(family_fields(family))) == family_fields(family)
    assert family_fields(family).items() >= dim.items()
    assert find_family(family.name(), family_fields(family)) == family


def test_a_payoff_is_written_as_text():
    fields = {"dim": 3, "payoff": "put:min"}
    family = find_family("multi-asset", fields)
    assert family.payoff == Payoff("put", on="min")
    assert family_fields(family) == fields
    with pytest.raises(InputError, match="a payoff has no 'pit'; there are: call, put, digital"):
        find_family("multi-asset", {"payoff": "pit"})


@pytest.mark.parametrize("name", list(BUILT_IN)[4:])
def test_each_model_has_a_page(name):
    page = Path(__file__).parents[2] / "docs" / "models" / f"{name}.md"
    text = page.read_text()
    for variable in BUILT_IN[name]().domain.measures:
        assert f"`{variable}`" in text


def test_a_user_s_family_is_found_in_its_file(user_file):
    family = find_family(f"{user_file}:Cooling", {"rate": 3.0})
    assert family.name() == "cooling"
    assert family_fields(family) == {"dim": 2, "rate": 3.0}
    assert find_family(f"{user_file}:Cooling", {"rate": 3.0}).domain == family.domain


def test_two_files_of_one_name_do_not_mix(tmp_path, user_file):
    other = tmp_path / "other" / "mine.py"
    other.parent.mkdir()
    other.write_text(SOURCE.replace("dim: int = 2", "dim: int = 7"))
    sizes = [find_family(f"{path}:Cooling").domain.state_dim for path in (user_file, other)]
    assert sizes == [2, 7]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("blackscholes", "unknown family 'blackscholes'. Did you mean 'black-scholes'"),
        ("heat-gausian", "Did you mean 'heat-gaussian'"),
        (
            "zzz",
            "unknown family 'zzz'. Built in: black-scholes, basket-put, heat-paraboloid, "
            "heat-gaussian, .*; your own: path/to/file.py:ClassName",
        ),
        ("", "unknown family ''. Built in"),
        ("nowhere.py:Mine", "there is no file 'nowhere.py'"),
    ],
)
def test_an_unknown_family_is_met_with_what_there_is(name, message):
    with pytest.raises(InputError, match=message):
        find_family(name)


@pytest.mark.parametrize(
    ("class_name", "fields", "message"),
    [
        ("Coolin", {}, "has no Family named 'Coolin'; it has: Cooling, Demanding, Incomplete"),
        ("not_a_family", {}, "has no Family named 'not_a_family'; it has: Cooling, "),
        ("", {}, "has no Family named ''; it has: Cooling, "),
        ("Incomplete", {}, "Incomplete lacks diffusion, domain, drift, initial"),
        ("Cooling", {"rat": 1}, "Cooling has no field 'rat'; it has: dim, rate"),
        ("Cooling", {"shown": 1}, "Cooling has no field 'shown'"),
        (
            "Cooling",
            {"rate": -1.0},
            "cannot be made from {'rate': -1.0}: rate must not be negative",
        ),
        ("Demanding", {}, "Demanding cannot be made from {}: .*missing 1 required.*'extent'"),
        ("Incomplete", {"dim": 1}, "Incomplete has no field 'dim'; it has: none"),
    ],
)
def test_a_bad_class_or_field_in_a_file_is_named(user_file, class_name, fields, message):
    with pytest.raises(InputError, match=message):
        find_family(f"{user_file}:{class_name}", fields)


@pytest.mark.parametrize("dim", [0, -1, 2.5, "3", None])
def test_a_dimension_is_a_positive_whole_number(dim):
    with pytest.raises(InputError, match=f"dim must be a whole number ≥ 1, got {dim!r}"):
        find_family("black-scholes", {"dim": dim})


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1 / 0", "fails on import: ZeroDivisionError: division by zero"),
        ("import nowhere_to_be_found", "fails on import: ModuleNotFoundError: No module named"),
        ("class (", "fails on import: SyntaxError: "),
        ("x = 1", "has no Family named 'Mine'; it has: none"),
        ("from feynkac import BlackScholes", "has no Family named 'Mine'; it has: none"),
    ],
)
def test_a_file_without_the_family_is_refused(tmp_path, source, message):
    path = tmp_path / "broken.py"
    path.write_text(source)
    with pytest.raises(InputError, match=message):
        find_family(f"{path}:Mine")


def test_a_file_that_fails_leaves_nothing_behind(tmp_path):
    path = tmp_path / "failing.py"
    path.write_text("1 / 0")
    with pytest.raises(InputError, match="ZeroDivisionError"):
        find_family(f"{path}:Mine")
    assert "feynkac_user_failing" not in sys.modules


def test_only_python_files_hold_families(tmp_path):
    path = tmp_path / "family.txt"
    path.write_text(SOURCE)
    with pytest.raises(InputError, match=r"family\.txt\' is not a Python file"):
        find_family(f"{path}:Cooling")


def test_a_family_that_is_no_dataclass_cannot_be_saved():
    class Plain(BlackScholes):
        pass

    with pytest.raises(InputError, match=r"Plain must be a frozen dataclass.*put @dataclass"):
        family_fields(Plain())


def test_inherited_fields_belong_to_a_family():
    @dataclass(frozen=True)
    class Warmer(HeatGaussian):
        kelvin: float = 300.0

    assert family_fields(Warmer(dim=3)) == {"dim": 3, "kelvin": 300.0}
