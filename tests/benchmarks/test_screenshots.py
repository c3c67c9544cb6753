"""The first minutes: the script runs what its page says, and every block has its picture."""

import re

import pytest

screenshots = pytest.importorskip("benchmarks.screenshots")


def test_every_block_of_the_page_has_a_picture():
    found = screenshots.blocks()
    assert [block.language for block in found] == ["console"] * 6 + ["python"] * 5
    pictures = [picture for block in found for picture in block.pictures]
    assert all(block.pictures for block in found)
    assert sorted(pictures) == sorted(pictures[0].parent.glob("*.png"))


def test_commands_fit_into_the_terminal():
    commands = [command for block in screenshots.blocks() for command in block.commands]
    assert commands[0].startswith("feynkac query black-scholes")
    assert max(len(f"$ {command}") for command in commands) < screenshots.COLUMNS


def test_a_terminal_keeps_its_colours():
    page = screenshots.terminal_page("\x1b[1;32m$\x1b[0m feynkac --help <b>")
    assert re.search(r'<span style="color: #3fb950[^"]*font-weight: bold">\$</span>', page)
    assert "feynkac --help &lt;b&gt;" in page


def test_a_cell_shows_its_richest_output():
    data = {"text/html": "<table></table>", "text/plain": "a table"}
    output = screenshots.nbformat.v4.new_output("execute_result", data, execution_count=3)
    cell = screenshots.nbformat.v4.new_code_cell("x < 1", outputs=[output], execution_count=3)
    shown = screenshots.cell_html(cell)
    assert "In [3]:" in shown
    assert "Out[3]:" in shown
    assert "<table></table>" in shown
    assert "a table" not in shown
