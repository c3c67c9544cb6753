"""Run the commands of docs/first-minutes.md and photograph what they show.

python benchmarks/screenshots.py [--only notebook]  (two minutes; needs chromium and tmux)

The page is the script: each block of commands is run as it stands there, and the picture below it
is taken. Blocks of the shell run one after the other in a terminal of 100 columns, all Python
blocks in one notebook. The end of a picture's name says when it is taken: `-running` while the
command trains or serves, `-page` of what it serves, all others at the end.
"""

import argparse
import html
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from playwright.sync_api import Browser, sync_playwright
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "first-minutes.md"
COLUMNS, LINES = 100, 60
SECONDS = 180.0
"""After which a command is given up."""
SOCKET = "feynkac-screenshots"
PART = re.compile(r"^```(console|python)\n(.*?)^```$|^!\[[^\]]*\]\((images/[^)]+)\)$", re.M | re.S)
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/")
THEME = TerminalTheme(
    (13, 17, 23),
    (230, 237, 243),
    [
        (72, 79, 88), (255, 123, 114), (63, 185, 80), (210, 153, 34),
        (88, 166, 255), (188, 140, 255), (57, 197, 207), (177, 186, 196),
    ],
)  # fmt: skip
TERMINAL = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; background: white; }}
main {{ display: inline-block; margin: 4px; border: 1px solid #d0d7de; border-radius: 8px;
  overflow: hidden; background: #0d1117; }}
header {{ height: 28px; background: #21262d; display: flex; gap: 8px; padding-left: 12px;
  align-items: center; }}
header i {{ width: 11px; height: 11px; border-radius: 6px; background: #484f58; }}
pre {{ margin: 0; padding: 12px 14px; width: {columns}ch; color: #e6edf3;
  font: 14px/16px "DejaVu Sans Mono", monospace; }}
</style><main><header><i></i><i></i><i></i></header><pre>{text}</pre></main>"""
NOTEBOOK = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; background: white; font: 14px/1.45 "DejaVu Sans", sans-serif; color: #24292f; }}
main {{ display: inline-block; padding: 10px 14px; width: 880px; }}
.cell {{ display: grid; grid-template-columns: 64px minmax(0, 1fr); gap: 8px; margin: 4px 0; }}
.prompt {{ color: #6e7781; font: 12px/18px "DejaVu Sans Mono", monospace; text-align: right;
  padding-top: 9px; white-space: nowrap; }}
.code {{ background: #f6f8fa; border: 1px solid #d0d7de; border-radius: 3px; padding: 8px 10px; }}
pre {{ margin: 0; font: 13px/18px "DejaVu Sans Mono", monospace; white-space: pre-wrap; }}
.out {{ padding: 6px 0; min-width: 0; }}
img {{ max-width: 100%; }}
.dataframe {{ border-collapse: collapse; border: 0; font-size: 13px; }}
.dataframe th, .dataframe td {{ padding: 4px 10px; text-align: right; border: 0; }}
.dataframe thead tr {{ border-bottom: 1px solid #24292f; }}
.dataframe tbody tr:nth-child(odd) {{ background: #f6f8fa; }}
</style><main>{cells}</main>"""


@dataclass(frozen=True)
class Block:
    """Commands of the page, and the pictures below them."""

    language: str
    text: str
    pictures: tuple[Path, ...]

    @property
    def commands(self) -> list[str]:
        """The lines of the shell."""
        return re.findall(r"^\$ (.*)$", self.text, re.M)


def blocks(page: Path = PAGE) -> list[Block]:
    """All of the page."""
    found: list[Block] = []
    for language, text, picture in PART.findall(page.read_text()):
        if language:
            found.append(Block(language, text, ()))
        else:
            last = found[-1]
            pictures = (*last.pictures, page.parent / picture)
            found[-1] = Block(last.language, last.text, pictures)
    return found


# A terminal


@dataclass(frozen=True)
class Terminal:
    """A shell in tmux; its prompt signals the end of each command."""

    folder: Path

    def tmux(self, *arguments: str) -> str:
        """The output of a command of tmux."""
        command = ["tmux", "-L", SOCKET, "-f", "/dev/null", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS)
        return done.stdout

    def start(self) -> None:
        """The shell, with the programs of this Python."""
        shell = self.folder / "shell"
        shell.write_text(
            f"export PATH={Path(sys.executable).parent}:$PATH\n"
            f"export PROMPT_COMMAND='tmux -L {SOCKET} wait-for -S prompt'\n"
            "PS1='\\[\\e[1;32m\\]$\\[\\e[0m\\] '\n"
        )
        size = ["-x", str(COLUMNS), "-y", str(LINES)]
        bash = f"exec bash --noprofile --rcfile {shell} -i"
        self.tmux("new-session", "-d", *size, "-c", str(self.folder / "work"), bash)
        self.tmux("set-option", "-g", "status", "off")
        self.tmux("set-option", "-g", "history-limit", "10000")
        self.tmux("wait-for", "prompt")

    def begin(self, command: str) -> None:
        """Type a command."""
        self.tmux("send-keys", "-l", command)
        self.tmux("send-keys", "Enter")

    def end(self) -> None:
        """Wait for the next prompt."""
        self.tmux("wait-for", "prompt")

    def clear(self) -> None:
        """An empty screen."""
        self.begin("clear")
        self.end()
        self.tmux("clear-history")

    def seen(self) -> str:
        """The screen and what has left it, with colours; without the last, empty prompt."""
        text = self.tmux("capture-pane", "-e", "-p", "-S", "-").rstrip()
        plain = Text.from_ansi(text).plain.rstrip()
        return text.rpartition("\n")[0].rstrip() if plain.endswith("\n$") else text

    def wait_for(self, pattern: str) -> str:
        """What the screen shows once it shows this."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            if found := re.search(pattern, Text.from_ansi(self.seen()).plain):
                return found[0]
            time.sleep(0.1)
        raise TimeoutError(f"the terminal does not show {pattern!r}:\n{self.seen()}")


@contextmanager
def terminal() -> Iterator[Terminal]:
    """A terminal in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "work").mkdir()
        found = Terminal(Path(folder))
        found.start()
        try:
            yield found
        finally:
            found.tmux("kill-server")


def photograph_terminal(parts: list[Block], browser: Browser) -> None:
    """All blocks of the shell."""
    with terminal() as shell:
        for part in parts:
            shell.clear()
            for command in part.commands:
                print(f"$ {command}", file=sys.stderr, flush=True)
                shell.begin(command)
                serving = command.startswith("feynkac serve")
                for picture in part.pictures:
                    photograph_running(shell, picture, browser)
                if serving:
                    shell.tmux("send-keys", "C-c")
                shell.end()
            for picture in part.pictures:
                if not picture.stem.endswith(("-running", "-page")):
                    draw(browser, terminal_page(shell.seen()), picture)


def photograph_running(shell: Terminal, picture: Path, browser: Browser) -> None:
    """A picture that is taken before the command ends."""
    if picture.stem.endswith("-running"):
        shell.wait_for(ADDRESS.pattern + r"|training .*step \d*[4-9]\d/")
        draw(browser, terminal_page(shell.seen()), picture)
    elif picture.stem.endswith("-page"):
        view = browser.new_page(viewport={"width": 1280, "height": 860}, color_scheme="light")
        view.goto(shell.wait_for(ADDRESS.pattern))
        view.wait_for_selector('[data-quantity="delta"][data-value]:not([data-value=""])')
        view.wait_for_timeout(1000)
        view.screenshot(path=picture)
        view.close()


def terminal_page(text: str) -> str:
    """What the terminal shows, as HTML."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(text), soft_wrap=True, end="")
    code = console.export_html(theme=THEME, inline_styles=True, code_format="{code}")
    return TERMINAL.format(columns=COLUMNS, text=code)


# A notebook


def photograph_notebook(parts: list[Block], browser: Browser) -> None:
    """All blocks of Python, as cells of one notebook."""
    cells = [nbformat.v4.new_code_cell(part.text.strip()) for part in parts]
    notebook = nbformat.v4.new_notebook(cells=cells)
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        NotebookClient(notebook, timeout=SECONDS, resources=resources).execute()
    for part, cell in zip(parts, notebook.cells, strict=True):
        for picture in part.pictures:
            draw(browser, NOTEBOOK.format(cells=cell_html(cell)), picture)


def cell_html(cell: Any) -> str:
    """A cell and its outputs."""
    count = cell.execution_count
    code = highlight(cell.source, PythonLexer(), HtmlFormatter(noclasses=True, nobackground=True))
    rows = [row(f"In [{count}]:", f'<div class="code">{code}</div>')]
    for output in cell.outputs:
        prompt = f"Out[{count}]:" if output.output_type == "execute_result" else ""
        if shown := output_html(output):
            rows.append(row(prompt, f'<div class="out">{shown}</div>'))
    return "".join(rows)


def row(prompt: str, content: str) -> str:
    """A prompt and what stands beside it."""
    return f'<div class="cell"><div class="prompt">{prompt}</div>{content}</div>'


def output_html(output: Any) -> str:
    """One output in its richest form."""
    if output.output_type == "stream":
        return f"<pre>{html.escape(output.text)}</pre>"
    if output.output_type == "error":
        raise RuntimeError("\n".join(output.traceback))
    data = output.data
    if "text/html" in data:
        return data["text/html"]
    if "image/png" in data:
        return f'<img src="data:image/png;base64,{data["image/png"]}">'
    return f"<pre>{html.escape(data.get('text/plain', ''))}</pre>"


# Pictures


def draw(browser: Browser, content: str, picture: Path) -> None:
    """The main element of a page as PNG."""
    view = browser.new_page(
        viewport={"width": 1000, "height": 800}, device_scale_factor=1.5, color_scheme="light"
    )
    view.set_content(content)
    picture.parent.mkdir(parents=True, exist_ok=True)
    view.locator("main").screenshot(path=picture)
    view.close()
    print(f"{picture.name}: {picture.stat().st_size / 1000:.0f} kB", file=sys.stderr, flush=True)


def main() -> None:
    """Parse options, run all blocks, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["terminal", "notebook"])
    options = parser.parse_args()
    os.environ.setdefault("COLORTERM", "truecolor")
    found = blocks()
    with sync_playwright() as driver:
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        if options.only != "notebook":
            photograph_terminal([b for b in found if b.language == "console"], browser)
        if options.only != "terminal":
            photograph_notebook([b for b in found if b.language == "python"], browser)
        browser.close()


if __name__ == "__main__":
    main()
