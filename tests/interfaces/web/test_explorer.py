"""The explorer as a person uses it: a real browser on a real server with trained solutions."""

import csv
import io
import math
import statistics

import pytest

MOVE = """
([selector, part]) => new Promise((done) => {
  const slider = document.querySelector(selector);
  const view = document.querySelector('.view');
  const canvas = view.querySelector('canvas');
  const before = canvas.toDataURL();
  const start = performance.now();
  slider.value = Math.round(1000 * part);
  slider.dispatchEvent(new Event('input', { bubbles: true }));
  const look = () => {
    const now = performance.now();
    const settled = view.dataset.key === view.dataset.wanted && canvas.toDataURL() !== before;
    if (settled) done(now - start);
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})
"""
PICTURE = "() => document.querySelector('.view canvas').toDataURL()"
LATE = """
(() => {
  const real = window.fetch;
  let count = 0;
  window.fetch = async (...question) => {
    const reply = await real(...question);
    const pause = [350, 5, 200, 60, 0][count++ % 5];
    await new Promise((done) => setTimeout(done, pause));
    return reply;
  };
  window.stale = [];
  addEventListener('DOMContentLoaded', () => {
    new MutationObserver((changes) => {
      for (const { target } of changes) {
        if (target.dataset.key !== target.dataset.wanted) window.stale.push(target.className);
      }
    }).observe(document.body, { attributes: true, attributeFilter: ['data-key'], subtree: true });
  });
})()
"""


MOVES = 20
MOST_MILLISECONDS = 150.0
"""The median must be below it on a machine that does other things too; measured: 6 to 72."""


def slider(name):
    return f'input[type=range][aria-label="{name}"]'


def value_of(page, quantity="value"):
    return float(page.get_attribute(f'[data-quantity="{quantity}"]', "data-value"))


def point_of(page, names=("x", "t", "sigma", "strike")):
    boxes = [page.locator(f'[aria-label="value of {name}"]').input_value() for name in names]
    return dict(zip(names, map(float, boxes), strict=True))


def test_numbers_on_the_page_are_those_of_the_service(watched, server):
    page = watched.open("#s=puts&p=x:9.25;sigma:0.4")
    at = {"x": 9.25, "t": 0.5, "sigma": 0.4, "strike": 11.0}
    names = ["delta", "gamma", "vega", "theta", "vanna", "volga"]
    body = {"at": at, "quantities": names, "closed_form": True}
    found = server.ask("v1/solutions/puts/greeks", body)
    for name in ["value", *names]:
        assert value_of(page, name) == found["values"][name]
        tile = page.locator(f'[data-quantity="{name}"] .tile-note span')
        shown = tile.get_attribute("title").removeprefix("closed form ").replace("−", "-")
        assert float(shown) == pytest.approx(found["closed_form"][name], rel=1e-6, abs=1e-6)


def test_every_control_moves_the_plot_at_once(watched):
    page = watched.open("#s=puts")
    times = {}
    for name in ("t", "sigma", "strike", "x"):  # x moves the marker along its own axis
        parts = [(0.1 + 0.37 * place) % 1.0 for place in range(MOVES)]
        times[name] = sorted(page.evaluate(MOVE, [slider(name), part]) for part in parts)
        low, *_, high = times[name]
        median = statistics.median(times[name])
        print(f"{name}: {median:.0f} ms ({low:.0f} to {high:.0f}) in {MOVES} moves")  # noqa: T201
    assert all(statistics.median(found) < MOST_MILLISECONDS for found in times.values()), times


def test_numbers_that_have_not_come_yet_are_not_shown_as_missing(watched):
    """A dash says that there is no such number; before the first answer nobody knows."""
    waiting = []
    page = watched.page
    page.route("**/greeks", lambda route: waiting.append(route))
    page.goto(watched.base + "#s=puts")
    page.wait_for_selector(".tile-value")
    assert set(page.locator(".tile-value").all_text_contents()) == {"…"}
    for route in waiting:
        route.continue_()
    watched.settle()
    assert not {"…", "–"} & set(page.locator(".tile-value").all_text_contents())


