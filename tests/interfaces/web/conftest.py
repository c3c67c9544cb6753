"""A browser, and a real server with really trained solutions."""

import shutil

import pytest
from browsing import Server, Watched

import feynkac as fk
from feynkac.interfaces.web.page import HOME

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="session")
def browser():
    """Debian's chromium, driven by Playwright; without a built page, no test waits for it."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine")
    assert (HOME / "dist" / "index.html").is_file(), "the explorer is not built: run `make web`"
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """A good network of four inputs, and a poor one with a vector and a matrix."""
    folder = tmp_path_factory.mktemp("runs")
    fk.solve(fk.BlackScholes(), steps=12, batch_size=64, out=folder / "puts")
    fk.solve(fk.HeatParaboloid(dim=3), steps=1, batch_size=32, out=folder / "heat")
    return [folder / "puts", folder / "heat"]


@pytest.fixture(scope="module")
def server(runs):
    """Serves both runs."""
    found = Server(runs).start()
    yield found
    found.stop()


@pytest.fixture
def watched(browser, server):
    """A wide page in light colours on the server; at the end, nothing went wrong in it."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light")
    found = Watched(context.new_page(), server.address)
    yield found
    context.close()
    found.check()
