"""The artifact on disk: exact, data only, and every kind of damage noticed in one sentence."""

import ast
import json
import os
import random
import resource
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import pytest
import safetensors.torch
import torch

import feynkac
from feynkac.errors import ArtifactError, InputError
from feynkac.families.domain import Domain
from feynkac.families.measures.beta import Beta
from feynkac.families.measures.box import Box
from feynkac.families.measures.log_uniform import LogUniform
from feynkac.families.measures.normal import Normal
from feynkac.families.measures.sampled import Sampled
from feynkac.families.models.black_scholes import BlackScholes
from feynkac.families.models.rainbow import Rainbow
from feynkac.files import seal, sha256, unseal
from feynkac.networks.multilevel import Multilevel
from feynkac.networks.network import make_network
from feynkac.preparation import make_run
from feynkac.runs.artifact import (
    MANIFEST,
    WEIGHTS,
    Manifest,
    MeasureRecord,
    make_manifest,
    read_artifact,
    read_domain,
    record_domain,
    write_artifact,
)
from feynkac.runs.run import Run

Tensors = dict[str, torch.Tensor]


@pytest.fixture(scope="module")
def asked() -> Run:
    architecture = Multilevel(levels=2, factor=2)
    return make_run(BlackScholes(), "paper", {"architecture": architecture, "steps": 7})


@pytest.fixture
def manifest(asked: Run) -> Manifest:
    family, run = BlackScholes(), asked
    history = [{"step": 7, "seconds": 0.1, "l1": 1 / 3, "linear_baseline": None}]
    return make_manifest(run, family.domain, steps=7, seconds=0.1, parameters=200, history=history)


@pytest.fixture
def weights(manifest: Manifest, generator: torch.Generator) -> Tensors:
    return make_network(
        manifest.run.method.architecture, BlackScholes().domain, generator
    ).state_dict()


@pytest.fixture
def folder(tmp_path: Path, manifest: Manifest, weights: Tensors) -> Path:
    write_artifact(tmp_path / "run", manifest, weights)
    return tmp_path / "run"


def test_reads_back_the_same_manifest_and_the_same_bits(folder, manifest, weights):
    found, tensors = read_artifact(folder)
    assert found.model_dump(exclude={"files"}) == manifest.model_dump(exclude={"files"})
    assert tensors.keys() == weights.keys()
    assert all(torch.equal(tensors[name], weights[name]) for name in weights)


def test_holds_two_files_of_plain_data(folder):
    assert sorted(path.name for path in folder.iterdir()) == [MANIFEST, WEIGHTS]
    content = (folder / WEIGHTS).read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    assert {entry["dtype"] for entry in header.values()} <= {"F32", "I64"}
    listed = json.loads((folder / MANIFEST).read_bytes())["files"]
    assert listed == {WEIGHTS: sha256(content)}


def test_manifest_says_where_it_comes_from(folder):
    data = json.loads((folder / MANIFEST).read_bytes())
    assert data["format"] == 3
    assert data["versions"].keys() == {"feynkac", "torch", "python"}
    assert data["run"]["family"] == {
        "name": "black-scholes",
        "fields": {"dim": 1},
        "built_in": True,
    }
    assert data["domain"]["strike"] == {"shape": [], "low": [10.0], "high": [12.0]}


def test_the_recorded_domain_is_exact():
    recorded = record_domain(BlackScholes(dim=3).domain)
    assert list(recorded) == ["x", "t", "sigma", "strike"]
    assert (recorded["x"].shape, recorded["sigma"].low) == ((3,), (0.1,))


def corner(count, generator, dtype):
    return torch.rand(count, 2, generator=generator, dtype=dtype).square()


MIXED = Domain(
    x=Box([0.1, 0.2], [1 / 3, 2.0]),
    t=LogUniform(1e-3, 1),
    a=Normal([[1.0], [2.0]], 1 / 7, low=0.5, high=3),
    b=Beta(2, 5, low=-1, high=1, shape=(2, 2)),
    c=Sampled(corner, 0, 1, shape=(2,)),
)


def read_back(domain):
    """Through the text of a manifest."""
    records = record_domain(domain)
    text = json.dumps({n: r.model_dump(mode="json") for n, r in records.items()})
    return {name: MeasureRecord(**entry) for name, entry in json.loads(text).items()}


def test_measures_are_read_back_exactly():
    assert list(read_back(MIXED).items()) == list(record_domain(MIXED).items())
    found = read_domain(read_back(MIXED))
    assert found == MIXED
    assert torch.equal(found.mean, MIXED.mean)
    assert torch.equal(found.std, MIXED.std)


def test_variables_in_order_are_read_back():
    domain = Rainbow().domain
    assert read_domain(record_domain(domain), domain.exchanged).exchanged == ("x", "sigma")


def test_measures_are_told_apart_by_their_records():
    uniform, other = (Domain(x=Box(0, 1), t=Box(0, 1), a=m(0.1, 1)) for m in (Box, LogUniform))
    assert record_domain(uniform) != record_domain(other)