def test_a_page_is_usable_one_second_after_opening(watched):
    watched.open("#s=puts")  # the first visit warms the server up
    times = [math.inf]
    while len(times) < 11 and min(times) >= 1000.0:  # another program may delay some
        watched.page.reload()
        watched.settle()
        times.append(watched.page.evaluate("performance.now()"))
    assert min(times) < 1000.0, times


def test_fast_dragging_never_shows_a_stale_result(watched, server):
    watched.page.add_init_script(LATE)
    page = watched.open("#s=puts")
    handle = page.locator(slider("sigma"))
    box = handle.bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, y)
    page.mouse.down()
    for step in range(40):
        page.mouse.move(box["x"] + box["width"] * (0.1 + 0.02 * step), y)
    page.mouse.up()
    watched.settle()
    page.wait_for_timeout(450)  # the slowest of the old answers has come by now
    assert page.evaluate("window.stale") == []
    at = point_of(page)
    assert at["sigma"] > 0.5
    found = server.ask("v1/solutions/puts/value", {"at": at})
    assert value_of(page) == pytest.approx(found["value"], abs=1e-7)


def test_a_value_box_takes_numbers_and_refuses_others(watched):
    page = watched.open("#s=puts")
    box = page.get_by_label("value of sigma")
    box.fill("0.25")
    watched.settle()
    assert point_of(page)["sigma"] == 0.25
    before = value_of(page)
    box.fill("7")
    assert box.get_attribute("aria-invalid") == "true"
    assert "from 0.1 to 0.6" in box.get_attribute("title")
    box.blur()
    assert point_of(page)["sigma"] == 0.25
    assert value_of(page) == before


def test_the_address_restores_the_state(watched, browser, server):
    page = watched.open("#s=puts")
    page.get_by_role("combobox", name="Show").select_option("vega")
    page.get_by_role("combobox", name="along").select_option("sigma")
    page.get_by_label("value of x").fill("9.75")
    page.get_by_role("checkbox", name="closed form").uncheck()
    watched.settle()
    page.wait_for_function("() => location.hash.includes('9.75')")
    other = browser.new_page()
    other.goto(page.url)
    other.wait_for_selector('[data-quantity="vega"][data-value]:not([data-value=""])')
    assert other.get_by_role("combobox", name="Show").input_value() == "vega"
    assert other.get_by_role("combobox", name="along").input_value() == "sigma"
    assert not other.get_by_role("checkbox", name="closed form").is_checked()
    assert point_of(other) == point_of(page)
    other.close()


def test_an_address_of_nonsense_opens_the_page_as_it_starts(watched):
    page = watched.open("#s=nothing&v=magic&q=zzz&a=qqq&p=x:99;y:1;sigma:abc;t:&o=7")
    assert point_of(page) == {"x": 9.5, "t": 0.5, "sigma": 0.35, "strike": 11.0}


@pytest.mark.slow
@pytest.mark.parametrize("key", ["r", "Shift+R"])
def test_random_and_reset_by_button_and_by_key(watched, key):
    page = watched.open("#s=puts")
    start = point_of(page)
    page.get_by_role("button", name="Random").click()
    watched.settle()
    assert point_of(page) != start
    page.get_by_role("button", name="Reset").click()
    watched.settle()
    assert point_of(page) == start
    page.keyboard.press(key)
    watched.settle()
    assert point_of(page) != start
    page.keyboard.press("0")
    watched.settle()
    assert point_of(page) == start
    page.locator(slider("t")).focus()
    page.keyboard.press("ArrowRight")
    watched.settle()
    assert point_of(page)["t"] == pytest.approx(0.501)
    page.get_by_role("tab", name="Curve").focus()
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("tab", name="Surface").get_attribute("aria-selected") == "true"
    watched.settle()


