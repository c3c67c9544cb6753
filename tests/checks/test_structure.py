"""Is a family well-formed? Good ones pass; each way to be ill-formed has its sentence."""

from dataclasses import dataclass

import pytest
import torch
from small_family import small

from feynkac.checks.checkup import check, require_sound
from feynkac.errors import InputError
from feynkac.families import Box, ClosedForm, Domain, ExactSampler, Family
from feynkac.families.capabilities import (
    BoundaryValue,
    Discount,
    NoiseDimension,
    OwnSteps,
    Pays,
    Source,
    TimeDependent,
    VectorValued,
)
from feynkac.families.catalogue import BUILT_IN
from feynkac.families.payoff import Payoff


@dataclass(frozen=True)
class Mean(Family, ExactSampler, ClosedForm):
    """Brownian motion with drift a; u is the mean of x + a t. Well-formed."""

    @property
    def domain(self):
        return Domain(x=Box(0, 1, shape=(3,)), t=Box(0, 1), a=Box(0, 1), m=Box(0, 1, shape=(3, 3)))

    def drift(self, x, p):
        return p.a + 0.0 * x

    def diffusion(self, x, dw, p):
        return dw

    def initial(self, x, p):
        return x.mean(-1, keepdim=True)

    def exact(self, x, t, p, z):
        return x + p.a * t + t.sqrt() * z

    def closed_form(self, x, t, p):
        return x.mean(-1, keepdim=True) + p.a * t


def changed(**members):
    """`Mean` with some members replaced."""
    return type("Broken", (Mean,), members)()


@pytest.mark.parametrize("cls", [Mean, *BUILT_IN.values()])
def test_well_formed_families_pass(cls):
    require_sound(cls())


@pytest.mark.parametrize("cls", [c for c in BUILT_IN.values() if "dim" in c.__dataclass_fields__])
@pytest.mark.parametrize("dim", [1, 2, 4])
def test_built_in_families_pass_at_any_dimension(cls, dim):
    require_sound(cls(dim=dim))


@pytest.mark.parametrize(
    ("method", "formula", "message"),
    [
        ("drift", lambda s, x, p: x[..., :2], r"must return shape \(16, 3\), got \(16, 2\)"),
        ("diffusion", lambda s, x, dw, p: p.m @ dw[..., None], r"\(16, 3\), got \(16, 3, 1\)"),
        (
            "initial",
            lambda s, x, p: x.mean(-1),
            r"must return shape \(16, 1\), got \(16,\) \(keepdim=True keeps the last axis\)",
        ),
        ("exact", lambda s, x, t, p, z: t + 0.0 * z[..., 0], r"\(16, 3\), got \(16, 16\)"),
        ("closed_form", lambda s, x, t, p: x, r"must return shape \(16, 1\), got \(16, 3\)"),
        ("drift", lambda s, x, p: "0", "must return a tensor, got str"),
        ("initial", lambda s, x, p: None, "must return a tensor, got NoneType"),
        (
            "drift",
            lambda s, x, p: x.double(),
            "must keep the dtype torch.float32, got torch.float64",
        ),
        (
            "drift",
            lambda s, x, p: p.b * x,
            "AttributeError: there is no parameter 'b' in the domain",
        ),
        ("diffusion", lambda s, x, dw, p: p.m @ dw, r"leading shape \(16,\): RuntimeError: "),
        ("drift", lambda s, x: x, "TypeError: .*takes 2 positional arguments but 3 were given"),
        ("drift", lambda s, x, p: x / 0.0, "is not finite everywhere in the domain"),
        ("initial", lambda s, x, p: (x.mean(-1, keepdim=True) - 9).sqrt(), "is not finite"),
        ("closed_form", lambda s, x, t, p: torch.full_like(t, torch.nan), "is not finite"),
    ],
)
def test_an_ill_formed_formula_is_named(method, formula, message):
    with pytest.raises(InputError, match=rf"Broken\.{method} .*{message}"):
        require_sound(changed(**{method: formula}))


