"""Scaling symmetries: of the catalogue as the books say, and of closed forms."""

import pytest
import torch

import feynkac as fk
from feynkac.families.scaling import scalings

TIME = {"t": 1.0, "sigma": -0.5}
LEVEL = {"x": 1.0, "strike": 1.0}
KNOWN = {
    fk.BlackScholes(): [(LEVEL, 1.0), (TIME, 0.0)],
    fk.BlackScholesMerton(): [(LEVEL, 1.0), (TIME | {"rate": -1.0, "dividend": -1.0}, 0.0)],
    fk.Digital(): [(LEVEL, 0.0), (TIME | {"rate": -1.0, "dividend": -1.0}, 0.0)],
    fk.Cev(): [(TIME | {"rate": -1.0}, 0.0)],
    fk.Spread(): [
        ({"x[0]": 1.0, "x[1]": 1.0, "strike": 1.0}, 1.0),
        ({"t": 1.0, "sigma[0]": -0.5, "sigma[1]": -0.5, "rate": -1.0}, 0.0),
    ],
    fk.DoubleWell(): [],
}


@pytest.mark.parametrize("family", KNOWN, ids=lambda family: family.name())
def test_the_symmetries_of_the_catalogue(family):
    found = sorted((sorted(s.exponents.items()), s.value) for s in scalings(family))
    assert found == sorted((sorted(e.items()), w) for e, w in KNOWN[family])


@pytest.mark.parametrize(
    "family", [fk.Barrier(), fk.Heston(), fk.Bachelier(), fk.OrnsteinUhlenbeck(dim=2), fk.Channel()]
)
def test_closed_forms_have_them(family, generator):
    domain = family.domain
    inputs = domain.sample(64, generator, torch.float64)
    assert scalings(family)
    for scaling in scalings(family):
        moved = inputs.clone()
        for name, exponent in scaling.exponents.items():
            moved[:, domain.place(name).columns] *= 1.3**exponent
        before, after = (family.closed_form(*domain.split(v)) for v in (inputs, moved))
        torch.testing.assert_close(after, 1.3**scaling.value * before, rtol=1e-8, atol=1e-9)
