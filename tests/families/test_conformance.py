"""Is a family well-formed? Good ones pass; each way to be ill-formed has its sentence."""

from dataclasses import dataclass

import pytest
import torch

from feynkac.errors import InputError
from feynkac.families import Box, ClosedForm, Domain, ExactSampler, Family
from feynkac.families.catalogue import BUILT_IN
from feynkac.families.conformance import check_family


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
    check_family(cls())


@pytest.mark.parametrize("cls", BUILT_IN.values())
@pytest.mark.parametrize("dim", [1, 2, 4])
def test_built_in_families_pass_at_any_dimension(cls, dim):
    check_family(cls(dim=dim))


@pytest.mark.parametrize(
    ("method", "formula", "message"),
    [
        ("drift", lambda s, x, p: x[..., :1], r"must return shape \(16, 3\), got \(16, 1\)"),
        ("drift", lambda s, x, p: p.a, r"must return shape \(16, 3\), got \(16, 1\)"),
        ("diffusion", lambda s, x, dw, p: p.m @ dw[..., None], r"\(16, 3\), got \(16, 3, 1\)"),
        (
            "initial",
            lambda s, x, p: x.mean(-1),
            r"must return shape \(16, 1\), got \(16,\) \(keepdim=True keeps the last axis\)",
        ),
        ("exact", lambda s, x, t, p, z: t + 0.0 * z[..., 0], r"\(16, 3\), got \(16, 16\)"),
        ("closed_form", lambda s, x, t, p: x, r"must return shape \(16, 1\), got \(16, 3\)"),
        ("drift", lambda s, x, p: 0.0, "must return a tensor, got float"),
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
        check_family(changed(**{method: formula}))


def test_a_formula_for_one_leading_axis_only_is_refused():
    family = changed(drift=lambda s, x, p: p.a[:, :1] + torch.zeros(16, 3))
    with pytest.raises(
        InputError, match=r"drift must return shape \(16, 5, 3\), got \(16, 16, 3\)"
    ):
        check_family(family)


@pytest.mark.parametrize(
    ("domain", "kind"), [(lambda s: Mean().domain, "method"), ("everywhere", "str"), (None, "None")]
)
def test_the_domain_is_a_property_that_returns_one(domain, kind):
    with pytest.raises(InputError, match=f"Broken.domain must be a property.*got {kind}"):
        check_family(changed(domain=domain))


def test_a_bad_box_in_the_domain_keeps_its_own_sentence():
    domain = property(lambda s: Domain(x=Box(1, 0), t=Box(0, 1)))
    with pytest.raises(InputError, match="Box needs lower < upper"):
        check_family(changed(domain=domain))
