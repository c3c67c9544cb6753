"""A network in JavaScript has the values and derivatives that torch has."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

import feynkac
import feynkac as fk
from feynkac.analysis.partials import gradient, hessian
from feynkac.exporting.description import _core, _inputs, describe
from feynkac.exporting.head_stages import Option
from feynkac.exporting.layer_stages import Scale
from feynkac.exporting.stage import Chain
from feynkac.families.domain import Domain
from feynkac.families.measures.box import Box
from feynkac.families.measures.fixed import Fixed
from feynkac.families.measures.log_uniform import LogUniform
from feynkac.networks.architecture import Layer
from feynkac.networks.feed_forward import FeedForward
from feynkac.networks.head import Bachelier, Black
from feynkac.networks.multilevel import Multilevel
from feynkac.networks.network import make_network
from feynkac.networks.smooth import Smooth
from feynkac.networks.subspaces import Subspace

MODULE = Path(feynkac.__file__).parent / "interfaces" / "web" / "network.js"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="there is no node on this machine")

DOMAIN = Domain(
    x=Box(1.0, 2.0, shape=(3,)), t=Box(0.0, 1.0), sigma=LogUniform(0.01, 2.0), rate=Fixed(0.03)
)
PAIR = Subspace("x", ((0.6, 0.8, 0.0), (0.0, 0.0, 1.0)))
OPTION = {
    "asset": "x[0]",
    "strike": "x[1]",
    "growth": (("rate", 1.0), ("x[2]", -0.5)),
    "rates": (("rate", 1.0),),
}
BLACK = Black(**OPTION, factor=0.8, powers=(("sigma", 0.5), ("x[0]", -0.4)))
BACHELIER = Bachelier(**OPTION, call=False, powers=(("sigma", 0.5),))
ARCHITECTURES = {
    "smooth": Smooth(width=12, depth=2),
    "products": Smooth(width=12, depth=3, products=4, log_ranges=True),
    "waves": Smooth(width=12, depth=2, frequencies=(1.0, 0.5, 0.2, 2.0, 1.0, 0.0)),
    "ordered": Smooth(width=12, depth=2, ordered=("x",)),
    "subspace": Smooth(width=12, depth=2, ordered=("x",), subspaces=(PAIR,), log_ranges=True),
    "multilevel": Multilevel(levels=3, factor=2, activation="tanh"),
    "no residual": Multilevel(levels=2, factor=2, residual=False, activation="silu"),
    "layer norm": Multilevel(levels=2, factor=2, norm="layer", activation="gelu"),
    "feed-forward": FeedForward(levels=2, factor=2, norm="none", activation="gelu"),
    "black": Smooth(width=12, depth=2, head=BLACK),
    "bachelier": Smooth(width=12, depth=2, head=BACHELIER),
}

SCRIPT = """
import { readFileSync } from "node:fs";
const { jet, gradient, second } = await import(process.argv[1]);
const { network, points, pairs, output } = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(points.map((point) => ({
  value: jet(network, point, null, 0, output)[0],
  gradient: gradient(network, point, output),
  second: pairs.map(([a, b]) => second(network, point, a, b, output)),
}))));
"""
PAIRS = [[0, 0], [0, 4], [1, 2], [3, 3]]


def in_javascript(stages, inputs, points, output=0):
    network = {"inputs": inputs, "outputs": 1, "stages": stages}
    question = {"network": network, "points": points, "pairs": PAIRS, "output": output}
    command = [NODE, "--input-type=module", "-e", SCRIPT, MODULE.as_uri()]
    found = subprocess.run(
        command, input=json.dumps(question), capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    rows = json.loads(found.stdout)
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def in_torch(exact, points):
    inputs = torch.tensor(points, dtype=torch.float64)
    entries = DOMAIN.entries
    return {
        "value": exact(inputs).squeeze(-1).detach().numpy(),
        "gradient": gradient(exact, inputs).numpy(),
        "second": np.stack(
            [hessian(exact, DOMAIN, entries[a], entries[b], inputs).numpy() for a, b in PAIRS], -1
        ),
    }


def chain_of(network):
    """As `describe`, for a network without a solution."""
    stages = [*_inputs(network), *_core(network.core), Scale(network.shift, network.scale)]
    if network.head is not None:
        stages = [Option(network.head, DOMAIN.dim, stages)]
    return Chain(stages).eval()


def drawn(architecture, outputs=1):
    network = make_network(architecture, DOMAIN, torch.Generator().manual_seed(1), outputs)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():  # as training leaves them: none of these is 0 or 1
        network.shift += 0.3
        network.scale *= 1.7
        for layer in (m for m in network.modules() if isinstance(m, Layer)):
            for values in (*layer.norm.parameters(), *layer.norm.buffers()):
                if values.is_floating_point():
                    values += 0.2 * torch.rand(values.shape, generator=generator)
    return network.double().eval()


@needs_node
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_values_and_derivatives_are_those_of_torch(name):
    network = drawn(ARCHITECTURES[name])
    points = DOMAIN.sample(20, torch.Generator().manual_seed(3), torch.float64).tolist()
    chain = chain_of(network).double()  # norms are rounded to float32 there
    found = in_javascript(chain.records(), DOMAIN.entries, points)
    expected = in_torch(chain, points)
    whole = network(torch.tensor(points, dtype=torch.float64)).squeeze(-1).detach().numpy()
    np.testing.assert_allclose(found["value"], whole, rtol=1e-6, atol=1e-6)
    for part, tolerance in {"value": 1e-12, "gradient": 1e-10, "second": 1e-8}.items():
        scale = 1.0 + np.abs(expected[part]).max()
        np.testing.assert_allclose(found[part], expected[part], rtol=0, atol=tolerance * scale)
        assert np.abs(expected[part]).max() > 1e-3, part  # there is something to compare


@needs_node
def test_a_trained_solution_is_that_of_torch_in_float32_within_1e_6():
    solution = fk.solve(fk.BlackScholes(), steps=3, batch_size=64)
    domain = solution.family.domain
    points = domain.sample(50, torch.Generator().manual_seed(3))
    stages = describe(solution).records()
    found = in_javascript(stages, domain.entries, points.double().tolist())
    value = solution.network(points).detach().squeeze(-1).numpy()
    np.testing.assert_allclose(found["value"], value, rtol=1e-6, atol=1e-6)


@needs_node
def test_each_output_of_a_vector_valued_network():
    network = drawn(Smooth(width=8, depth=2), outputs=2)
    points = DOMAIN.sample(3, torch.Generator().manual_seed(3), torch.float64).tolist()
    exact = network(torch.tensor(points, dtype=torch.float64))
    for output in (0, 1):
        found = in_javascript(chain_of(network).records(), DOMAIN.entries, points, output)
        np.testing.assert_allclose(found["value"], exact[:, output].detach().numpy(), rtol=1e-12)


@needs_node
def test_an_unknown_stage_is_refused_with_a_sentence():
    with pytest.raises(AssertionError, match='has a stage "magic" and needs a newer page'):
        in_javascript([{"kind": "magic"}], ["x"], [[1.0]])


def test_the_module_is_a_few_kilobytes():
    assert MODULE.stat().st_size < 7000
