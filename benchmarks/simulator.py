r"""What simulating a user's family costs beside a loop written by hand for it.

Both take the same steps from the same inputs with the same normals, and their numbers are compared
in float64. The hand has what it likes: one tensor per coordinate, paths along the last
axis, normals in that layout before its time starts, derivatives of σ by pen and paper, no checks.
The library has the zoo's file and nothing else.

- values: what each of N·K paths earns, without gradients;
- slopes: the mean over K paths and its pathwise derivatives by all inputs, one reverse sweep.

Both are timed in turns in one process and on one thread, so that a busy machine slows both; medians
are compared, in nanoseconds per path and step.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch
from torch import Tensor

from feynkac.benchmarks.zoo_members import choose_members
from feynkac.families.family import Family, noise_dim
from feynkac.families.point import Params
from feynkac.sampling.generators import make_generator
from feynkac.sampling.labels import differential_labels, payoffs
from feynkac.sampling.noise.noise import Draw, Shape, of_fewer_steps
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.extrapolated_euler import ExtrapolatedEuler
from feynkac.sampling.schemes.ninomiya_victoir import NinomiyaVictoir
from feynkac.sampling.schemes.scheme import Scheme

TARGET = 3.0

Loop = Callable[[Tensor, Tensor, Params, Tensor], Tensor]
"""Shape: x `(d, N, 1)`, t and parameters `(N, 1)`, z `(steps, m, N, K)` → `(N, K)`."""


def schoebel_zhu(x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
    """dS = v S dW₁,  dv = κ(θ − v) dt + ξ dW₂."""
    (price, v), h = x, t / len(z)
    root, rest = h.sqrt(), (1.0 - p.rho**2).sqrt()
    for one, two in z:
        first = root * one
        second = p.rho * first + rest * (root * two)
        price, v = price + v * price * first, v + h * p.kappa * (p.theta - v) + p.xi * second
    return (price - p.strike).clamp_min(0.0)


def arithmetic_asian(x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
    """dS = r S dt + σ S dW,  dA = S dt."""
    (price, area), h = x, t / len(z)
    growth, noise = h * p.rate, h.sqrt() * p.sigma
    for (one,) in z:
        area, price = area + h * price, price + growth * price + noise * price * one
    return (-p.rate * t).exp() * (area - p.strike).clamp_min(0.0)


def skew_basket(x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
    """dSᵢ = σᵢ (β Sᵢ + (1 − β) 100) dWᵢ, one common factor."""
    h = t / len(z)
    sigma = p.sigma * torch.linspace(0.7, 1.3, len(x), dtype=x.dtype)[:, None, None]
    common, own = (h * p.rho).sqrt(), (h * (1.0 - p.rho)).sqrt()
    for step in z:
        noise = common * step[0] + own * step[1:]
        x = x + sigma * (p.beta * x + (1.0 - p.beta) * 100.0) * noise
    return (-p.rate * t).exp() * (x.mean(0) - p.strike).clamp_min(0.0)


def local_volatility(x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
    """dS = r S ds + σ (1 + skew tanh(1 − S/100)) (1 + term e^{−s}) S dW, s = 2 − t."""
    (x,), h = x, t / len(z)
    for k, (one,) in enumerate(z):
        level = p.sigma * (1.0 + p.term * (t - (k + 0.5) * h - 2.0).exp())
        volatility = level * (1.0 + p.skew * (1.0 - x / 100.0).tanh())
        x = x + h * p.rate * x + volatility * x * (h.sqrt() * one)
    return (-p.rate * t).exp() * (x - p.strike).clamp_min(0.0)


def gibson_schwartz(x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
    """dS = (r − δ) S dt + σ S dW₁,  dδ = κ(α − δ) dt + η dW₂."""
    (price, delta), h = x, t / len(z)
    root, rest = h.sqrt(), (1.0 - p.rho**2).sqrt()
    for one, two in z:
        first = root * one
        second = p.rho * first + rest * (root * two)
        price, delta = (
            price + h * (p.rate - delta) * price + p.sigma * price * first,
            delta + h * p.kappa * (p.alpha - delta) + p.eta * second,
        )
    return (-p.rate * t).exp() * (price - p.strike).clamp_min(0.0)


def underdamped_langevin(x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
    """dx = v dt,  dv = −(γv + kx) dt + √(2γT) dW."""
    (place, speed), h = x, t / len(z)
    noise = (2.0 * p.friction * p.temperature * h).sqrt()
    for (one,) in z:
        force = p.friction * speed + p.stiffness * place
        place, speed = place + h * speed, speed - h * force + noise * one
    return (-2.0 * (place - 0.5).square()).exp()


def variable_diffusivity(x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
    """dX = −D b X dt + √(2D(1 + b)) dW,  b = α e^{−|X|²/2}."""
    h = t / len(z)
    root = h.sqrt()
    for step in z:
        bump = p.alpha * (-0.5 * x.square().sum(0)).exp()
        x = (
            x
            - h * p.diffusivity * bump * x
            + (2.0 * p.diffusivity * (1.0 + bump)).sqrt() * (root * step)
        )
    return (-0.5 * x.square().sum(0) / p.width).exp()


def langevin_flows(x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
    """Ninomiya–Victoir with additive noise: half a step of the drift by Runge and Kutta's rule,
    the noise, another half."""
    (place, speed), h = x, t / len(z)
    noise = (2.0 * p.friction * p.temperature * h).sqrt()

    def drift(place: Tensor, speed: Tensor) -> tuple[Tensor, Tensor]:
        return speed, -p.friction * speed - p.stiffness * place

    def half(x: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        a, b = drift(x, v)
        c, d = drift(x + 0.25 * h * a, v + 0.25 * h * b)
        e, f = drift(x + 0.25 * h * c, v + 0.25 * h * d)
        g, i = drift(x + 0.5 * h * e, v + 0.5 * h * f)
        sixth = h / 12.0
        return x + sixth * (a + 2.0 * (c + e) + g), v + sixth * (b + 2.0 * (d + f) + i)

    for (one,) in z:
        place, speed = half(place, speed)
        place, speed = half(place, speed + noise * one)
    return (-2.0 * (place - 0.5).square()).exp()


def local_flows(x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
    """Ninomiya–Victoir in one dimension: flows of μ − ½ σ'σ and of σ by Runge and Kutta's rule."""
    (x,), h = x, t / len(z)
    for k, (one,) in enumerate(z):
        level = p.sigma * (1.0 + p.term * (t - (k + 0.5) * h - 2.0).exp())

        def drift(x: Tensor, level: Tensor = level) -> Tensor:
            bend = (1.0 - x / 100.0).tanh()
            sigma = level * (1.0 + p.skew * bend)
            slope = sigma - level * p.skew * (1.0 - bend.square()) * x / 100.0
            return p.rate * x - 0.5 * slope * sigma * x

        def noise(x: Tensor, level: Tensor = level) -> Tensor:
            return level * (1.0 + p.skew * (1.0 - x / 100.0).tanh()) * x

        x = runge_kutta(drift, x, 0.5 * h)
        half = 0.5 * h.sqrt() * one
        x = runge_kutta(noise, runge_kutta(noise, x, half), half)
        x = runge_kutta(drift, x, 0.5 * h)
    return (-p.rate * t).exp() * (x - p.strike).clamp_min(0.0)


def runge_kutta(field: Callable[[Tensor], Tensor], x: Tensor, h: Tensor) -> Tensor:
    """One step of order 4."""
    a = field(x)
    b = field(x + 0.5 * h * a)
    c = field(x + 0.5 * h * b)
    return x + h / 6.0 * (a + 2.0 * (b + c) + field(x + h * c))


def extrapolated(loop: Loop) -> Loop:
    """2 Y_n − Y_{n/2} on the same path."""
    return lambda x, t, p, z: 2.0 * loop(x, t, p, z) - loop(x, t, p, of_fewer_steps(z, len(z) // 2))


@dataclass(frozen=True)
class Row:
    """A member of the zoo, a scheme and the same by hand."""

    member: str
    scheme: Scheme
    hand: Loop


EULER = EulerMaruyama(steps=16)
ROWS = (
    Row("schoebel-zhu", EULER, schoebel_zhu),
    Row("arithmetic-asian", EULER, arithmetic_asian),
    Row("skew-basket", EULER, skew_basket),
    Row("local-volatility", EULER, local_volatility),
    Row("gibson-schwartz", EULER, gibson_schwartz),
    Row("underdamped-langevin", EULER, underdamped_langevin),
    Row("variable-diffusivity", EULER, variable_diffusivity),
    Row("schoebel-zhu", ExtrapolatedEuler(steps=16), extrapolated(schoebel_zhu)),
    Row("underdamped-langevin", NinomiyaVictoir(steps=4, noise="additive"), langevin_flows),
    Row("local-volatility", NinomiyaVictoir(steps=4, noise="diagonal"), local_flows),
)


@dataclass(frozen=True)
class Case:
    """Both sides of a row at the same inputs and normals."""

    family: Family
    row: Row
    inputs: Tensor
    draw: Draw
    """Normals as a run draws them, `(draws, N, K, m)`."""

    @classmethod
    def at_random(
        cls, row: Row, inputs: int, paths: int, dtype: torch.dtype = torch.float32
    ) -> "Case":
        family = choose_members([row.member])[0].family
        generator = make_generator(0, "simulator")
        points = family.domain.sample(inputs, generator, dtype)
        shape = Shape(inputs, paths, row.scheme.draws, noise_dim(family), row.scheme.increments)
        return cls(family, row, points, Sobol().draw(shape, generator, dtype))

    def ways(self) -> dict[str, Callable[[], Any]]:
        """What is timed, by its name in a record; the library's next to the hand's."""
        family, scheme, z = self.family, self.row.scheme, self.draw.z
        first = z.permute(0, 3, 1, 2).contiguous()

        def by_hand(inputs: Tensor) -> Tensor:
            x, t, p = family.domain.split(inputs)
            return self.row.hand(x.T.unsqueeze(-1), t, p, first)

        def slopes_by_hand() -> tuple[Tensor, Tensor]:
            leaf = self.inputs.detach().requires_grad_()
            values = by_hand(leaf).mean(-1, keepdim=True)
            return values.detach(), torch.autograd.grad(values.sum(), leaf)[0]

        return {
            "values_hand": torch.no_grad()(lambda: by_hand(self.inputs).unsqueeze(-1)),
            "values": torch.no_grad()(lambda: payoffs(family, scheme, self.inputs, z)),
            "slopes_hand": slopes_by_hand,
            "slopes": lambda: differential_labels(family, scheme, self.inputs, self.draw),
        }


def difference(row: Row) -> float:
    """The largest difference of both sides in float64, relative to the largest value or slope."""
    found = {k: f() for k, f in Case.at_random(row, 16, 32, torch.float64).ways().items()}
    pairs = zip(found["slopes"], found["slopes_hand"], strict=True)
    pairs = [(found["values"], found["values_hand"]), *pairs]
    return max(float((a - b).abs().max() / b.abs().max()) for a, b in pairs)


def measure(row: Row, inputs: int, paths: int, rounds: int) -> dict[str, Any]:
    """Nanoseconds per path and step, taken in turns after a warm-up."""
    torch.zeros(2**21, dtype=torch.float64)  # freed at once, as in a run: memory is then reused
    ways = Case.at_random(row, inputs, paths).ways()
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds + 1):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            times[name].append(time.perf_counter() - start)
    unit = 1e9 / (inputs * paths * row.scheme.steps)
    found = {name: unit * median(taken[1:]) for name, taken in times.items()}
    return {
        "family": row.member,
        "scheme": f"{type(row.scheme).__name__}, {row.scheme.steps} steps",
        **{f"{name}_ns": value for name, value in found.items()},
        "values_ratio": found["values"] / found["values_hand"],
        "slopes_ratio": found["slopes"] / found["slopes_hand"],
        "difference": difference(row),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """In Markdown."""
    lines = [
        "| family | scheme | values by hand | library | ratio | slopes by hand | library | ratio |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = [row["family"], row["scheme"]]
        for what in ("values", "slopes"):
            cells += [f"{row[f'{what}_hand_ns']:.1f} ns", f"{row[f'{what}_ns']:.1f} ns"]
            cells += [f"{row[f'{what}_ratio']:.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=64)
    parser.add_argument("--paths", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", nargs="*", default=[], help="members of the zoo")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    torch.set_num_threads(1)
    chosen = [row for row in ROWS if not given.only or row.member in given.only]
    rows = [measure(row, given.inputs, given.paths, given.rounds) for row in chosen]
    worst = max(max(row["values_ratio"], row["slopes_ratio"]) for row in rows)
    if given.json:
        print(json.dumps({"inputs": given.inputs, "paths": given.paths, "rows": rows}))
        return
    print(table(rows))
    print(f"\nlargest ratio {worst:.2f} (target at most {TARGET:g})")


if __name__ == "__main__":
    main()
