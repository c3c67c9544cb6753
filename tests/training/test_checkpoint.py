"""A checkpoint continues a run to the bit; a damaged or foreign one is refused with a sentence."""

import json
import random

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from feynkac.errors import ArtifactError, InputError
from feynkac.families import BlackScholes
from feynkac.networks.multilevel import Multilevel
from feynkac.networks.network import make_network
from feynkac.sampling.schemes.exact import Exact
from feynkac.training.checkpoint import _digest, load_checkpoint, save_checkpoint
from feynkac.training.loop import update
from feynkac.training.objective import MeanSquare
from feynkac.training.optimisers.optimiser import SGD, AdamW
from feynkac.training.pace import Pace
from feynkac.training.schedules import StepDecay
from feynkac.training.state import State

FAMILY = BlackScholes()
OBJECTIVE = MeanSquare(FAMILY, Exact(), batch_size=32)
OPTIMISERS = [AdamW(), SGD(), SGD(momentum=0.0)]


def fresh_state(optimiser=OPTIMISERS[0], norm="batch", levels=2, seed=0):
    architecture = Multilevel(levels=levels, factor=3, norm=norm)
    network = make_network(architecture, FAMILY.domain, torch.Generator().manual_seed(seed))
    return State(network, optimiser.build(network), torch.Generator().manual_seed(seed))


def advance(state, steps, optimiser=OPTIMISERS[0]):
    schedule = StepDecay(patience=2)

    def rate(step, done):
        return schedule.rate(optimiser.learning_rate, step, done)

    losses = [update(state, OBJECTIVE, FAMILY.domain, rate, Pace.of(6)) for _ in range(steps)]
    state.history.append({"step": state.step, "loss": losses[-1]})
    return state


def assert_same(first, second):
    assert first.keys() == second.keys()
    assert [k for k in first if not torch.equal(first[k], second[k])] == []


@pytest.fixture
def checkpoint(tmp_path):
    path = tmp_path / "checkpoint.safetensors"
    save_checkpoint(advance(fresh_state(), 3), path, "run-1")
    return path


@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=str)
@pytest.mark.parametrize("norm", ["batch", "layer", "none"])
def test_six_steps_equal_three_a_file_and_three(optimiser, norm, tmp_path):
    whole = advance(fresh_state(optimiser, norm), 6, optimiser)
    save_checkpoint(advance(fresh_state(optimiser, norm), 3, optimiser), tmp_path / "c", "run")

    resumed = fresh_state(optimiser, norm, seed=99)  # every number must come from the file
    load_checkpoint(resumed, tmp_path / "c", "run")
    advance(resumed, 3, optimiser)

    assert_same(resumed.tensors(), whole.tensors())
    assert resumed.step == whole.step == 6
    assert resumed.history[-1] == whole.history[-1]


def test_a_checkpoint_keeps_step_time_and_history(tmp_path):
    state = advance(fresh_state(), 3)
    state.history.append({"step": 3, "l1": 0.1 + 0.2, "linear_baseline": None})
    save_checkpoint(state, tmp_path / "c", "run")
    loaded = fresh_state(seed=1)
    load_checkpoint(loaded, tmp_path / "c", "run")
    assert (loaded.step, loaded.seconds) == (state.step, state.seconds)
    assert loaded.history == state.history


def test_a_checkpoint_holds_all_that_changes(checkpoint):
    names = advance(fresh_state(), 1).tensors().keys()
    assert "generator" in names
    assert any(name.endswith("running_var") for name in names)
    assert any(name.endswith("exp_avg_sq") for name in names)
    with safe_open(checkpoint, framework="pt") as file:
        assert set(file.keys()) == set(names)
        header = json.loads(file.metadata()["feynkac"])
    assert header["identity"] == "run-1"


def test_tensors_are_copies_that_further_steps_leave_alone():
    state = advance(fresh_state(), 1)
    before = state.tensors()
    again = {k: v.clone() for k, v in before.items()}
    advance(state, 2)
    assert_same(before, again)
    assert not torch.equal(before["generator"], state.tensors()["generator"])


