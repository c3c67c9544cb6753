r"""A scheme of your own: Heun's method, of weak order 2 if the noise is additive.

    x̂ = x + μ(x) h + σ ΔW,    x ← x + ½ (μ(x) + μ(x̂)) h + σ ΔW.

Run it:          python examples/heun.py
From a shell:    feynkac --use examples/heun.py solve ornstein-uhlenbeck --scheme heun:8
"""

from dataclasses import dataclass
from typing import ClassVar

import feynkac as fk


@dataclass(frozen=True)
class Heun(fk.Scheme):
    """Two evaluations of the drift per step."""

    order: ClassVar[int] = 2
    steps: int = 8

    @property
    def draws(self):
        """Number of normal vectors per path."""
        return self.steps

    def terminal(self, family, x, t, p, z):
        """State at time t.  Shape: x (…, d), t (…, 1), z (steps, …, m) → (…, d)."""
        h = t / self.steps
        for normal in z.unbind(0):
            drift, noise = family.drift(x, p), family.diffusion(x, h.sqrt() * normal, p)
            ahead = family.drift(x + h * drift + noise, p)
            x = x + 0.5 * h * (drift + ahead) + noise
        return x

    def check(self, family):
        """Accept any family; if the noise depends on x, the order is 1."""


if __name__ == "__main__":
    method = fk.Fast(scheme=Heun(steps=8), paths=64)
    solution = fk.solve(fk.OrnsteinUhlenbeck(), method, steps=50, evaluations=1)
    print(f"of the scheme {solution.manifest.discretisation.l1:.1e}")
    print(f"L1 error      {solution.error(2000).l1:.1e} after 50 steps; take more")
