"""The JSON of weights, read by a forward pass in numpy that knows nothing but the format."""

import json
import math

import numpy as np
from scipy.stats import norm

import feynkac as fk

ACTIVATIONS = {
    "relu": lambda h: np.maximum(h, 0.0),
    "silu": lambda h: h / (1.0 + np.exp(-h)),
    "exp": np.exp,
    "tanh": np.tanh,
    "gelu": lambda h: 0.5 * h * (1.0 + np.vectorize(math.erf)(h / 2**0.5)),
}


def affine(part, h):
    return np.array(part["weight"]) @ h + np.array(part["bias"])


def run(stages, h):
    """One row through all stages, as docs/export.md says."""
    for stage in stages:
        h = STEPS[stage["kind"]](stage, h.copy())
    return h


def order(stage, h):
    start, stop = stage["places"][0]
    found = np.argsort(h[start:stop], kind="stable")
    for a, b in stage["places"]:
        h[a:b] = h[a:b][found]
    return h


def column(function):
    def step(stage, h):
        h[stage["columns"]] = function(np.maximum(h[stage["columns"]], stage["floor"]))
        return h

    return step


def activate(stage, h):
    waves = stage["waves"]
    return np.concatenate([np.sin(h[:waves]), ACTIVATIONS[stage["function"]](h[waves:])])


def layer_norm(stage, h):
    z = (h - h.mean()) / np.sqrt(h.var() + stage["epsilon"])
    return np.array(stage["weight"]) * z + np.array(stage["bias"])


def levels(stage, x):
    above, total = None, 0.0
    for entry, *layers in reversed(stage["levels"]):
        made = [run(entry, x)]
        for i, layer in enumerate(layers, start=1):
            receives = stage["residual"] and above is not None and i >= 2
            made.append(run(layer, made[-1] + above[2 * i - 2] if receives else made[-1]))
        total, above = total + made[-1], made
    return total


def radius(stage, h):
    count = stage["count"]
    return np.concatenate([[np.sqrt((h[:count] ** 2).sum() + stage["floor"])], h[count:]])


def units(stage, h):
    q = np.log(np.maximum(h[stage["pivots"]], stage["floor"]))
    factors = np.exp(q @ np.array(stage["powers"]))
    return run(stage["stages"], h[stage["kept"]] * factors[:-1]) * factors[-1]


def option(stage, h):
    growth, rates, powers = (np.array(stage[name]) for name in ("growth", "rates", "powers"))
    t, sign, K = h[stage["time"]], stage["sign"], h[stage["strike"]]
    F = h[stage["asset"]] * np.exp(t * growth @ h)
    guess = stage["factor"] * np.sqrt(t) * np.exp(powers @ np.log(np.maximum(h, stage["floor"])))
    w = guess * np.exp(run(stage["stages"], h))
    black = stage["formula"] == "black"
    distance = np.log(F / K) if black else F - K
    v = np.maximum(np.maximum(w, abs(distance) / stage["far"]), stage["least"])
    d = distance / v
    price = sign * distance * norm.cdf(sign * d) + w * norm.pdf(d)
    if black:
        up, down = norm.cdf(sign * (d + v / 2)), norm.cdf(sign * (d - v / 2))
        price = sign * (F * up - K * down)
    return np.exp(-t * rates @ h) * price


STEPS = {
    "option": option,
    "radius": radius,
    "units": units,
    "order": order,
    "root": column(np.sqrt),
    "log": column(np.log),
    "normalise": lambda s, h: (h - np.array(s["mean"])) * np.array(s["factor"]),
    "linear": affine,
    "products": lambda s, h: np.concatenate([h, affine(s["first"], h) * affine(s["second"], h)]),
    "activate": activate,
    "layer-norm": layer_norm,
    "levels": levels,
    "scale": lambda s, h: np.array(s["shift"]) + np.array(s["scale"]) * h,
}


def test_a_reader_of_the_format_computes_the_same(each, drawn, tmp_path):
    data = json.loads(fk.export(each, tmp_path / "u.json").read_text())
    inputs = drawn(each, 20)
    found = np.stack([run(data["stages"], row) for row in inputs.numpy()])
    np.testing.assert_allclose(found, each.exactly(inputs).detach(), rtol=1e-6, atol=1e-6)


def test_names_domain_error_and_greeks_are_in_it(put, tmp_path):
    data = json.loads(fk.export(put, tmp_path / "u.json").read_text())
    assert (data["format"], data["version"]) == ("feynkac-network", 1)
    assert data["inputs"] == ["x", "t", "sigma", "strike"]
    assert (data["low"][0], data["high"][0]) == (9.0, 10.0)
    assert data["error"]["l1"] == put.manifest.history[-1]["l1"]
    assert {"name": "theta", "columns": [1], "sign": -1.0} in data["greeks"]
