"""Count what is wider than a phone, and formulas as text, on each page of the built site.

python benchmarks/phone.py [--site site]  (needs chromium; `make docs` builds the site)

Chromium opens every page at 390 × 844 pixels, from a server on this machine alone. An element
counts if it reaches beyond the right edge and is not inside a box that scrolls. A formula is text
if a sign that prose has not stands outside code and outside what KaTeX has rendered.
"""

import argparse
import functools
import http.server
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import sync_playwright

WIDTH, HEIGHT = 390, 844
LOOK = r"""() => {
const SIGN = /[Α-Ωα-ω∂∇∫∑√‖²³⁰-⁹₀-₉ᵢⱼ½⟨⟩∞]|\b[a-zA-Z]_[a-zA-Z{]|\^\{/;
const body = document.body, wide = [], text = [];
function scrolls(element) {
  for (let box = element.parentElement; box && box !== body; box = box.parentElement) {
    const { overflowX } = getComputedStyle(box);
    if (["auto", "scroll"].includes(overflowX)) return true;
    if (overflowX === "hidden" && box.clientWidth <= 1) return true;
  }
  return false;
}
function hidden(element) {
  return !element.checkVisibility({ visibilityProperty: true }) ||
    element.closest(".md-sidebar, .md-search, .md-header, [hidden], .katex svg");
}
for (const element of body.querySelectorAll("*")) {
  const box = element.getBoundingClientRect();
  if (box.width > 0 && box.right > innerWidth + 1 && !hidden(element) && !scrolls(element))
    wide.push(element.tagName.toLowerCase() + "." + element.className);
}
const texts = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {
  const place = texts.currentNode.parentElement;
  if (place.closest("article") && SIGN.test(texts.currentNode.data) &&
      !place.closest("code, pre, script, style, .katex, .doc-heading"))
    text.push(texts.currentNode.data.trim());
}
const count = (what) => body.querySelectorAll(what).length;
const scroll = document.documentElement.scrollWidth;
return { wide, scroll, errors: count(".katex-error"), formulas: count(".katex"), text };
}"""


def measure(site: Path, chromium: str) -> dict[str, dict]:
    """By page: elements that are too wide, the width to scroll, formulas, their errors, texts."""
    files = [path for path in site.rglob("*.html") if path.name != "404.html"]  # not ours
    pages = sorted(str(path.relative_to(site)) for path in files)
    found: dict[str, dict] = {}
    with serving(site) as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        screen = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        for name in pages:
            screen.goto(f"{address}/{name}", wait_until="load")
            found[name] = screen.evaluate(LOOK)
            print(f"{len(found)} of {len(pages)} pages", end="\r", file=sys.stderr, flush=True)
        browser.close()
    return found


@contextmanager
def serving(site: Path) -> Iterator[str]:
    """The files of the site, on this machine alone."""
    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Files of a folder, without a line per request."""

    def log_message(self, *args: object) -> None:
        """Nothing."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", type=Path, default=Path("site"))
    parser.add_argument("--chromium", default=shutil.which("chromium") or "chromium")
    options = parser.parse_args()
    found = measure(options.site, options.chromium)
    clipped = {page: each for page, each in found.items() if each["wide"] or each["scroll"] > WIDTH}
    for page, each in clipped.items():
        print(f"{page}: {each['scroll']} pixels wide; {', '.join(dict.fromkeys(each['wide']))}")
    formulas, errors = (sum(each[key] for each in found.values()) for key in ("formulas", "errors"))
    texts = [(page, text) for page, each in found.items() for text in each["text"]]
    for page, text in texts:
        print(f"{page}: a formula as text in “{text}”")
    print(f"{len(found)} pages, {len(clipped)} clipped at {WIDTH} pixels")
    print(f"{formulas} formulas, {errors} that could not be rendered, {len(texts)} as text")
    sys.exit(bool(clipped or errors or texts))


if __name__ == "__main__":
    main()
