"""Two processes train as one does, with the same streams; only their leader writes and reports."""

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from torch import distributed, multiprocessing

from feynkac.errors import Interrupted, NonFiniteError
from feynkac.execution import execute
from feynkac.families import BlackScholes
from feynkac.methods.fast.sobolev import Sobolev
from feynkac.networks.multilevel import Multilevel
from feynkac.networks.smooth import Smooth
from feynkac.preparation import make_run
from feynkac.sampling.generators import make_generator
from feynkac.training import team as team_module
from feynkac.training.loop import Hooks, train
from feynkac.training.objective import Batch, Objective
from feynkac.training.optimisers.gauss_newton import GaussNewton
from feynkac.training.optimisers.muon import Muon
from feynkac.training.optimisers.optimiser import AdamW
from feynkac.training.pace import Pace
from feynkac.training.state import State, begin
from feynkac.training.team import Alone, Distributed, make_streams

pytestmark = pytest.mark.slow

FAMILY = BlackScholes()
STEPS = 12
SETTINGS = {
    "adam": (Multilevel(levels=2, factor=3, norm="none"), AdamW(learning_rate=0.01)),
    "batch-norm": (Multilevel(levels=2, factor=3, norm="batch"), AdamW(learning_rate=0.01)),
    "muon": (Smooth(width=16, depth=2), Muon()),
    "gauss-newton": (Smooth(width=8, depth=2), GaussNewton()),
}


@dataclass(frozen=True)
class Double(Objective):
    """The same data in float64; from its n-th batch on, the second worker's have a NaN."""

    inner: Objective
    poisoned: float = math.inf
    drawn: list = None

    @property
    def whole(self):
        return self.inner.whole

    def sample(self, generator):
        batch = Batch._make(
            None if part is None else part.double() for part in self.inner.sample(generator)
        )
        if self.drawn is not None:
            self.drawn.append(batch)
            if len(self.drawn) >= self.poisoned and distributed.get_rank() == 1:
                batch.values[3] = math.nan
        return batch

    def with_paths(self, paths):
        return self

    def differentiate(self, network, batch, optimiser):
        return self.inner.differentiate(network, batch, optimiser)


def planned(name, **training):
    architecture, optimiser = SETTINGS[name]
    given = {"steps": STEPS, "batch_size": 32, "paths": 4, "workers": 2, "optimiser": optimiser}
    return make_run(FAMILY, "fast", {"architecture": architecture, **given, **training})


def losses(name, team, poisoned=math.inf):
    """Of every step in float64, then the parameters at the end."""
    run = planned(name)
    method, training = run.method, run.training
    state = begin(method.architecture, method.optimiser, FAMILY, training, "cpu", team)
    inner = method.objective(FAMILY, state.network, training)
    state.network.double()
    optimiser = method.optimiser.build(state.network)
    state = State(state.network, optimiser, state.generator, further=state.further)
    if isinstance(inner, Sobolev):
        parts = vars(inner.scales).items()
        double = {k: v.double() for k, v in parts if isinstance(v, torch.Tensor)}
        inner = replace(inner, scales=replace(inner.scales, **double))
    objective = Double(inner, poisoned, [])
    found = []
    hooks = Hooks(report=lambda progress: found.append(progress.loss))
    rate = method.rate
    train(state, objective, FAMILY.domain, training, rate, Pace.of(STEPS), hooks, team)
    return found + [float(p.detach().abs().sum()) for p in state.network.parameters()]


def _member(rank, folder):
    """What one of the two processes does; its answers are written down."""
    torch.set_num_threads(1)
    meeting = f"file://{folder}/meeting"
    distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=2)
    answers = {job.__name__: job(Distributed(), Path(folder)) for job in JOBS}
    Path(folder, f"{rank}.json").write_text(json.dumps(answers))
    distributed.destroy_process_group()


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """The folder of two processes, and their answers."""
    folder = tmp_path_factory.mktemp("two")
    multiprocessing.spawn(_member, (str(folder),), nprocs=2)
    return folder, *(json.loads((folder / f"{rank}.json").read_text()) for rank in range(2))


