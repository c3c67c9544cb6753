r"""Figure 2: the Multilevel architecture for L = 4 and q = 3 (paper, Section 3; definition in A.2).

Drawn from the network itself: its graph of computation is traced, and every layer and connection
in the picture is one that the trace found. Layer i of level l is A_l^i ∘ ϱ ∘ Norm, i = 1 … 2^l.
"""

from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import fx, nn

from feynkac.networks.architecture import Layer, Linear
from feynkac.networks.multilevel import Multilevel
from feynkac.plotting.style import BLACK, GREY, VERMILION, panels, styled
from feynkac.reproduction.result import Result
from feynkac.reproduction.settings import Settings

LEVELS, FACTOR, INPUTS = 4, 3, 4


class Spot(NamedTuple):
    """Layer i of level l; i = 0 is the map of the inputs, A_l^0."""

    level: int
    layer: int


class Wiring(NamedTuple):
    """What feeds what."""

    edges: list[tuple[Spot, Spot]]
    outputs: list[Spot]
    """Whose sum is Φ."""


class Tracer(fx.Tracer):
    """Looks no further than layers."""

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Layers and linear maps stay whole."""
        return isinstance(m, Layer | Linear)


def run(settings: Settings) -> Result:
    """Trace the network and draw it."""
    network = Multilevel(levels=LEVELS, factor=FACTOR).build(INPUTS)
    wiring = trace(network)
    return Result(
        name="figure-2",
        title=f"Figure 2: the Multilevel architecture for L = {LEVELS}, q = {FACTOR}",
        columns=("level l", "layers", "width", "residuals received", "parameters"),
        rows=[_cells(network, wiring, level) for level in range(LEVELS)],
        notes=(
            "The paper's Figure 2 is a schematic. This one is drawn from our network by tracing "
            f"it, here with {INPUTS} inputs as in the Black–Scholes model: each box is a layer "
            "(normalisation, ReLU, linear map), each arrow a connection that the trace found. "
            f"Each level starts with a linear map from the {INPUTS} inputs to q = {FACTOR} times "
            "as many; the outputs of all levels are added up.",
            "Dashed arrows are the residual connections (χ = 1): layer i of level l also receives "
            "the output of layer 2i − 2 of level l + 1, so that the shortest way back through the "
            "network grows as L and not as 2^L. In the authors' published code this output also "
            "contains what level l + 1 received itself; we follow the definition in the paper.",
        ),
        data={
            "edges": [[list(a), list(b)] for a, b in wiring.edges],
            "outputs": [list(spot) for spot in wiring.outputs],
        },
        figure=draw(wiring),
        seeds=(),
    )


def trace(network: nn.Module) -> Wiring:
    """The connections between layers, additions dissolved."""
    graph = Tracer().trace(network)
    edges = [
        (source, _spot(node))
        for node in graph.nodes
        if node.op == "call_module"
        for argument in node.all_input_nodes
        for source in _sources(argument)
    ]
    (end,) = (node for node in graph.nodes if node.op == "output")
    return Wiring(edges, _sources(end))


def _spot(node: fx.Node) -> Spot:
    kind, *numbers = str(node.target).split(".")
    return Spot(int(numbers[0]), 0 if kind == "entries" else int(numbers[1]) + 1)


def _sources(node: fx.Node) -> list[Spot]:
    """The layers whose outputs a node is made of."""
    if node.op == "call_module":
        return [_spot(node)]
    return [spot for each in node.all_input_nodes for spot in _sources(each)]


def residuals(wiring: Wiring) -> list[tuple[Spot, Spot]]:
    """The connections between levels."""
    return [(a, b) for a, b in wiring.edges if a.level != b.level]


def _cells(network: nn.Module, wiring: Wiring, level: int) -> tuple[str, ...]:
    received = sum(b.level == level for _, b in residuals(wiring))
    parts = [network.get_submodule(f"{name}.{level}") for name in ("entries", "levels")]
    parameters = sum(p.numel() for part in parts for p in part.parameters())
    layers = sum(b.level == level for a, b in wiring.edges if a.level == level)
    return (str(level), str(layers), str(FACTOR * INPUTS), str(received), f"{parameters:,}")


@styled
def draw(wiring: Wiring) -> Figure:
    """Levels one above the other, depth to the right."""
    figure, (axes,) = panels(panel=(10.0, 4.6))
    spots = {spot for edge in wiring.edges for spot in edge}
    for spot in spots:
        label = rf"$A_{{{spot.level}}}^{{{spot.layer}}}$"
        colour = "lightgrey" if spot.layer == 0 else "lightblue"
        box = {"boxstyle": "round,pad=0.35", "fc": colour, "ec": BLACK, "lw": 0.8}
        axes.text(*_place(spot), label, ha="center", va="center", bbox=box, zorder=3)
    for a, b in wiring.edges:
        style = {"color": BLACK} if a.level == b.level else {"color": VERMILION, "ls": "--"}
        _arrow(axes, _place(a), _place(b), **style)
    _draw_ends(axes, wiring)
    axes.set(xlim=(-2.1, 2 ** (LEVELS - 1) + 2.6), ylim=(-0.6, LEVELS - 0.4))
    axes.axis("off")
    return figure


def _place(spot: Spot) -> tuple[float, float]:
    """Layers of a shallow level stand where the residuals come from."""
    stretch = 2.0 ** (LEVELS - 1 - spot.level)
    depth = 0.0 if spot.layer == 0 else (spot.layer - 1) * stretch + 1.0
    return depth, float(spot.level)


def _draw_ends(axes: Axes, wiring: Wiring) -> None:
    middle = (LEVELS - 1) / 2
    ends = {"x": (-1.6, middle), "Φ(x) = Σ": (2 ** (LEVELS - 1) + 1.9, middle)}
    box = {"boxstyle": "round,pad=0.4", "fc": "white", "ec": BLACK, "lw": 0.8}
    for text, place in ends.items():
        axes.text(*place, text, ha="center", va="center", bbox=box, zorder=3)
    start, end = ends.values()
    for level in range(LEVELS):
        _arrow(axes, start, _place(Spot(level, 0)), color=GREY)
        axes.text(0.15, level + 0.3, f"level {level}", fontsize="small")
    for spot in wiring.outputs:
        _arrow(axes, _place(spot), (end[0] - 0.3, end[1]), color=GREY)


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], **style: str) -> None:
    shape = {"arrowstyle": "->", "shrinkA": 14, "shrinkB": 14, "lw": 1.0} | style
    axes.annotate("", end, start, arrowprops=shape)
