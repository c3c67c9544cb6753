"""The base class: what is missing is named, names are kebab-case, capabilities are base classes."""

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, replace

import pytest

from feynkac.errors import InputError
from feynkac.families import (
    AffineLinear,
    Bachelier,
    BasketPut,
    BlackScholes,
    Box,
    ClosedForm,
    ClosedPartials,
    ConditionalMean,
    ControlVariate,
    Domain,
    ExactSampler,
    ExactSteps,
    Family,
    Greek,
    HeatGaussian,
    HeatParaboloid,
    NamedGreeks,
    Payoff,
    Rainbow,
)

FORMULAS = {"domain", "drift", "diffusion", "initial"}


@dataclass(frozen=True)
class Still(Family):
    """The least a user writes."""

    @property
    def domain(self):
        return Domain(x=Box(0, 1), t=Box(0, 1))

    def drift(self, x, p):
        return 0.0 * x

    def diffusion(self, x, dw, p):
        return 0.0 * dw

    def initial(self, x, p):
        return x


@pytest.mark.parametrize("missing", sorted(FORMULAS))
def test_a_missing_method_is_named(missing):
    members = {name: value for name, value in vars(Still).items() if name in FORMULAS - {missing}}
    incomplete = type("Incomplete", (Family,), members)
    with pytest.raises(InputError, match=rf"Incomplete lacks {missing}: a family defines domain, "):
        incomplete()


def test_several_missing_methods_are_all_named():
    with pytest.raises(InputError, match="AffineLinear lacks domain, initial: "):
        AffineLinear()
    with pytest.raises(InputError, match="Family lacks diffusion, domain, drift, initial: "):
        Family()


def test_a_missing_capability_method_is_named():
    incomplete = type("Half", (Still, ExactSampler), {})
    with pytest.raises(InputError, match="Half lacks exact"):
        incomplete()


@pytest.mark.parametrize(
    ("capability", "method"), [(ConditionalMean, "expected"), (ControlVariate, "controlled")]
)
def test_labels_of_its_own_need_steps_that_they_belong_to(capability, method):
    members = {method: lambda self, x, t, p, z: x, "exact": lambda self, x, t, p, z: x + z}
    bare = type("Bare", (Still, ExactSampler, capability), members)
    with pytest.raises(InputError, match=r"Bare has labels of its own .* make it OwnSteps too"):
        bare()
    assert isinstance(type("Whole", (Still, ExactSteps, capability), members)(), capability)


def test_exact_steps_are_those_of_the_exact_sampler():
    family = type("Moving", (Still, ExactSteps), {"exact": lambda self, x, t, p, z: x + t * z})()
    assert family.step(1.0, 0.5, None, 2.0) == family.exact(1.0, 0.5, None, 2.0) == 2.0


def test_three_methods_and_a_domain_are_enough():
    assert isinstance(Still(), Family)
    assert Still() == Still()


@pytest.mark.parametrize(
    ("cls", "name"),
    [
        (BlackScholes, "black-scholes"),
        (BasketPut, "basket-put"),
        (HeatParaboloid, "heat-paraboloid"),
        (HeatGaussian, "heat-gaussian"),
        (Still, "still"),
    ],
)
def test_names_are_in_kebab_case(cls, name):
    assert cls.name() == name
    assert cls().name() == name


@pytest.mark.parametrize(
    ("cls", "capabilities"),
    [
        (BlackScholes, {ExactSampler, ClosedForm, ClosedPartials, NamedGreeks}),
        (HeatParaboloid, {ExactSampler, ClosedForm, ClosedPartials}),
        (HeatGaussian, {ExactSampler, ClosedForm, ClosedPartials}),
        (BasketPut, set()),
        (Still, set()),
    ],
)
def test_capabilities_are_found_by_type(cls, capabilities):
    every = {ExactSampler, ClosedForm, ClosedPartials, NamedGreeks}
    assert {c for c in every if isinstance(cls(), c)} == capabilities