def test_downloads_are_what_the_plot_shows(watched, server):
    page = watched.open("#s=puts&q=delta")
    with page.expect_download() as caught:
        page.get_by_role("button", name="CSV").click()
    rows = list(csv.DictReader(io.StringIO(caught.value.path().read_text())))
    body = {
        "over": [{"name": "x", "points": 101}],
        "at": {"x": 9.5, "t": 0.5, "sigma": 0.35, "strike": 11.0},
        "quantities": ["delta"],
        "closed_form": True,
    }
    found = server.ask("v1/solutions/puts/slice", body)
    assert [float(row["delta"]) for row in rows] == found["values"]["delta"]
    assert [float(row["closed form"]) for row in rows] == found["closed_form"]["delta"]
    with page.expect_download() as caught:
        page.get_by_role("button", name="PNG").click()
    assert caught.value.path().read_bytes().startswith(b"\x89PNG")
    assert caught.value.suggested_filename == "puts-delta-x.png"


def test_a_surface_and_its_error(watched):
    page = watched.open("#s=puts&v=surface")
    value = page.evaluate(PICTURE)
    page.get_by_role("checkbox", name="error").check()
    page.wait_for_function(f"(old) => ({PICTURE})() !== old", arg=value)
    page.get_by_role("checkbox", name="error").uncheck()
    box = page.locator(".heat canvas").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.3, box["y"] + box["height"] * 0.3)
    watched.settle()
    moved = point_of(page)
    assert 9.0 < moved["x"] < 9.5
    assert 0.5 < moved["t"] < 1.0


def test_certified_points_over_a_curve(watched):
    page = watched.open("#s=puts")
    page.get_by_role("button", name="Certify").click()
    page.wait_for_selector("text=certified, 95 %", timeout=30_000)
    assert page.get_by_text("simulated values by at most").is_visible()
    page.get_by_label("value of t").fill("0.8")  # another curve: the points are not about it
    watched.settle()
    assert page.locator("text=certified, 95 %").count() == 0


def test_vectors_and_matrices_have_groups_search_and_all_equal(watched, server):
    page = watched.open("#s=heat")
    assert page.locator("details").count() == 2
    page.get_by_label("Search inputs").fill("sigma[1,2]")
    assert page.locator(slider("sigma[1, 2]")).is_visible()
    assert page.locator(slider("x[0]")).count() == 0
    page.get_by_label("value of sigma[1, 2]").fill("0.7")
    page.get_by_label("Search inputs").fill("")
    page.get_by_label("value of all entries of x").fill("0.8")
    watched.settle()
    assert point_of(page, ["x[0]", "x[1]", "x[2]"]) == dict.fromkeys(["x[0]", "x[1]", "x[2]"], 0.8)
    start = server.ask("v1/solutions/heat")["variables"]
    sigma = next(v for v in start if v["name"] == "sigma")
    flat = sigma["default"].copy()
    flat[sigma["entries"].index("sigma[1, 2]")] = 0.7
    matrix = [flat[:3], flat[3:6], flat[6:]]
    at = {"x": [0.8] * 3, "t": 0.5, "sigma": matrix}
    assert value_of(page) == server.ask("v1/solutions/heat/value", {"at": at})["value"]
    page.get_by_role("combobox", name="Show").select_option("∂u/∂sigma[1, 2]")
    watched.settle()
    body = {"at": at, "quantities": ["∂u/∂sigma[1, 2]"]}
    found = server.ask("v1/solutions/heat/greeks", body)["values"]["∂u/∂sigma[1, 2]"]
    assert value_of(page, "∂u/∂sigma[1, 2]") == pytest.approx(found, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (768, "dark"), (1440, "light")])
def test_nothing_is_cut_off_at_any_width(browser, server, width, scheme):
    context = browser.new_context(
        viewport={"width": width, "height": 844}, color_scheme=scheme, has_touch=width < 500
    )
    page = context.new_page()
    for fragment in ("#s=puts", "#s=heat&v=surface", "#s=puts&v=calibrate"):
        page.goto(server.address + fragment)
        page.wait_for_selector(".view")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, fragment
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    context.close()