@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=str)
@pytest.mark.parametrize("before", [0, 2])
def test_restoring_undoes_steps(optimiser, before):
    state = fresh_state(optimiser)
    if before:
        advance(state, before, optimiser)
    kept = state.tensors()
    advance(state, 3, optimiser)
    state.restore(kept)
    assert_same(state.tensors(), kept)


def test_saving_again_replaces_the_file(checkpoint):
    later = advance(fresh_state(), 5)
    save_checkpoint(later, checkpoint, "run-1")
    loaded = fresh_state()
    load_checkpoint(loaded, checkpoint, "run-1")
    assert loaded.step == 5
    assert list(checkpoint.parent.iterdir()) == [checkpoint]


def test_saving_into_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"cannot write .*Choose a writable folder"):
        save_checkpoint(fresh_state(), tmp_path / "missing" / "c", "run")


def assert_refused(path, message, identity="run-1", **state):
    """The file is refused by name, and the state is left as it was."""
    into = fresh_state(**state)
    before = into.tensors()
    with pytest.raises(ArtifactError, match=message) as caught:
        load_checkpoint(into, path, identity)
    assert str(path) in str(caught.value)
    return into, before


@pytest.mark.parametrize("kept", [0.0, 0.001, 0.5, 0.999])
def test_a_truncated_checkpoint_is_refused(checkpoint, kept):
    content = checkpoint.read_bytes()
    checkpoint.write_bytes(content[: int(kept * len(content))])
    state, before = assert_refused(checkpoint, r"is not a readable checkpoint .*delete it to start")
    assert_same(state.tensors(), before)
    assert state.step == 0


def write_text(path):
    path.write_text("weights: none\n")


def write_foreign_tensors(path):
    save_file({"a": torch.zeros(3)}, path)


def write_with_header(header):
    tensors = {"a": torch.zeros(3)}
    seal = {"feynkac": header, "sha256": _digest(header, tensors)}
    return lambda path: save_file(tensors, path, metadata=seal)


@pytest.mark.parametrize(
    "write",
    [write_text, write_foreign_tensors, write_with_header("not JSON"), write_with_header("5")],
)
def test_a_file_of_another_kind_is_refused(tmp_path, write):
    write(tmp_path / "c")
    assert_refused(tmp_path / "c", r"is not a readable checkpoint .*delete it to start over")


def test_a_checkpoint_without_its_parts_is_refused(tmp_path):
    write_with_header('{"identity": "run-1"}')(tmp_path / "c")
    assert_refused(tmp_path / "c", "does not fit this run; delete it to start over")


def test_a_missing_checkpoint_is_refused(tmp_path):
    assert_refused(tmp_path / "c", "is not a readable checkpoint")


def test_the_checkpoint_of_another_run_is_refused(checkpoint):
    message = "belongs to a run with other settings; choose another folder"
    state, before = assert_refused(checkpoint, message, identity="run-2")
    assert_same(state.tensors(), before)


def test_a_checkpoint_of_another_shape_is_refused(checkpoint):
    assert_refused(checkpoint, "does not fit this run; delete it to start over", levels=3)


def test_every_flipped_bit_of_a_checkpoint_is_noticed(checkpoint):
    """Whatever it hits: a tensor, a name, a number of the header, the checksum itself."""
    content, rng = checkpoint.read_bytes(), random.Random(0)
    header = 8 + int.from_bytes(content[:8], "little")
    places = [rng.randrange(header) for _ in range(100)]
    places += [rng.randrange(header, len(content)) for _ in range(200)]
    state = fresh_state()
    before = state.tensors()
    for place in places:
        spoilt = bytearray(content)
        spoilt[place] ^= 1 << rng.randrange(8)
        checkpoint.write_bytes(spoilt)
        with pytest.raises(ArtifactError, match="is not a readable checkpoint"):
            load_checkpoint(state, checkpoint, "run-1")
    assert_same(state.tensors(), before)
