"""Phases reach whoever listens, in order, and nobody else."""

import feynkac as fk
from feynkac.phases import Phase, enter, heard, listening, tell


def test_nobody_need_listen():
    assert not heard()
    tell(Phase("training"))
    enter("certifying")(0.5)


def test_only_the_innermost_listener_hears():
    outer, inner = [], []
    with listening(outer.append):
        tell(Phase("a"))
        with listening(inner.append):
            assert heard()
            tell(Phase("b"))
        tell(Phase("c"))
    assert [phase.name for phase in outer] == ["a", "c"]
    assert [phase.name for phase in inner] == ["b"]
    assert not heard()


def test_a_listener_is_gone_after_an_error():
    try:
        with listening(lambda _: None):
            raise RuntimeError
    except RuntimeError:
        assert not heard()


def test_the_fraction_goes_to_both():
    heard_phases, reported = [], []
    with listening(heard_phases.append):
        enter("certifying", reported.append)(0.25)
    assert heard_phases == [Phase("certifying"), Phase("certifying", 0.25)]
    assert reported == [0.25]


def names(compute):
    """Names of the phases of a computation, each once in a row."""
    found = []
    with listening(lambda phase: found.append(phase.name)):
        compute()
    return [name for i, name in enumerate(found) if i == 0 or found[i - 1] != name]


def test_a_solve_names_all_it_does():
    found = names(lambda: fk.solve(fk.BlackScholes(), steps=2, batch_size=64, evaluations=1))
    assert found[0] == "checking the family"
    for phase in ("choosing the scheme", "choosing the noise", "planning the run", "training"):
        assert phase in found
    assert found[-2:] == ["measuring the error", "training"]


def test_other_long_calls_do_too(tmp_path):
    u = fk.solve("black-scholes", steps=2, batch_size=64, out=tmp_path)
    at = {"x": 9.5, "t": 0.5, "strike": 11.0}
    problem = u.observe(["sigma"], [1.9], at, noise=0.1)
    start = u.calibrate(problem)
    again = lambda: fk.solve("black-scholes", steps=2, batch_size=64, out=tmp_path)  # noqa: E731
    calls = {
        "measuring the error": lambda: u.error(64),
        "certifying": lambda: u.certify(at, sigma=0.3, effort=fk.Effort(seconds=0.01)),
        "calibrating": lambda: u.calibrate(problem),
        "sampling the posterior": lambda: u.posterior(problem, start, steps=100),
        "evaluating": lambda: u.uncertainty(samples=64),
        "reading the finished result": again,
    }
    for name, call in calls.items():
        assert names(call)[-1] == name
    assert names(lambda: u.error_map(4)) == ["certifying"]
    assert names(lambda: fk.check(fk.HeatGaussian(dim=2)))[0] == "checking the family"
