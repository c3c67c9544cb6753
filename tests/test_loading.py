"""Sizes in a file are compared with what else it says, before anything is built from them."""

import shutil

import pytest

import feynkac as fk
from feynkac.control import add_control
from feynkac.files import seal, unseal
from feynkac.runs.folder import CONTROL, RunFolder


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    fk.solve(fk.HeatParaboloid(dim=2), steps=2, batch_size=16, out=folder)
    return folder


@pytest.fixture
def folder(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "run")


def altered(folder, *path, value):
    """The manifest as a forger would write it: with the right checksum."""
    data = unseal((folder / "manifest.json").read_bytes())
    part = data
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = value
    (folder / "manifest.json").write_bytes(seal(data))


@pytest.mark.parametrize("dim", [10**4, 10**8, 10**30])
def test_a_dimension_that_the_domain_does_not_have(folder, dim):
    altered(folder, "run", "family", "fields", "dim", value=dim)
    with pytest.raises(fk.ArtifactError, match=rf"dim={dim}, but its domain only 7 inputs; copy"):
        fk.load(folder)


@pytest.mark.parametrize("name", ["depth", "width", "products"])
@pytest.mark.parametrize("size", [10**4, 10**9])
def test_a_size_that_the_weights_do_not_have(folder, name, size):
    altered(folder, "run", "method", "architecture", name, value=size)
    with pytest.raises(fk.ArtifactError, match=r"the weights in .* do not fit its manifest"):
        fk.load(folder)


@pytest.mark.parametrize("shape", [[10**9], [10**4, 10**4]])
def test_a_shape_that_the_bounds_do_not_have(folder, shape):
    altered(folder, "domain", "x", "shape", value=shape)
    with pytest.raises(fk.ArtifactError, match="no measure with"):
        fk.load(folder)


def test_a_control_elsewhere_is_refused_and_never_touched(folder, tmp_path):
    elsewhere = shutil.copytree(folder, tmp_path / "elsewhere")
    before = {path: path.read_bytes() for path in elsewhere.iterdir()}
    solution = fk.load(folder)
    (folder / CONTROL).symlink_to(elsewhere)
    with pytest.raises(fk.ArtifactError, match="control is a link, and a run is one folder"):
        fk.load(folder)
    (folder / "control.new").symlink_to(elsewhere)
    add_control(solution, budget=1.0, folder=folder)
    assert not (folder / CONTROL).is_symlink()
    (folder / "more").mkdir()
    shutil.rmtree(folder / CONTROL)
    (folder / CONTROL).symlink_to(elsewhere)
    RunFolder(folder).clear()
    assert [path.name for path in folder.iterdir()] == ["more"]
    assert {path: path.read_bytes() for path in elsewhere.iterdir()} == before