def test_a_box_is_written_as_it_always_was_and_old_manifests_are_of_boxes():
    old = {"shape": [2], "low": [0.0, 1.0], "high": [2.0, 3.0]}
    assert MeasureRecord(**old).model_dump(mode="json") == old
    t = MeasureRecord(shape=(), low=(0.0,), high=(1.0,))
    assert read_domain({"x": MeasureRecord(**old), "t": t}).measures["x"] == Box([0, 1], [2, 3])


def test_a_sampler_is_not_in_an_artifact(generator):
    loaded = read_domain(read_back(MIXED))
    with pytest.raises(ArtifactError, match="an artifact holds no code, so this variable's sampl"):
        loaded.sample(3, generator)


def test_no_source_file_can_unpickle():
    for path in Path(feynkac.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {getattr(node, "module", None), *(alias.name for alias in node.names)}
                assert not names & {"pickle", "cloudpickle", "dill", "joblib", "marshal"}, path
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert f"{node.value.id}.{node.attr}" not in {"torch.load", "torch.save"}, path


def test_an_artifact_is_never_overwritten(folder, manifest, weights):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(ArtifactError, match="already holds a solution; choose another folder"):
        write_artifact(folder, manifest, {k: v + 1 for k, v in weights.items()})
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


# Damage: each function spoils one thing.


def truncate(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:-9])


