"""The built page: small, offline, and safe around any data."""

import json
import re
from pathlib import Path

import feynkac
from feynkac.interfaces.web.page import make_page

WEB = Path(feynkac.__file__).parent / "interfaces" / "web"
DIST = WEB / "dist"


def test_the_whole_front_end_has_at_most_120_kb():
    served = [DIST / "index.html", *(DIST / "assets").iterdir()]
    assert 50_000 < sum(path.stat().st_size for path in served) <= 120_000


def test_the_page_names_no_other_host_and_has_nothing_inline():
    text = (DIST / "index.html").read_text()
    assert "//" not in text
    assert not re.search(r"<style|style=|<script>|\son\w+=", text)
    bundle = (DIST / "assets" / "app.js").read_text()
    hosts = set(re.findall(r"https?://[\w.-]+", bundle))
    assert hosts <= {"http://www.w3.org"}  # the names of XML vocabularies


def test_licences_of_what_is_bundled_are_beside_it():
    text = (DIST / "LICENSES.txt").read_text()
    packages = json.loads((Path(__file__).parents[3] / "web" / "package.json").read_text())
    for name, version in packages["dependencies"].items():
        assert f"{name} {version}\n" in text
    assert text.count("MIT License") == len(packages["dependencies"])


def test_data_cannot_end_its_element():
    evil = "</script><script>alert(1)</script><!--"
    page = make_page("a <b> & c", {"note": evil})
    assert "<title>a &lt;b&gt; &amp; c</title>" in page
    block = re.search(r'<script type="application/json" id="report">(.*?)</script>', page, re.S)
    assert json.loads(block[1]) == {"note": evil}


def test_scripts_cannot_end_their_element():
    assert "</script" not in (WEB / "report.js").read_text()