def test_a_formula_for_one_leading_axis_only_is_refused():
    family = changed(drift=lambda s, x, p: p.a[:, :1] + torch.zeros(16, 3))
    with pytest.raises(
        InputError, match=r"drift must return shape \(16, 5, 3\), got \(16, 16, 3\)"
    ):
        require_sound(family)


@pytest.mark.parametrize(
    ("domain", "kind"), [(lambda s: Mean().domain, "method"), ("everywhere", "str"), (None, "None")]
)
def test_the_domain_is_a_property_that_returns_one(domain, kind):
    with pytest.raises(InputError, match=f"Broken.domain must be a property.*got {kind}"):
        require_sound(changed(domain=domain))


def test_a_bad_box_in_the_domain_keeps_its_own_sentence():
    domain = property(lambda s: Domain(x=Box(1, 0), t=Box(0, 1)))
    with pytest.raises(InputError, match="Box needs lower < upper"):
        require_sound(changed(domain=domain))


@dataclass(frozen=True)
class Everything(
    Mean,
    Discount,
    Source,
    BoundaryValue,
    TimeDependent,
    NoiseDimension,
    VectorValued,
    Pays,
    OwnSteps,
):
    """All capabilities at once, reading p.t in every formula of the equation. Well-formed."""

    payoff: Payoff = Payoff("put")
    noise_dim = 4
    outputs = 2

    def drift(self, x, p):
        return (p.a + p.t) * x

    def diffusion(self, x, dw, p):
        return (1.0 + p.t) * (dw[..., :1] + dw[..., 1:])

    def initial(self, x, p):
        return self.payoff(x, p.a) * p.m[..., 0, :2] + p.t

    def discount(self, x, p):
        return p.t + x[..., :1]

    def source(self, x, p):
        return p.t * x[..., :2]

    def distance(self, x, p):
        return torch.cat([1.0 + x, 2.0 - x], dim=-1) + p.t

    def boundary_value(self, x, p):
        return x[..., 1:] * p.t

    def exact(self, x, t, p, z):
        return x + t.sqrt() * z[..., 1:]

    def step(self, x, h, p, z):
        return x + (h * p.t).sqrt() * z[..., :3]

    def closed_form(self, x, t, p):
        return x[..., :2] * t


def deprived(**members):
    """`Everything` with some members replaced."""
    return type("Broken", (Everything,), members)()


def test_a_family_with_every_capability_passes():
    require_sound(Everything())


@pytest.mark.parametrize(
    ("method", "formula", "message"),
    [
        ("discount", lambda s, x, p: x, r"must return shape \(16, 1\), got \(16, 3\)"),
        (
            "discount",
            lambda s, x, p: x[..., 0],
            r"got \(16,\) \(keepdim=True keeps the last axis\)",
        ),
        ("source", lambda s, x, p: x, r"must return shape \(16, 2\), got \(16, 3\)"),
        ("distance", lambda s, x, p: x[..., 0], r"must return shape \(16, walls\), got \(16,\)"),
        ("distance", lambda s, x, p: x[..., :0], r"\(16, walls\), got \(16, 0\)"),
        ("boundary_value", lambda s, x, p: x, r"must return shape \(16, 2\), got \(16, 3\)"),
        ("step", lambda s, x, h, p, z: z, r"must return shape \(16, 3\), got \(16, 4\)"),
        ("step", lambda s, x, h, p, z: x, r"must return shape \(16, 5, 3\), got \(16, 1, 3\)"),
        ("closed_form", lambda s, x, t, p: x, r"must return shape \(16, 2\), got \(16, 3\)"),
        ("closed_form", lambda s, x, t, p: p.t, "p.t is for families that are TimeDependent"),
        ("source", lambda s, x, p: x[..., :2].double(), "must keep the dtype torch.float32"),
        ("discount", lambda s, x, p: x[..., :1] / 0.0, "is not finite everywhere"),
        ("distance", lambda s, x, p: x.float(), "must keep the dtype torch.float64"),
        (
            "diffusion",
            lambda s, x, dw, p: x * dw,
            "has a σ of the wrong width: it takes dw of length 3, but there are 4 Brownian",
        ),
        (
            "diffusion",
            lambda s, x, dw, p: dw,
            "has a σ of the wrong width: it takes dw of length 3, but there are 4 Brownian",
        ),
        (
            "diffusion",
            lambda s, x, dw, p: dw.reshape(*dw.shape[:-1], 3, 2).sum(-1),
            "has a σ of the wrong width: it takes dw of length 6, .* with noise_dim = 6",
        ),
        ("diffusion", lambda s, x, dw, p: dw[..., 1:].square(), "is not linear in dw"),
        ("diffusion", lambda s, x, dw, p: x + dw[..., 1:], "is not linear in dw"),
    ],
)
def test_an_ill_formed_capability_is_named(method, formula, message):
    with pytest.raises(InputError, match=rf"Broken\.{method} .*{message}"):
        require_sound(deprived(**{method: formula}))


