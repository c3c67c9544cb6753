"""The notebooks of the gallery: executed without an error, in public names, shown as they are."""

import ast
import importlib.util
import re
from pathlib import Path

import nbformat
import pytest

import feynkac as fk

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "gallery").glob("*.ipynb"))


def name_of(path):
    return path.stem


@pytest.fixture(scope="module")
def gallery():
    path = ROOT / "benchmarks" / "gallery.py"
    spec = importlib.util.spec_from_file_location("gallery", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def code(path):
    return [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]


def test_there_are_six():
    assert len(NOTEBOOKS) == 6


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_a_notebook_is_whole(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = code(path)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert outputs
    assert not [o for o in outputs if o.output_type == "error"]
    assert any("image/png" in o.get("data", {}) for o in outputs)


def dotted(node):
    """`fk.plot.sweep` as its parts, or nothing for what does not start with a name."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_a_notebook_uses_public_names_only(path):
    tree = ast.parse("\n".join(cell.source for cell in code(path)))
    imported = [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
    froms = [n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    assert not [name for name in [*imported, *froms] if name.startswith("feynkac.")]
    used = [dotted(n) for n in ast.walk(tree) if isinstance(n, ast.Attribute)]
    public = [parts for parts in used if parts[:1] == ["fk"]]
    assert public
    for parts in public:
        assert parts[1] in fk.__all__
        assert parts[1] != "plot" or len(parts) < 3 or parts[2] in fk.plot.__all__
    assert not [parts for parts in used if any(part.startswith("_") for part in parts)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_the_page_is_the_notebook(path, gallery):
    text, pictures = gallery.page(path)
    assert path.with_suffix(".md").read_text() == text
    assert pictures
    for name, content in pictures.items():
        assert (path.parent / name).read_bytes() == content


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_the_gallery_and_the_menu_name_it(path):
    place = f"gallery/{path.stem}.md"
    for page in (ROOT / "docs" / "gallery.md", ROOT / "mkdocs.yml"):
        assert re.search(re.escape(place), page.read_text())


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_a_notebook_runs(path, gallery, tmp_path):
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    gallery.execute(copy)
    assert not [o for c in code(copy) for o in c.outputs if o.output_type == "error"]
