"""Count what is wider than a phone, and formulas as text, on each page of the built site.

python benchmarks/phone.py [--site site]  (needs chromium; `make docs` builds the site)

Chromium loads every page into a frame of 390 × 844 pixels, from a server on this machine alone. An
element counts if it reaches beyond the right edge and is not inside a box that scrolls. A formula
is text if a sign that prose has not stands outside code and outside what KaTeX has rendered.
"""

import argparse
import functools
import html
import http.server
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

WIDTH, HEIGHT = 390, 844
MILLISECONDS_PER_PAGE = 4000
BATCH = 12  # pages that one browser opens
PROBE = """<!doctype html><body><iframe id="phone" style="width:WIDTHpx;height:HEIGHTpx;border:0">
</iframe><pre id="found"></pre><script>
const SIGN = /[Α-Ωα-ω∂∇∫∑√‖²³⁰-⁹₀-₉ᵢⱼ½⟨⟩∞]|\\b[a-zA-Z]_[a-zA-Z{]|\\^\\{/;
const pages = PAGES, frame = document.getElementById("phone"), found = {};
function scrolls(element, root) {
  for (let box = element.parentElement; box && box !== root; box = box.parentElement) {
    const style = frame.contentWindow.getComputedStyle(box);
    if (["auto", "scroll"].includes(style.overflowX)) return true;
    if (style.overflowX === "hidden" && box.clientWidth <= 1) return true;
  }
  return false;
}
function hidden(element) {
  return !element.checkVisibility({visibilityProperty: true}) ||
    element.closest(".md-sidebar, .md-search, .md-header, [hidden]");
}
function asText(body) {
  const found = [], texts = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const place = texts.currentNode.parentElement;
    if (place.closest("article") && SIGN.test(texts.currentNode.data) &&
        !place.closest("code, pre, script, style, .katex"))
      found.push(texts.currentNode.data.trim());
  }
  return found;
}
function look() {
  const body = frame.contentDocument.body, wide = [];
  for (const element of body.querySelectorAll("*")) {
    const box = element.getBoundingClientRect();
    if (box.width > 0 && box.right > WIDTH + 1 && !hidden(element) && !scrolls(element, body))
      wide.push(element.tagName.toLowerCase() + "." + element.className);
  }
  const errors = body.querySelectorAll(".katex-error").length;
  const formulas = body.querySelectorAll(".katex").length;
  const scroll = frame.contentDocument.documentElement.scrollWidth;
  return {wide, scroll, errors, formulas, text: asText(body)};
}
async function run() {
  for (const page of pages) {
    await new Promise((done) => { frame.onload = done; frame.src = page; });
    await new Promise((done) => setTimeout(done, 300));
    found[page] = look();
  }
  document.getElementById("found").textContent = JSON.stringify(found);
}
run();
</script></body>"""


def measure(site: Path, chromium: str) -> dict[str, dict]:
    """By page: elements that are too wide, the width to scroll, formulas and their errors."""
    files = [path for path in site.rglob("*.html") if path.name != "404.html"]  # not ours
    pages = sorted("/" + str(path.relative_to(site)) for path in files)
    found: dict[str, dict] = {}
    for start in range(0, len(pages), BATCH):
        found |= _look(site, chromium, pages[start : start + BATCH])
        print(f"{len(found)} of {len(pages)} pages", file=sys.stderr, flush=True)
    return found


def _look(site: Path, chromium: str, pages: list[str]) -> dict[str, dict]:
    """Some pages, in one browser."""
    text = PROBE.replace("WIDTH", str(WIDTH)).replace("HEIGHT", str(HEIGHT))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "site"
        shutil.copytree(site, root)
        (root / "probe.html").write_text(text.replace("PAGES", json.dumps(pages)))
        handler = functools.partial(Quiet, directory=str(root))
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            address = f"http://127.0.0.1:{server.server_port}/probe.html"
            said = _browse(chromium, address, len(pages) * MILLISECONDS_PER_PAGE, folder)
            server.shutdown()
    found = re.search(r'<pre id="found">(.*?)</pre>', said, re.S)
    if found is None or not found.group(1):
        sys.exit("chromium did not finish; give it more time.")
    return json.loads(html.unescape(found.group(1)))


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Files of a folder, without a line per request."""

    def log_message(self, *args: object) -> None:
        """Nothing."""


def _browse(chromium: str, address: str, milliseconds: int, folder: str) -> str:
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += [f"--user-data-dir={folder}/profile", f"--virtual-time-budget={milliseconds}"]
    done = subprocess.run([*command, address], capture_output=True, text=True, check=True)
    return done.stdout


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
