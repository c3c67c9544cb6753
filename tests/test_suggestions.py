"""What was meant by a mistyped name, in every place that takes names."""

import pytest

from feynkac.suggestions import did_you_mean


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("sgima", ["x", "sigma"], " Did you mean 'sigma'?"),
        ("STRIKE", ["strike"], " Did you mean 'strike'?"),
        ("rate", ["x", "t"], ""),
        ("x", [], ""),
    ],
)
def test_a_close_name_is_proposed(name, known, meant):
    assert did_you_mean(name, known) == meant