def flip(name: str) -> Callable[[Path], object]:
    def spoil(folder: Path) -> None:
        content = bytearray((folder / name).read_bytes())
        content[len(content) // 2] ^= 1
        (folder / name).write_bytes(content)

    return spoil


def replace(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(content)


def remove(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def alter(**values: object) -> Callable[[Path], object]:
    def spoil(folder: Path) -> None:
        data = unseal((folder / MANIFEST).read_bytes())
        (folder / MANIFEST).write_bytes(seal(data | values))

    return spoil


def edit(**values: object) -> Callable[[Path], object]:
    """As by hand: the checksum stays."""

    def spoil(folder: Path) -> None:
        data = json.loads((folder / MANIFEST).read_bytes())
        (folder / MANIFEST).write_text(json.dumps(data | values))

    return spoil


def law(**values: object) -> Callable[[Path], object]:
    def spoil(folder: Path) -> None:
        domain = json.loads((folder / MANIFEST).read_bytes())["domain"]
        alter(domain=domain | {"strike": domain["strike"] | values})(folder)

    return spoil


def pipe(name: str) -> Callable[[Path], object]:
    def spoil(folder: Path) -> None:
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return spoil


def link(name: str, target: str) -> Callable[[Path], object]:
    def spoil(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).symlink_to(target)

    return spoil


def grow(name: str) -> Callable[[Path], object]:
    return lambda folder: os.truncate(folder / name, 2**40)


def long_history(folder: Path) -> None:
    rows = b"[" + b'{"step":1},' * 5_000_000 + b'{"step":1}]'
    text = json.dumps(unseal((folder / MANIFEST).read_bytes()) | {"history": "HERE"}).encode()
    (folder / MANIFEST).write_bytes(text.replace(b'"HERE"', rows))


def rehash(content: bytes) -> Callable[[Path], object]:
    def spoil(folder: Path) -> None:
        (folder / WEIGHTS).write_bytes(content)
        alter(files={WEIGHTS: sha256(content)})(folder)

    return spoil


DAMAGE = {
    "weights truncated": (truncate(WEIGHTS), r"weights\.safetensors was truncated or altered"),
    "weights flipped": (flip(WEIGHTS), r"SHA-256 is not the manifest's\); copy it again"),
    "weights empty": (replace(WEIGHTS, b""), "was truncated or altered"),
    "weights missing": (remove(WEIGHTS), "cannot read .*No such file or directory; copy"),
    "weights of another kind": (rehash(b"PK\3\4, a zip"), "is not a safetensors file"),
    "weights empty, sum right": (rehash(b""), "is not a safetensors file"),
    "manifest missing": (remove(MANIFEST), "holds no solution: there is no manifest.json in it"),
    "manifest truncated": (truncate(MANIFEST), "is damaged: .*copy the folder again"),
    "manifest empty": (replace(MANIFEST, b""), "is damaged: "),
    "manifest binary": (replace(MANIFEST, b"\xff\xfe\0"), "is damaged: "),
    "manifest a list": (replace(MANIFEST, b"[]"), "a JSON object was expected, not list"),
    "manifest too deep": (replace(MANIFEST, b"[" * 200_000), "it is nested too deeply"),
    "manifest edited": (edit(steps=8), "does not have the sha256 that it says"),
    "history edited": (edit(history=[]), "does not have the sha256 that it says"),
    "checksum removed": (edit(sha256=None), "does not have the sha256 that it says"),
    "manifest with NaN": (edit(seconds=float("nan")), "NaN is not JSON"),
    "unknown format": (alter(format=4), r"another version: format: Input should be 3"),
    "unknown field": (alter(code="print(1)"), "code: Extra inputs are not permitted"),
    "steps negative": (alter(steps=-1), r"steps: Input should be greater .* \(got -1\)"),
    "run missing": (alter(run=None), "run: Input should be"),
    "measure unknown": (law(kind="cauchy"), "domain.strike: .* no measure with .*kind='cauchy'"),
    "measure lacking": (law(kind="beta", parameters={"a": [1.0]}), "no measure with .*'beta'"),
    "measure too long": (law(kind="log-uniform", low=[1.0, 2.0]), "no measure with .*low="),
    "measure of no use": (law(low=[13.0]), r"no measure with .*low=\(13.0,\) high=\(12.0,\)"),
    "measure with code": (law(code="print(1)"), "code: Extra inputs are not permitted"),
    "no file listed": (alter(files={}), r"must list exactly weights\.safetensors"),
    "foreign file": (alter(files={"../../x": "0"}), r"must list exactly weights\.safetensors"),
    "extra file": (alter(files={WEIGHTS: "0", "../../x": "0"}), "must list exactly"),
    "absolute file": (alter(files={"/etc/passwd": "0"}), "must list exactly"),
    "weights a pipe": (pipe(WEIGHTS), "cannot read .*: it is not a regular file; copy"),
    "weights a device": (link(WEIGHTS, "/dev/zero"), "cannot read .*: it is not a regular file"),
    "weights endless": (grow(WEIGHTS), r"cannot read .*: it has 1099511627776 bytes, at most"),
    "manifest a pipe": (pipe(MANIFEST), "cannot read .*: it is not a regular file"),
    "manifest a device": (link(MANIFEST, "/dev/zero"), "cannot read .*: it is not a regular file"),
    "manifest endless": (grow(MANIFEST), "cannot read .*: it has 1099511627776 bytes"),
    "history endless": (long_history, "it has more than 200000 objects"),
    "parameters negative": (alter(parameters=-1), "parameters: Input should be greater"),
    "wrong sum": (alter(files={WEIGHTS: "0" * 64}), "was truncated or altered"),
}


@pytest.mark.parametrize(("spoil", "message"), DAMAGE.values(), ids=DAMAGE.keys())
def test_damage_is_named_in_one_sentence(folder, spoil, message):
    spoil(folder)
    with pytest.raises(ArtifactError, match=message) as caught:
        read_artifact(folder)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_any_flipped_bit_of_the_weights_is_noticed(folder):
    content = (folder / WEIGHTS).read_bytes()
    rng = random.Random(0)
    for _ in range(200):
        spoilt = bytearray(content)
        spoilt[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        (folder / WEIGHTS).write_bytes(spoilt)
        with pytest.raises(ArtifactError, match="truncated or altered"):
            read_artifact(folder)


def test_any_flipped_bit_of_the_manifest_is_noticed_or_means_nothing(folder, manifest):
    """A blank that becomes another blank says the same."""
    content, (found, _) = (folder / MANIFEST).read_bytes(), read_artifact(folder)
    rng = random.Random(0)
    for _ in range(300):
        spoilt = bytearray(content)
        spoilt[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        (folder / MANIFEST).write_bytes(spoilt)
        try:
            again, _ = read_artifact(folder)
        except ArtifactError:
            continue
        assert again == found


def test_an_unfinished_run_is_told_from_no_run(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(ArtifactError, match="holds a run that has not finished"):
        read_artifact(tmp_path)
    with pytest.raises(ArtifactError, match="nowhere holds no solution"):
        read_artifact(tmp_path / "nowhere")


@contextmanager
def file_size_limit(size: int):
    """The operating system refuses to let any file grow beyond `size` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_failed_write_leaves_no_file(tmp_path, manifest, weights):
    with file_size_limit(500), pytest.raises(InputError, match=r"cannot write .*File too large"):
        write_artifact(tmp_path / "run", manifest, weights)
    assert list((tmp_path / "run").iterdir()) == []


def test_a_write_that_fails_at_the_manifest_is_no_solution(tmp_path, manifest, weights):
    size = len(safetensors.torch.save(weights))
    long = manifest.model_copy(update={"history": manifest.history * size})
    with file_size_limit(size), pytest.raises(InputError, match=r"cannot write .*manifest\.json"):
        write_artifact(tmp_path / "run", long, weights)
    assert [path.name for path in (tmp_path / "run").iterdir()] == [WEIGHTS]
    with pytest.raises(ArtifactError, match="holds no solution"):
        read_artifact(tmp_path / "run")


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("/proc/feynkac", "cannot create the folder /proc/feynkac: No such file or directory"),
        ("/proc/self", r"cannot write /proc/self/weights\.safetensors: No such file"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused(manifest, weights, place, message):
    with pytest.raises(InputError, match=message):
        write_artifact(Path(place), manifest, weights)


def test_a_file_in_the_way_is_kept(tmp_path, manifest, weights):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match=r"cannot create the folder .*Choose another place"):
        write_artifact(tmp_path / "file" / "run", manifest, weights)
    assert (tmp_path / "file").read_text() == "mine"
