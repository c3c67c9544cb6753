"""Versions of the code: what changes them and what does not."""

import pytest

from feynkac.benchmarks import version
from feynkac.benchmarks.version import code_version, hash_sources

PLAIN = "class A:\n    x: int = 1\n\n    def f(self):\n        return self.x\n"


@pytest.mark.parametrize(
    ("changed", "same"),
    [
        (PLAIN.replace("class A:\n", 'class A:\n    """Text."""\n'), True),
        (PLAIN.replace("= 1\n", '= 1  # one\n    """Of a field."""\n'), True),
        (PLAIN.replace("    return", '    """Text."""\n\n        return'), True),
        (PLAIN.replace("= 1", "= 2"), False),
        (PLAIN.replace("self.x", "-self.x"), False),
    ],
)
def test_only_code_counts(changed, same):
    assert (hash_sources([changed]) == hash_sources([PLAIN])) is same


def test_every_part_of_the_core_exists():
    assert all(version._sources(version.ROOT / part) for part in version.CORE)
    assert all((version.ROOT / part).exists() for part in version.CORE)


@pytest.mark.slow
def test_the_module_that_computes_counts_too():
    own = code_version(__name__)
    assert own != code_version() == code_version("feynkac.solver")
    assert own.split("+")[0] == code_version().split("+")[0]
