"""The torture counts its cases, finds what is broken, and writes what was measured."""

import json

import pytest
from benchmarks.torture import page
from benchmarks.torture.children import run
from benchmarks.torture.promise import Promise, Trial, put_to_the_test
from benchmarks.torture.promises import PROMISES
from benchmarks.torture.released import RELEASED


def promise(body):
    return Promise("a promise", "It says.", "It is tried.", body)


def test_a_broken_promise_is_found(capsys):
    def body(trial):
        trial.check(True, "good")
        trial.check(False, "bad")
        with trial.case("worse"):
            raise KeyError("x")
        raise ValueError("at last")

    found = put_to_the_test(promise(body), quick=True)
    assert found.cases == 3
    assert [text.partition(":")[0] for text in found.failures] == [
        "bad",
        "worse",
        "the trial itself broke off",
    ]
    assert "3 cases    3 failures" in found.line
    assert "worse: KeyError" in capsys.readouterr().err


def test_in_a_hurry_a_tenth_is_tried():
    assert (Trial(quick=True).count(200), Trial().count(200)) == (20, 200)
    assert Trial(quick=True).count(200, few=3) == 3


@pytest.mark.parametrize(
    ("body", "code"),
    [(lambda: 7, 0), (lambda: 1 / 0, 99), (lambda: exec("raise SystemExit(3)"), 3)],
)
def test_children_say_how_they_ended(body, code):
    end = run(body)
    assert end.code == code
    assert end.value == (7 if code == 0 else None)
    assert ("ZeroDivisionError" in end.output) == (code == 99)


@pytest.mark.slow
def test_a_child_that_hangs_is_ended():
    import time

    assert run(lambda: time.sleep(60), patience=0.2).code is None


def test_a_promise_that_is_kept_has_no_failures():
    found = put_to_the_test(RELEASED, quick=True)
    assert found.failures == []
    assert found.cases >= 4


def test_the_page_shows_what_was_measured_and_a_hurry_does_not_replace_it(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "KEPT", tmp_path / "kept.json")
    monkeypatch.setattr(page, "PAGE", tmp_path / "page.md")
    many, few = (promise(lambda t, n=n: [t.check(True, "") for _ in range(n)]) for n in (1200, 3))
    page.keep(put_to_the_test(many, quick=False), quick=False)
    page.keep(put_to_the_test(few, quick=True), quick=True)
    page.write_page((many,))
    assert json.loads(page.KEPT.read_text())["a promise"]["cases"] == 1200
    assert "| a promise | 1,200 | 0 |" in page.PAGE.read_text()


def test_the_published_page_is_that_of_the_kept_figures(tmp_path, monkeypatch):
    published = page.PAGE.read_text()
    monkeypatch.setattr(page, "PAGE", tmp_path / "page.md")
    page.write_page(PROMISES)
    assert page.PAGE.read_text() == published
    kept = json.loads(page.KEPT.read_text())
    assert kept.keys() <= {p.name for p in PROMISES}
