"""What the ablations compare: networks with as many parameters as the paper prints."""

import pytest

import feynkac as fk
from feynkac.networks.network import Network
from feynkac.reproduction.ablations import BLACK_SCHOLES, PARABOLOID

VARIANTS = [(study, variant) for study in (BLACK_SCHOLES, PARABOLOID) for variant in study.variants]


@pytest.mark.parametrize(
    ("study", "variant"), VARIANTS, ids=[f"{s.name}: {v.name}" for s, v in VARIANTS]
)
def test_a_network_has_as_many_parameters_as_the_paper_s(study, variant):
    network = Network(variant.architecture, study.family.domain)
    assert network.parameter_count == variant.parameters


def test_all_combinations_are_there():
    found = {
        (type(a), getattr(a, "residual", None), a.norm)
        for a in (v.architecture for v in BLACK_SCHOLES.variants)
    }
    norms = ("layer", "none", "batch")
    assert found == {
        (kind, residual, norm)
        for kind, residual in (
            (fk.FeedForward, None),
            (fk.Multilevel, False),
            (fk.Multilevel, True),
        )
        for norm in norms
    }


def test_names_say_what_the_networks_are():
    for study, variant in VARIANTS:
        name, architecture = variant.name, variant.architecture
        assert name.startswith("feed-forward") == isinstance(architecture, fk.FeedForward)
        assert ("χ=1" in name) == getattr(architecture, "residual", False)
        assert architecture.norm in name
        assert architecture.factor == (5 if study is BLACK_SCHOLES else 4)


@pytest.mark.parametrize("study", [BLACK_SCHOLES, PARABOLOID], ids=lambda study: study.name)
def test_the_slowest_is_the_feed_forward_network_with_batch_normalisation(study):
    assert study.slowest.architecture == fk.FeedForward(factor=study.slowest.architecture.factor)
