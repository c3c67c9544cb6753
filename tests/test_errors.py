"""The four errors: each can be caught as ours and as the built-in it resembles."""

import pytest

from feynkac.errors import ArtifactError, FeynkacError, InputError, Interrupted, NonFiniteError


@pytest.mark.parametrize(
    ("error", "caught_as"),
    [
        (InputError, {FeynkacError, ValueError}),
        (ArtifactError, {FeynkacError, InputError, ValueError}),
        (NonFiniteError, {FeynkacError, ArithmeticError}),
        (Interrupted, {FeynkacError}),
    ],
)
def test_errors_are_caught_as_ours_and_as_the_usual_kind(error, caught_as):
    kinds = {FeynkacError, InputError, ArtifactError, ValueError, ArithmeticError, OSError}
    assert {kind for kind in kinds - {error} if issubclass(error, kind)} == caught_as
    with pytest.raises(FeynkacError, match="one sentence"):
        raise error("one sentence")
