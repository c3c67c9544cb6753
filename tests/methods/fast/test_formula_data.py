"""Labels of a closed form: exact values and slopes, and a training on them."""

import pytest
import torch

import feynkac as fk
from feynkac.errors import InputError
from feynkac.methods.fast.formula_data import FormulaData


def test_labels_are_the_closed_form_and_its_slopes(generator):
    family = fk.BlackScholes()
    batch = FormulaData(family, 64).sample(generator)
    exact = batch.inputs.double()
    at = family.domain.split(exact)
    torch.testing.assert_close(batch.values.double(), family.closed_form(*at), rtol=1e-6, atol=1e-6)
    partials = family.closed_partials(*at)
    for column, name in enumerate(family.domain.measures):
        found = batch.gradients[:, column].double()
        torch.testing.assert_close(found, partials[name].squeeze(-1), rtol=1e-4, atol=1e-5)


def test_a_training_on_a_formula_simulates_nothing_and_is_recorded(tmp_path):
    family = fk.Cev()
    solution = fk.solve(family, fk.Fast(formula=True), steps=30, evaluations=1, out=tmp_path)
    assert solution.error(2000).l1 < 0.002
    assert fk.load(tmp_path).manifest.run.method.formula
    assert not fk.load(tmp_path).manifest.run.method.simulates


@pytest.mark.parametrize(
    ("family", "settings"),
    [(fk.Sabr(), {}), (fk.BlackScholes(), {"optimiser": fk.AdamW()})],
    ids=["without a closed form", "values only"],
)
def test_what_cannot_be_fitted_to_a_formula_is_refused(family, settings):
    with pytest.raises(InputError, match="need a family with a closed form"):
        fk.solve(family, fk.Fast(formula=True, **settings), steps=1)
