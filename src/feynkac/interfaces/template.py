"""The files that `feynkac new` writes: a family to start from, and its test.

`NAME` stands for the file and `CLASS` for the class.
"""

FAMILY = '''r"""A mean-reverting (Ornstein–Uhlenbeck) state. Replace it by your own equation:

    dS = κ (θ − S) dt + σ dB,    φ(x) = mean of x²,    u(x, t) = E φ(S_t)  for S_0 = x,

or, the same as a PDE,  ∂u/∂t = ½σ² Δu + ⟨κ(θ − x), ∇u⟩,  u(x, 0) = φ(x).

    feynkac check NAME.py:CLASS
    feynkac solve NAME.py:CLASS --budget 20s
"""

from dataclasses import dataclass

import feynkac as fk


@dataclass(frozen=True)
class CLASS(fk.Family, fk.ExactSampler, fk.ClosedForm):
    """Pulled to theta at the rate kappa, shaken by sigma; inputs x, t, kappa, theta, sigma."""

    dim: int = 2  # fields are settings; --dim sets this one

    @property
    def domain(self):
        """All inputs that the network must answer for, one Box per variable."""
        return fk.Domain(
            x=fk.Box(-1.0, 1.0, shape=(self.dim,)),
            t=fk.Box(0.0, 1.0),
            kappa=fk.Box(0.5, 2.0),
            theta=fk.Box(-0.5, 0.5),
            sigma=fk.Box(0.1, 0.6),
        )

    # The equation. x and dw have shape (…, dim), p.kappa has (…, 1). Work along the last axis, so
    # that any leading axes fit.

    def drift(self, x, p):
        """μ(x) = κ (θ − x).  Shape: (…, dim)."""
        return p.kappa * (p.theta - x)

    def diffusion(self, x, dw, p):
        """σ(x) dw, the matrix applied to the vector.  Shape: (…, dim)."""
        return p.sigma * dw

    def initial(self, x, p):
        """φ(x).  Shape: (…, 1), hence keepdim."""
        return x.square().mean(-1, keepdim=True)

    # Optional: S_t in one step, without time steps. If you delete it, remove fk.ExactSampler above.

    def exact(self, x, t, p, z):
        """S_t for standard normal z: mean θ + ρ(x − θ), variance σ² (1 − ρ²) / (2κ)."""
        rho = (-p.kappa * t).exp()
        variance = p.sigma.square() * (1 - rho.square()) / (2 * p.kappa)
        return p.theta + rho * (x - p.theta) + variance.sqrt() * z

    # Optional: u itself. It serves to measure errors; training never uses it. If you delete it,
    # remove fk.ClosedForm above.

    def closed_form(self, x, t, p):
        """E φ(S_t) = mean² + variance.  Shape: (…, 1)."""
        rho = (-p.kappa * t).exp()
        mean = p.theta + rho * (x - p.theta)
        variance = p.sigma.square() * (1 - rho.square()) / (2 * p.kappa)
        return mean.square().mean(-1, keepdim=True) + variance
'''

TEST = '''"""The family in NAME.py: no check fails, and training beats a linear fit."""

import feynkac as fk

from NAME import CLASS


def test_no_check_fails():
    found = fk.check(CLASS())
    assert found.passed, found.failed


def test_a_short_training_beats_a_linear_fit():
    errors = fk.solve(CLASS(), steps=50, evaluations=1, seed=0).error()
    assert errors.l1 < 0.5 * errors.linear_baseline
'''


def filled(template: str, name: str, class_name: str) -> str:
    """The template with both names filled in."""
    return template.replace("NAME", name).replace("CLASS", class_name)
