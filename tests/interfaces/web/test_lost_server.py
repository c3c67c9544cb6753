"""A server that goes away and comes back, and one that is asked for a training under way."""

import subprocess

import pytest
from browsing import FEYNKAC, Server, Watched


@pytest.mark.slow
def test_a_lost_server_shows_a_banner_and_the_page_recovers(browser, runs):
    server = Server(runs).start()
    page = browser.new_page()
    watched = Watched(page, server.address)
    try:
        watched.open("#s=puts")
        server.stop()
        page.get_by_label("value of sigma").fill("0.5")
        page.get_by_text("The server does not answer").wait_for()
        server.start()  # at the same port
        page.get_by_text("The server does not answer").wait_for(state="detached", timeout=20_000)
        watched.settle()
        at = {"x": 9.5, "t": 0.5, "sigma": 0.5, "strike": 11.0}
        shown = page.get_attribute('[data-quantity="value"]', "data-value")
        assert float(shown) == server.ask("v1/solutions/puts/value", {"at": at})["value"]
    finally:
        server.stop()
        page.close()


@pytest.mark.slow
def test_a_token_that_no_header_can_carry_is_asked_for_again(browser, runs, tmp_path):
    token = tmp_path / "token"
    token.write_text("0123456789abcdef0123\n")
    server = Server([*runs, "--token-file", token]).start()
    page = browser.new_page()
    try:
        page.goto(server.address)
        for typed in ("пароль", " 0123456789abcdef0123 "):
            page.get_by_label("asks for its token").fill(typed)
            page.get_by_role("button", name="Continue").click()
        page.wait_for_selector('[data-quantity="value"][data-value]:not([data-value=""])')
    finally:
        server.stop()
        page.close()


@pytest.mark.slow
def test_a_training_is_followed_to_its_end(browser, tmp_path):
    folder = tmp_path / "night"
    training = subprocess.Popen(
        [*FEYNKAC, "solve", "black-scholes", "--steps=200", "--batch-size=64", f"--out={folder}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not folder.exists():
        assert training.poll() is None
    server = Server([folder]).start()
    page = browser.new_page()
    try:
        page.goto(server.address)
        page.get_by_text("running", exact=True).wait_for(timeout=60_000)
        page.get_by_role("button", name="Explore the solution").click(timeout=180_000)
        page.wait_for_selector('[data-quantity="value"][data-value]:not([data-value=""])')
    finally:
        server.stop()
        training.kill()
        training.wait()
        page.close()
