"""Call on a basket of 20 correlated assets with skews:  dSᵢ = σᵢ (β Sᵢ + (1 − β) 100) dWᵢ."""

from dataclasses import dataclass
from pathlib import Path

import torch

import feynkac as fk
from feynkac.user_files import import_file

baskets = import_file(f"{Path(__file__).parent}/references/baskets.py")

AREA = "equity"
METHOD = "quasi-Monte Carlo"
INPUTS = 128
DIM = 20


@dataclass(frozen=True)
class SkewBasket(fk.Family, fk.Rate, fk.NoiseDimension):
    noise_dim = DIM + 1

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(80.0, 120.0, shape=(DIM,)),
            t=fk.Box(0.1, 2.0),
            sigma=fk.Box(0.1, 0.4),
            beta=fk.Box(0.2, 0.9),
            rho=fk.Box(0.1, 0.8),
            strike=fk.Box(90.0, 110.0),
            rate=fk.Box(0.0, 0.05),
        )

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        level = p.beta * x + (1.0 - p.beta) * 100.0
        spread = torch.linspace(0.7, 1.3, DIM, dtype=x.dtype, device=x.device)
        noise = p.rho.sqrt() * dw[..., :1] + (1.0 - p.rho).sqrt() * dw[..., 1:]
        return p.sigma * spread * level * noise

    def initial(self, x, p):
        return (x.mean(-1, keepdim=True) - p.strike).clamp_min(0.0)


def reference(x, t, p):
    """Displaced lognormal prices are drawn exactly; the mean along the basket's axis is exact."""
    return baskets.displaced(x, t, p)