@pytest.mark.parametrize(
    ("attribute", "value", "message"),
    [
        ("noise_dim", 0, "must be a whole number ≥ 1, got 0"),
        ("noise_dim", 4.0, r"must be a whole number ≥ 1, got 4\.0"),
        ("outputs", True, "must be a whole number ≥ 1, got True"),
        ("outputs", property(lambda s: s.nothing), "fails: AttributeError: .*'nothing'"),
        ("payoff", "put", r"must be a Payoff, such as Payoff\('call'\), got 'put'"),
        ("domain", property(lambda s: 1 / 0), "fails: ZeroDivisionError"),
    ],
)
def test_an_ill_formed_declaration_is_named(attribute, value, message):
    family = deprived(**{attribute: value})
    if attribute == "payoff":
        object.__setattr__(family, "payoff", value)  # a field of the dataclass
    with pytest.raises(InputError, match=rf"Broken\.{attribute} {message}"):
        require_sound(family)


# Values


def test_a_square_root_of_a_negative_number_is_named_with_its_input():
    family = changed(diffusion=lambda s, x, dw, p: (p.a - 0.5).sqrt() * dw)
    with pytest.raises(InputError, match=r"at x = \[.*\], t = .*, a = (\S+), m = .*") as caught:
        require_sound(family)
    at = float(str(caught.value).split("a = ")[1].split(",")[0])
    root = float(str(caught.value).split("the square root of ")[1].split(";")[0])
    assert at < 0.5
    assert root == pytest.approx(at - 0.5, abs=1e-4)


@pytest.mark.parametrize(
    ("formula", "origin"),
    [
        (lambda s, x, t, p: x.mean(-1, keepdim=True) / t, r"t = 0, .*\S+ divided by 0;"),
        (lambda s, x, t, p: x[..., :1] + 0.0 * t.log(), r"t = 0, .*the logarithm of 0;"),
        (lambda s, x, t, p: (1.0 - t).rsqrt() + 0 * x[..., :1], "t = 1, .*root of 0"),
    ],
)
def test_what_is_not_finite_at_a_corner_only_is_seen(formula, origin):
    with pytest.raises(InputError, match=f"closed_form is not finite everywhere .*{origin}"):
        require_sound(changed(closed_form=formula))


def test_a_double_where_is_finite_at_the_corner():
    def closed_form(self, x, t, p):
        return x[..., :1] / torch.where(t > 0, t, torch.ones_like(t))

    require_sound(changed(closed_form=closed_form))


# Rows of a checkup


@pytest.mark.parametrize(
    ("members", "name", "sentence"),
    [
        ({"initial": lambda s, x, p: x.mean(-1)}, "formulas", "must return shape (16, 1)"),
        (
            {"drift": lambda s, x, p: (0.1 - x.abs()).clamp_min(-1.0).sqrt() * torch.nan},
            "formulas",
            "is not finite everywhere",
        ),
        ({"diffusion": lambda s, x, dw, p: x + dw}, "noise", "not linear in dw"),
    ],
)
def test_what_is_wrong_fails_in_its_row(members, name, sentence):
    finding = check(small(**members))[name]
    assert finding.verdict == "fail"
    assert sentence in finding.sentence
    assert not finding.sentence.endswith(".")
