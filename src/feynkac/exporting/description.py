"""From a trained network to its stages: option (radius → units (order → … → layers → scale))."""

from collections.abc import Sequence

import torch
from torch import nn

from feynkac.errors import InputError
from feynkac.exporting.head_stages import Option
from feynkac.exporting.input_stages import Log, Normalise, Order, Root
from feynkac.exporting.layer_stages import Activate, Affine, LayerNorm, Levels, Products, Scale
from feynkac.exporting.stage import Chain, Stage
from feynkac.exporting.symmetry_stages import Radius, Units
from feynkac.networks.architecture import ACTIVATIONS, Layer, Linear
from feynkac.networks.feed_forward import FeedForwardNetwork
from feynkac.networks.multilevel import MultilevelNetwork
from feynkac.networks.network import Network, Select
from feynkac.networks.reduction import SMALLEST, Reduction
from feynkac.networks.smooth import SmoothNetwork
from feynkac.solution import Solution

CHECKED = 64  # inputs at which stages and network are compared
CLOSE = 1e-4  # relative to 1 + |u|; rounding is far below


@torch.inference_mode(False)  # torch.export does not trace inference tensors
@torch.no_grad()
def describe(solution: Solution) -> Chain:
    """The stages of a solution's network, in float32 on the CPU, with copies of its numbers.

    Raises:
        InputError: its architecture is a user's own, or the stages do not give what it gives.

    Example:
        >>> [record["kind"] for record in describe(solution).records()][:3]
        ['units']
    """
    network = solution.network
    stages = [*_inputs(network), *_core(network.core), Scale(network.shift, network.scale)]
    stages += [Activate("exp")] if network.positive else []
    stages = _reduced(network.reduction, stages, in_units=network.head is None)
    if network.head is not None:
        stages = [Option(network.head, solution.family.domain.dim, stages)]
    found = Chain(stages).cpu().eval()
    _require_same(solution, found)
    return found


def _require_same(solution: Solution, found: Chain) -> None:
    """So that a stage that was forgotten here cannot give wrong numbers elsewhere."""
    inputs = solution.family.domain.sample(CHECKED, torch.Generator().manual_seed(0))
    network = solution.network.eval()
    expected = network(inputs.to(network.mean.device)).cpu()
    if not ((found(inputs) - expected).abs() <= CLOSE * (1.0 + expected.abs())).all():
        raise InputError(
            "this network cannot be exported: its stages, written out, give other values than it "
            "does; please report that."
        )


def _reduced(reduction: Reduction, stages: list[Stage], in_units: bool) -> list[Stage]:
    """The stages behind what symmetries leave of the inputs; their result may be in a unit."""
    left_out = reduction.state.stop - 1 if reduction.radial else 0
    if reduction.pivots:
        pivots, kept = (
            [max(0, c - left_out) for c in each] for each in (reduction.pivots, reduction.kept)
        )
        powers = reduction.powers.clone()
        if not in_units:
            powers[:, -1] = 0.0
        stages = [Units(pivots, kept, powers, SMALLEST, stages)]
    return [Radius(left_out + 1, SMALLEST), *stages] if reduction.radial else stages


def _inputs(network: Network) -> list[Stage]:
    """What stands between reduced inputs and the core."""
    found: list[Stage] = [Order(network.places)] if network.places else []
    size, columns = len(network.mean), network.columns
    found += [Root([c], size, float(columns.floor[c])) for c in columns.rooted]
    found += [Log([c], size, float(columns.floor[c])) for c in columns.logged]
    found.append(Normalise(network.mean, network.divisor))
    if network.combine is not None and network.center is not None:
        found.append(Affine(network.combine, -(network.combine @ network.center)))
    return found


def _core(core: nn.Module) -> list[Stage]:
    if isinstance(core, nn.Sequential):  # one of several outputs
        inner, chosen = core
        assert isinstance(chosen, Select)
        stages = _core(inner)
        unit = torch.eye(_outputs(stages))[chosen.index]
        return [*stages, Affine(unit.unsqueeze(0))]
    if isinstance(core, SmoothNetwork):
        return _smooth(core)
    if isinstance(core, FeedForwardNetwork):
        return [stage for chain in _level(core.entry, core.layers) for stage in _stages(chain)]
    if isinstance(core, MultilevelNetwork):
        pairs = zip(core.entries, core.levels, strict=True)
        return [Levels([_level(entry, level) for entry, level in pairs], core.residual)]
    raise InputError(
        f"a network of the architecture {type(core).__name__} cannot be exported; expected one of "
        "Smooth, Multilevel or FeedForward."
    )


def _outputs(stages: Sequence[Stage]) -> int:
    """Of the last map."""
    last = stages[-1]
    if isinstance(last, Levels):
        *_, last = _stages(last.levels[0][-1])
    assert isinstance(last, Affine)
    return len(last.bias)


def _smooth(core: SmoothNetwork) -> list[Stage]:
    factors, hidden, last = core.layers()
    found: list[Stage] = [Products(*(Affine(*f) for f in factors))] if factors else []
    for number, layer in enumerate(hidden):
        found += [Affine(*layer), Activate("silu", 0 if number else core.waves)]
    return [*found, Affine(*last)]


def _level(entry: nn.Module, layers: nn.Module) -> list[Chain]:
    """The entry and every layer, each a chain."""
    assert isinstance(entry, Linear)
    assert isinstance(layers, nn.ModuleList)
    return [Chain([Affine(entry.weight)]), *(Chain(_layer(layer)) for layer in layers)]


def _layer(layer: nn.Module) -> list[Stage]:
    assert isinstance(layer, Layer)
    name = next(n for n, f in ACTIVATIONS.items() if f is layer.activation)
    return [*_norm(layer.norm), Activate(name), Affine(layer.linear.weight, layer.linear.bias)]


def _norm(norm: nn.Module) -> list[Stage]:
    if isinstance(norm, nn.BatchNorm1d):
        assert norm.running_mean is not None
        assert norm.running_var is not None
        scale = norm.weight.double() / (norm.running_var.double() + norm.eps).sqrt()
        shift = norm.bias.double() - norm.running_mean.double() * scale
        return [Scale(shift.float(), scale.float())]
    return [LayerNorm(norm)] if isinstance(norm, nn.LayerNorm) else []


def _stages(chain: Chain) -> list[Stage]:
    return [stage for stage in chain.stages if isinstance(stage, Stage)]