def all_losses(team, _folder):
    return {name: losses(name, team) for name in SETTINGS}


def poisoned_loss(team, _folder):
    with pytest.raises(NonFiniteError) as caught:
        losses("adam", team, poisoned=3)
    return str(caught.value)


def interrupted(team, folder):
    """Stopped at step 5, by the leader's report."""
    run = planned("gauss-newton")
    with pytest.raises(Interrupted) as caught:
        execute(run, FAMILY, folder / "interrupted", lambda p: p.step == 5, team=team)
    return str(caught.value)


def budgeted(team, folder):
    run = planned("gauss-newton", steps=None, budget=1.5, paths=None)
    solution = execute(run, FAMILY, folder / "budgeted", team=team)
    return [solution.manifest.steps]


JOBS = (all_losses, poisoned_loss, interrupted, budgeted)


def test_two_workers_follow_the_loss_curve_of_one_process_with_the_same_global_batch(two):
    _, leader, follower = two
    for name, alone in all_losses(Alone(), None).items():
        by_two = leader["all_losses"][name]
        assert len(by_two) > STEPS
        assert by_two == pytest.approx(alone, rel=0, abs=1e-9)
        assert follower["all_losses"][name] == by_two[STEPS:]  # it reports nothing


def test_a_nan_of_one_worker_stops_both_with_its_place(two):
    _, leader, follower = two
    assert leader["poisoned_loss"] == follower["poisoned_loss"]
    expected = "step 3: a NaN or infinity arose in 1 of 32 simulated paths, first at x="
    assert expected in leader["poisoned_loss"]


def test_a_run_stopped_by_its_leader_resumes_in_one_process(two):
    folder, *answers = two
    assert {answer["interrupted"] for answer in answers} == {"stopped at step 5 of 12"}
    run = planned("gauss-newton")
    resumed = execute(run, FAMILY, folder / "interrupted")
    straight = execute(run, FAMILY)
    assert resumed.manifest.steps == STEPS
    for a, b in zip(resumed.network.parameters(), straight.network.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-4)


def test_two_workers_agree_on_the_steps_within_a_budget(two):
    _, leader, follower = two
    assert leader["budgeted"] == follower["budgeted"]
    assert leader["budgeted"][0] > 1


# Streams


def test_the_first_stream_does_not_depend_on_their_number():
    expected = make_generator(7, "training").get_state()
    for count in (1, 2, 5):
        streams = make_streams(7, count, "cpu")
        assert len(streams) == count
        assert torch.equal(streams[0].get_state(), expected)


def test_streams_have_no_number_in_common():
    """64 random bits would meet by chance once in 10^7 such tests."""
    draws = [
        torch.randint(-(2**63), 2**63 - 1, (10**5,), generator=stream)
        for stream in make_streams(0, 8, "cpu")
    ]
    assert torch.cat(draws).unique().numel() == 8 * 10**5


def test_streams_that_would_start_alike_are_told_apart(monkeypatch):
    """On a CPU only 32 bits of a seed count."""
    seeds = iter([5, 5 + 2**32, 5, 6])
    same = torch.Generator().manual_seed(5), torch.Generator().manual_seed(5 + 2**32)
    assert torch.equal(*(torch.rand(4, generator=g) for g in same))
    monkeypatch.setattr(
        team_module, "make_generator", lambda *_a, **_k: torch.Generator().manual_seed(next(seeds))
    )
    assert [s.initial_seed() for s in make_streams(0, 2, "cpu")] == [5, 6]


def test_a_stream_belongs_to_one_worker():
    members = [Alone(), Alone(), Alone()]
    for rank, member in enumerate(members):
        member.rank, member.size = rank, 3
    owned = [list(member.mine(range(7))) for member in members]
    assert owned == [[0, 3, 6], [1, 4], [2, 5]]