def test_numbers_and_words_fit_on_a_narrow_phone(browser, server):
    context = browser.new_context(viewport={"width": 360, "height": 740}, has_touch=True)
    page = context.new_page()
    page.goto(server.address + "#s=heat&v=surface")
    page.wait_for_selector(".legend .hint")
    page.get_by_label("value of all entries of x").fill("0.0866025")
    page.wait_for_selector(".tile")
    wide = (
        "nodes => nodes.filter(n => n.scrollWidth > n.clientWidth).map(n => n.value || n.innerText)"
    )
    assert page.eval_on_selector_all("input.value, .tile, .tabs", wide) == []
    hint, button = page.locator(".legend .hint"), page.get_by_role("button", name="PNG")
    assert hint.bounding_box()["x"] + hint.bounding_box()["width"] <= button.bounding_box()["x"]
    context.close()


def test_a_theme_is_remembered(watched):
    page = watched.open("#s=puts")
    page.get_by_role("button", name="Use dark colours").click()
    page.reload()
    watched.settle()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(13, 17, 23)"


def test_quotes_are_fitted(watched, server, tmp_path):
    strikes = [10.0, 10.5, 11.0, 11.5, 12.0]
    at = {"x": 9.5, "t": [[0.25], [0.75]], "sigma": 0.42, "strike": strikes}
    values = server.ask("v1/solutions/puts/value", {"at": at})["value"]
    rows = [
        f"{strike},{t},{values[i][j]},0.001"
        for i, t in enumerate((0.25, 0.75))
        for j, strike in enumerate(strikes)
    ]
    sheet = tmp_path / "quotes.csv"
    sheet.write_text("\n".join(["strike,t,value,noise", *rows]))
    page = watched.page
    page.goto(server.address + "#s=puts&v=calibrate")
    page.set_input_files("input[type=file]", sheet)
    page.get_by_role("button", name="Fit").click()
    page.wait_for_selector("text=Explore at this estimate", timeout=30_000)
    assert page.locator("figure").count() == 3  # two smiles and the residuals
    page.get_by_role("button", name="Explore at this estimate").click()
    watched.settle()
    assert point_of(page)["sigma"] == pytest.approx(0.42, abs=1e-3)


def test_a_quote_sheet_as_people_have_it_is_fitted(watched, server, tmp_path):
    rows = [f"{k};6M;{v}" for k, v in ((10, "42,0"), (10.5, "41,9"), (11, "42,1"), (11.5, "42,0"))]
    sheet = tmp_path / "smile.csv"
    sheet.write_text("\n".join(["Spot;9,5", "Strike;Expiry;Implied vol (%)", *rows]))
    page = watched.page
    page.goto(server.address + "#s=puts&v=calibrate")
    page.set_input_files("input[type=file]", sheet)
    page.wait_for_selector("text=no rate is given: 0 is taken", timeout=30_000)
    page.get_by_label("rate", exact=True).fill("0")
    page.get_by_role("button", name="Fit").click()
    page.wait_for_selector("text=no rate is given", state="detached", timeout=30_000)
    page.wait_for_selector("text=Explore at this estimate")
    assert page.locator("figcaption").all_text_contents() == ["t = 0.5"]
    with page.expect_download() as caught:
        page.get_by_role("button", name="PNG").click()
    assert caught.value.path().read_bytes().startswith(b"\x89PNG")
    page.get_by_role("button", name="Explore at this estimate").click()
    watched.settle()
    assert point_of(page)["sigma"] == pytest.approx(0.42, abs=5e-3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("strike,value\n10,1.2\n10,5,1,3\n", ", line 3 has 4 cells, the first line 2."),
    ],
)
def test_a_wrong_sheet_gets_a_sentence(watched, server, tmp_path, text, said):
    sheet = tmp_path / "quotes.csv"
    sheet.write_text(text)
    page = watched.page
    page.goto(server.address + "#s=puts&v=calibrate")
    page.set_input_files("input[type=file]", sheet)
    page.wait_for_selector(f"text=quotes.csv{' ' * (said[0] != ',')}{said}")


def test_the_error_map_leads_to_the_worst_input(watched, server):
    page = watched.page
    page.goto(server.address + "#s=puts&v=errors")
    page.get_by_role("button", name="go to that input").click(timeout=60_000)
    watched.settle()
    worst = server.ask("v1/solutions/puts/error-map?inputs=256&output=0")["worst"]["at"]
    assert point_of(page) == pytest.approx(worst, rel=1e-5)