def test_built_in_families_are_frozen_values():
    assert BlackScholes(dim=2) == BlackScholes(dim=2) != BlackScholes()
    with pytest.raises(FrozenInstanceError, match="dim"):
        BlackScholes().dim = 3


WIDE = BlackScholes(dim=2).on(x=Box(5, 20, shape=(2,)))


def test_a_family_can_be_put_on_another_domain():
    assert type(WIDE) is BlackScholes
    assert (WIDE.name(), WIDE.dim) == ("black-scholes", 2)
    assert WIDE.domain.measures["x"] == Box(5, 20, shape=(2,))
    assert WIDE.domain.measures["strike"] == BlackScholes().domain.measures["strike"]
    assert BlackScholes(dim=2).domain.measures["x"] == Box(9, 10, shape=(2,))


def test_a_family_on_another_domain_is_another_one():
    assert BlackScholes(dim=2) != WIDE
    assert hash(WIDE) != hash(BlackScholes(dim=2))
    assert BlackScholes(dim=2).on(WIDE.domain) == WIDE
    assert hash(WIDE) == hash(BlackScholes(dim=2).on(WIDE.domain))
    assert WIDE.on(t=Box(0, 2)).domain.measures["x"] == Box(5, 20, shape=(2,))


def test_back_on_its_own_domain_it_is_what_it_was():
    assert WIDE.on(x=Box(9, 10, shape=(2,))) == BlackScholes(dim=2)
    assert WIDE.on(BlackScholes(dim=2).domain).other_domain is None


@pytest.mark.parametrize(
    "twin", [copy.copy, copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f)), replace]
)
def test_a_copy_stays_on_its_domain(twin):
    _ = WIDE.domain
    assert twin(WIDE) == WIDE
    assert twin(WIDE).domain == WIDE.domain


def test_fields_can_be_replaced_on_another_domain():
    found = replace(Bachelier(Payoff("put")).on(t=Box(0, 2)), payoff=Payoff("call"))
    assert found == Bachelier(Payoff("call")).on(t=Box(0, 2))


def test_exchangeable_variables_stay_so():
    wide = Rainbow(dim=2).on(t=Box(0, 2))
    assert wide.domain.exchanged == ("x", "sigma")


@pytest.mark.parametrize(
    ("measures", "message"),
    [
        ({"sgima": Box(0, 1)}, "no variable 'sgima'; there are: x, t, sigma, strike"),
        ({"x": Box(0, 1, shape=(3,))}, r"has the variables .*'x': \(2,\).*give the same"),
        ({"x": "wide"}, r"x gets a measure, such as Box\(0, 1\), or a value of shape \(2,\)"),
        ({"x": [1.0, 2.0, 3.0]}, r"x gets a measure, .* got \[1.0, 2.0, 3.0\]"),
    ],
)
def test_a_domain_that_does_not_fit_is_refused(measures, message):
    with pytest.raises(InputError, match=message):
        WIDE.on(**measures)


def test_a_domain_with_other_variables_is_refused():
    with pytest.raises(InputError, match=r"but the other domain has .*'a'"):
        WIDE.on(Domain(x=Box(0, 1, shape=(2,)), t=Box(0, 1), a=Box(0, 1)))


@dataclass(frozen=True)
class Longer(BlackScholes):
    """Builds on the domain of its base."""

    @property
    def domain(self):
        return super().domain.replacing(t=Box(0, 3))


def test_a_domain_made_from_that_of_the_base_can_be_replaced_too():
    assert Longer().domain.measures["t"] == Box(0, 3)
    assert Longer().on(t=Box(0, 4)).domain.measures["t"] == Box(0, 4)


def test_a_greek_is_a_signed_derivative():
    assert BlackScholes().greeks["theta"] == Greek(("t",), sign=-1.0)
    assert Greek(("x", "x")).sign == 1.0
