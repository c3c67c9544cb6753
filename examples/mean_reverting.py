r"""A family of your own: d independent mean-reverting (Ornstein–Uhlenbeck) coordinates,

    dS = −κ S dt + σ dB,   φ(x) = ‖x‖²,     u = ρ² ‖x‖² + d σ² (1 − ρ²) / (2κ),   ρ = e^{−κt}.

Run it:          python examples/mean_reverting.py
From a shell:    feynkac solve examples/mean_reverting.py:MeanReverting --dim 3 --budget 60s
"""

from dataclasses import dataclass

import feynkac as fk


@dataclass(frozen=True)
class MeanReverting(fk.Family, fk.ExactSampler, fk.ClosedForm):
    """Pulled to zero at the rate kappa, shaken by sigma; inputs x, t, kappa, sigma."""

    dim: int = 10

    @property
    def domain(self):
        """All (x, t, κ, σ) that the network must answer for."""
        return fk.Domain(
            x=fk.Box(-1.0, 1.0, shape=(self.dim,)),
            t=fk.Box(0.0, 1.0),
            kappa=fk.Box(0.5, 2.0),
            sigma=fk.Box(0.1, 0.6),
        )

    # A family needs only these three formulas and the domain.

    def drift(self, x, p):
        """−κ x."""
        return -p.kappa * x

    def diffusion(self, x, dw, p):
        """σ dw."""
        return p.sigma * dw

    def initial(self, x, p):
        """‖x‖²."""
        return x.square().sum(-1, keepdim=True)

    # These two are optional: they replace the Euler steps and the Monte Carlo reference.

    def exact(self, x, t, p, z):
        """S_t is normal with mean ρ x and variance σ² (1 − ρ²) / (2κ)."""
        rho = (-p.kappa * t).exp()
        return rho * x + p.sigma * ((1 - rho.square()) / (2 * p.kappa)).sqrt() * z

    def closed_form(self, x, t, p):
        """E ‖S_t‖²."""
        rho2 = (-2 * p.kappa * t).exp()
        return rho2 * self.initial(x, p) + self.dim * p.sigma.square() * (1 - rho2) / (2 * p.kappa)


def main():
    """Solve in a few seconds, then print a value, derivatives and the error."""
    solution = fk.solve(MeanReverting(dim=3), steps=100, evaluations=1, seed=0)
    at = {"x": [0.5, -0.5, 0.2], "t": 0.5, "kappa": 1.0, "sigma": 0.3}
    family, inputs = solution.family, solution.family.domain.join(at)
    print(f"u          {solution(**at):.4f}")
    print(f"exact      {family.closed_form(*family.domain.split(inputs)).item():.4f}")
    print(f"∂u/∂kappa  {solution.grad('kappa', **at):.4f}")
    print(f"∂u/∂x      {[round(v, 3) for v in solution.grad('x', **at).tolist()]}")
    errors = solution.error()
    print(f"L1 error   {errors.l1:.4f} ± {errors.l1_se:.4f}")
    print(f"(a linear fit has {errors.linear_baseline:.4f})")


if __name__ == "__main__":
    main()
