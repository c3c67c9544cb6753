r"""A network as a list of stages h ← f(h), each with its value, its pull-back and its plain data.

    h₀ = λ,    h_k = f_k(h_{k−1}),    ∇u = f₁′ᵀ ⋯ f_K′ᵀ 1

The pull-back g ↦ g f′(h) is written out by hand, since transforms of `torch.func` cannot be
exported. All formats are made from this list; a new stage needs one class here or in
`input_stages.py`, `layer_stages.py` and their like, and its C in `c_stages.py`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from torch import Tensor, nn

Record = dict[str, Any]


class Stage(nn.Module, ABC):
    """One map f.  Shape: `(N, in)` → `(N, out)`."""

    @abstractmethod
    def forward(self, h: Tensor) -> Tensor:
        """f(h)."""

    @abstractmethod
    def pull(self, h: Tensor, g: Tensor) -> Tensor:
        """g f′(h).  Shape: h `(N, in)`, g `(N, m, out)` → `(N, m, in)`."""

    @abstractmethod
    def record(self) -> Record:
        """As plain data, with its kind; see docs/export.md."""


class Chain(Stage):
    """Stages one after another."""

    def __init__(self, stages: Iterable[Stage]) -> None:
        super().__init__()
        self.stages = nn.ModuleList(stages)

    def forward(self, h: Tensor) -> Tensor:
        """f_K ∘ … ∘ f₁."""
        for stage in self.stages:
            h = stage(h)
        return h

    def pull(self, h: Tensor, g: Tensor) -> Tensor:
        """From the last stage to the first."""
        return self._pulled(self.states(h), g)

    def states(self, h: Tensor) -> list[Tensor]:
        """h₀, …, h_K."""
        found = [h]
        for stage in self.stages:
            found.append(stage(found[-1]))
        return found

    def jet(self, h: Tensor) -> tuple[Tensor, Tensor]:
        """Values and all first derivatives.  Shape: `(N, in)` → `(N, out)`, `(N, out, in)`."""
        states = self.states(h)
        last = states[-1]
        ones = (last.new_ones(last.shape[-1]).diag() + 0.0 * last.unsqueeze(-1)).clone()
        return last, self._pulled(states, ones)

    def _pulled(self, states: list[Tensor], g: Tensor) -> Tensor:
        for stage, h in zip(reversed(self.stages), reversed(states[:-1]), strict=True):
            assert isinstance(stage, Stage)
            g = stage.pull(h, g)
        return g

    def record(self) -> Record:
        """All of them."""
        return {"kind": "chain", "stages": self.records()}

    def records(self) -> list[Record]:
        """One per stage."""
        return [stage.record() for stage in self.stages if isinstance(stage, Stage)]


def bare(stage: nn.Module) -> Any:
    """The same functions and numbers in objects that are no modules, for many small calls.

    A module looks for hooks in each call, and for each of its numbers in three dictionaries: that
    takes as long as the numbers of a hundred inputs.
    """
    if isinstance(stage, nn.ModuleList):
        return [bare(each) for each in stage]
    functions = {name: f for name, f in vars(type(stage)).items() if not name.startswith("__")}
    called = {"__call__": functions["forward"]} if "forward" in functions else {}
    found = type(type(stage).__name__, (), functions | called)()
    inner = {name: bare(each) for name, each in stage.named_children()}
    vars(found).update(vars(stage), **dict(stage.named_buffers(recurse=False)), **inner)
    return found


def plain(values: Tensor) -> Any:
    """Nested numbers, each the shortest text that gives the same float64."""
    return values.detach().double().cpu().tolist()
