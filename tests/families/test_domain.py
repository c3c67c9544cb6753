"""Domains: flat and split inputs, broadcasting, sampling, normalisation, membership, bad input."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from feynkac.errors import InputError
from feynkac.families.domain import Domain
from feynkac.families.exchange import in_order
from feynkac.families.measures.beta import Beta
from feynkac.families.measures.box import Box
from feynkac.families.measures.log_uniform import LogUniform
from feynkac.families.measures.normal import Normal
from feynkac.families.measures.sampled import Sampled

PUT = Domain(x=Box(9, 10), t=Box(0, 1), sigma=Box(0.1, 0.6), strike=Box(10, 12))
MATRIX = Domain(x=Box(0, 1, shape=(2,)), t=Box(0, 1), a=Box(-1, 1, shape=(2, 3)))
AT = {"x": 9.5, "t": 0.5, "sigma": 0.3, "strike": 11.0}

unhurried = settings(deadline=None)  # the machine may be busy

SHAPES = st.lists(st.integers(1, 3), max_size=3).map(tuple)
SEEDS = st.integers(0, 2**32)


@st.composite
def boxes(draw, shapes=SHAPES):
    shape = draw(shapes)
    bounds = st.tuples(st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
    size = math.prod(shape)
    drawn = draw(st.lists(bounds, min_size=size, max_size=size))
    low, width = np.array(drawn).T.reshape(2, *shape)
    return Box(low, low + width, shape=shape)


@st.composite
def domains(draw):
    names = draw(st.lists(st.sampled_from(["sigma", "mu", "strike"]), unique=True))
    x = draw(boxes(SHAPES.filter(lambda shape: len(shape) < 2)))
    t = Box(0.0, draw(st.floats(0.1, 10.0)))
    return Domain(x=x, t=t, **{name: draw(boxes()) for name in names})


@st.composite
def domains_with_values(draw):
    """A domain, and one value a variable inside it, with leading axes that broadcast."""
    domain = draw(domains())
    count = len(domain.measures)
    leads = draw(mutually_broadcastable_shapes(num_shapes=count, max_dims=3, max_side=3))
    generator = torch.Generator().manual_seed(draw(SEEDS))
    values = {}
    for (name, box), lead in zip(domain.measures.items(), leads.input_shapes, strict=True):
        weight = torch.rand((*lead, *box.shape), generator=generator, dtype=torch.float64)
        low = torch.tensor(box.low, dtype=torch.float64).reshape(box.shape)
        high = torch.tensor(box.high, dtype=torch.float64).reshape(box.shape)
        values[name] = torch.lerp(low, high, weight)
    return domain, values, leads.result_shape


def parts(domain, inputs):
    """All variables by name."""
    x, t, p = domain.split(inputs)
    return {"x": x, "t": t, **{name: getattr(p, name) for name in p}}


@unhurried
@given(domains_with_values())
def test_split_undoes_join(case):
    domain, values, lead = case
    inputs = domain.join(values)
    assert inputs.shape == (*lead, domain.dim)
    assert inputs.dtype == torch.float64
    for name, part in parts(domain, inputs).items():
        shape = domain.measures[name].shape
        assert part.shape == (*lead, *(shape or (1,)))
        assert torch.equal(part.reshape((*lead, *shape)), values[name].expand((*lead, *shape)))


@unhurried
@given(domains(), SEEDS, st.sampled_from([torch.float32, torch.float64]))
def test_samples_lie_in_the_domain(domain, seed, dtype):
    inputs = domain.sample(1000, torch.Generator().manual_seed(seed), dtype)
    assert inputs.shape == (1000, domain.dim)
    assert inputs.dtype == dtype
    assert domain.contains(inputs).all()


@unhurried
@given(domains(), SEEDS)
def test_samples_can_be_asked_for(domain, seed):
    inputs = domain.sample(10, torch.Generator().manual_seed(seed))
    split = parts(domain, inputs)
    values = {n: v.reshape(10, *domain.measures[n].shape) for n, v in split.items()}
    assert torch.allclose(domain.join(values).float(), inputs)


@unhurried
@given(domains())
def test_normalisation_is_exact(domain):
    """Uniform on [−√3, √3]: mean 0 and variance 1."""
    low = torch.tensor(_lows(domain), dtype=torch.float64)
    high = torch.tensor([v for m in domain.measures.values() for v in m.high], dtype=torch.float64)
    edge = torch.full_like(low, math.sqrt(3.0))
    torch.testing.assert_close((low - domain.mean) / domain.std, -edge, rtol=1e-9, atol=0)
    torch.testing.assert_close((high - domain.mean) / domain.std, edge, rtol=1e-9, atol=0)


@pytest.mark.parametrize("domain", [PUT, MATRIX])
def test_normalised_samples_have_mean_zero_and_variance_one(domain, generator):
    count = 10**5
    z = (domain.sample(count, generator, torch.float64) - domain.mean) / domain.std
    assert (z.mean(0).abs() < 4.5 / count**0.5).all()
    fourth_moment = 9 / 5
    assert ((z.square().mean(0) - 1).abs() < 4.5 * ((fourth_moment - 1) / count) ** 0.5).all()


def test_samples_are_independent_and_reach_every_corner(generator):
    samples = MATRIX.sample(10**5, generator, torch.float64)
    correlation = torch.corrcoef(samples.T) - torch.eye(MATRIX.dim)
    assert correlation.abs().max() < 4.5 / 10**2.5
    u = (samples - samples.new_tensor(_lows(MATRIX))) / (12**0.5 * MATRIX.std)
    assert (u.amin(0) < 1e-3).all()
    assert (u.amax(0) > 1 - 1e-3).all()


def _lows(domain):
    return [v for box in domain.measures.values() for v in box.low]


def test_the_generator_determines_the_sample():
    one, two = (PUT.sample(5, torch.Generator().manual_seed(7)) for _ in range(2))
    assert torch.equal(one, two)


def test_boxes_are_drawn_by_one_call_of_the_generator():
    """The numbers of earlier versions, on which old runs rest."""
    found = PUT.sample(5, torch.Generator().manual_seed(7))
    uniform = torch.rand(5, 4, generator=torch.Generator().manual_seed(7))
    low, high = torch.tensor([9.0, 0.0, 0.1, 10.0]), torch.tensor([10.0, 1.0, 0.6, 12.0])
    assert torch.equal(found, torch.addcmul(low, uniform, high - low))


def disc(count, generator, dtype):
    """A point of the unit disc."""
    r, angle = torch.rand(2, count, generator=generator, dtype=dtype)
    return r.sqrt()[:, None] * torch.stack([torch.cos(7.0 * angle), torch.sin(7.0 * angle)], -1)


MIXED = Domain(
    x=Box(9, 10),
    t=Beta(2, 5),
    sigma=LogUniform(0.1, [0.6, 0.9]),
    strike=Normal(11, 1, low=10, high=12, shape=(2, 1)),
    centre=Sampled(disc, -1, 1, shape=(2,)),
    rate=Box(0, 0.1),
)


def test_the_laws_of_others_do_not_move_a_box():
    boxes = {n: Box(m.low[0], m.high[0], shape=m.shape) for n, m in MIXED.measures.items()}
    seeded = torch.Generator().manual_seed
    found, plain = (d.sample(50, seeded(3)) for d in (MIXED, Domain(**boxes)))
    where = MIXED.slices()
    for name in ("x", "rate"):
        assert torch.equal(found[:, where[name]], plain[:, where[name]])
    for name in ("t", "sigma", "strike", "centre"):
        assert not torch.equal(found[:, where[name]], plain[:, where[name]])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_samples_of_all_measures_lie_in_the_domain_and_are_normalised(dtype, generator):
    count = 10**5
    samples = MIXED.sample(count, generator, dtype)
    assert samples.dtype == dtype
    assert MIXED.contains(samples).all()
    z = (samples.double() - MIXED.mean) / MIXED.std
    # the sampler's own moments are estimates, from 2^16 draws
    assert (z.mean(0).abs() < 4.5 * (1 / count + 1 / 2**16) ** 0.5).all()
    fourth_moment = z.pow(4).mean(0)
    spread = ((fourth_moment - 1) * (1 / count + 1 / 2**16)) ** 0.5
    assert ((z.square().mean(0) - 1).abs() < 4.5 * spread).all()


@unhurried
@given(domains())
def test_volume_and_dimension_are_those_of_the_boxes(domain):
    assert domain.volume == pytest.approx(math.prod(b.volume for b in domain.measures.values()))
    assert domain.dim == sum(b.size for b in domain.measures.values())
    assert domain.state_dim == domain.measures["x"].size


@unhurried
@given(domains())
def test_slices_name_the_columns(domain):
    columns = torch.arange(domain.dim)
    found = torch.cat([columns[where] for where in domain.slices().values()])
    assert torch.equal(found, columns)
    assert list(domain.slices()) == list(domain.measures)


def test_split_gives_views():
    inputs = torch.zeros(4, MATRIX.dim)
    x, t, p = MATRIX.split(inputs)
    inputs += 1.0
    assert x.mean() == t.mean() == p.a.mean() == 1.0
    assert p.a.shape == (4, 2, 3)


def test_a_number_fills_an_array_variable():
    inputs = MATRIX.join({"x": 0.5, "t": [0.1, 0.2, 0.3], "a": -0.25})
    assert inputs.shape == (3, 9)
    assert torch.equal(MATRIX.split(inputs).p.a, torch.full((3, 2, 3), -0.25).double())


@pytest.mark.parametrize(
    "x",
    [
        [10.0, 9.0],
        (10, 9),
        np.array([10, 9]),
        np.array([9.0, 10.0])[::-1],
        torch.tensor([10.0, 9.0]),
    ],
)
def test_join_takes_any_kind_of_array(x):
    assert PUT.join(AT | {"x": x})[:, 0].tolist() == [10.0, 9.0]


def test_join_takes_read_only_arrays_and_leaves_them_alone():
    x = np.broadcast_to(9.5, (3,))
    joined = PUT.join(AT | {"x": x})
    joined.zero_()
    assert x.tolist() == [9.5, 9.5, 9.5]


def test_no_values_give_no_rows():
    assert PUT.join(AT | {"x": []}).shape == (0, 4)


def test_join_keeps_every_digit():
    x = 9.123456789012345
    assert PUT.join(AT | {"x": x})[0].item() == x


@pytest.mark.parametrize(("name", "low", "high"), [("x", 1000.1, 1000.2), ("t", 0.0, 0.7)])
def test_what_float32_rounds_out_of_the_domain_is_moved_onto_its_edge(name, low, high):
    domain = Domain(**({"x": Box(0, 1), "t": Box(0, 1)} | {name: Box(low, high)}))
    at = {"x": 0.5, "t": 0.5}
    for edge in (low, high):
        inputs = domain.join(at | {name: torch.tensor(edge)})
        assert inputs[domain.slices()[name]].item() == pytest.approx(edge, rel=1e-7)
        assert low <= inputs[domain.slices()[name]].item() <= high
    assert domain.join({"x": 0.5, "t": 0.5} | {name: low - 1e-9})[domain.slices()[name]] == low


@pytest.mark.parametrize(
    ("at", "inside"),
    [
        ({}, True),
        ({"x": 9.0, "t": 0.0, "sigma": 0.1, "strike": 10.0}, True),
        ({"x": 10.0, "t": 1.0, "sigma": 0.6, "strike": 12.0}, True),
        ({"x": 10.1}, False),
        ({"t": -0.01}, False),
        ({"sigma": 0.601}, False),
    ],
)
def test_membership(at, inside):
    inputs = PUT.join(AT | at, extrapolate=True)
    assert PUT.contains(inputs).item() is inside
    assert PUT.contains(inputs.expand(3, 5, 4)).tolist() == [[inside] * 5] * 3


def test_domains_are_compared_by_names_order_and_bounds():
    same = Domain(x=Box(9, 10), t=Box(0, 1), sigma=Box(0.1, 0.6), strike=Box(10, 12))
    other_order = Domain(x=Box(9, 10), t=Box(0, 1), strike=Box(10, 12), sigma=Box(0.1, 0.6))
    other_bounds = Domain(x=Box(9, 10), t=Box(0, 2), sigma=Box(0.1, 0.6), strike=Box(10, 12))
    assert same == PUT
    other_law = Domain(x=Box(9, 10), t=Box(0, 1), sigma=LogUniform(0.1, 0.6), strike=Box(10, 12))
    assert PUT not in [other_order, other_bounds, other_law, "PUT"]


def test_a_domain_is_shown_as_it_is_written():
    assert (
        repr(MATRIX) == "Domain(x=Box(0, 1, shape=(2,)), t=Box(0, 1), a=Box(-1, 1, shape=(2, 3)))"
    )
    law = Domain(x=Box(0, 1), t=LogUniform(0.1, 1), a=Beta(2, 5))
    assert repr(law) == "Domain(x=Box(0, 1), t=LogUniform(0.1, 1), a=Beta(a=2, b=5, low=0, high=1))"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": (0, 1)}, "Domain expects a Box for 'x', got tuple"),
        ({"x": Box(0, 1, shape=(2, 2))}, r"x must have shape \(\) or \(d,\), got \(2, 2\)"),
        ({"t": Box(-1, 1)}, r"t must be a scalar box with lower bound ≥ 0, got Box\(-1, 1\)"),
        ({"t": Box(0, 1, shape=(2,))}, "t must be a scalar box"),
        ({"t": Normal(0, 1, -1, 1)}, "t must be a scalar box with lower bound ≥ 0, got Normal"),
        ({"sigma": 0.3}, "Domain expects a Box for 'sigma', got float"),
        ({"class": Box(0, 1)}, "'class' cannot name a parameter; use a plain identifier"),
        ({"_a": Box(0, 1)}, "'_a' cannot name a parameter"),
        ({"a b": Box(0, 1)}, "'a b' cannot name a parameter"),
    ],
)
def test_a_domain_refuses_bad_variables(changes, message):
    with pytest.raises(InputError, match=message):
        Domain(**({"x": Box(0, 1), "t": Box(0, 1)} | changes))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"x": 9.5, "t": 0.5, "sigma": 0.3}, "inputs x, t, sigma, strike; missing: strike"),
        (AT | {"sgima": 0.3}, "expected the inputs x, t, sigma, strike; unknown: sgima"),
        ({"x": 9.5, "T": 1}, "unknown: T; missing: t, sigma, strike"),
        (AT | {"x": "9.5"}, "x must be a number or an array, got '9.5'"),
        (AT | {"x": None}, "x must be a number or an array, got None"),
        (AT | {"x": [[9.1], [9.2, 9.3]]}, "x must be a number or an array"),
        (AT | {"x": math.nan}, "x = nan is not a finite number"),
        (AT | {"t": math.inf}, "t = inf is not a finite number"),
        (AT | {"x": 10.2}, r"x = 10.2 lies outside \[9, 10\].*extrapolate=True"),
        (AT | {"sigma": [0.3, 0.7]}, r"sigma = 0.7 lies outside \[0.1, 0.6\]"),
        (
            AT | {"x": [9.1, 9.2], "t": [0.1, 0.2, 0.3]},
            r"do not broadcast: x \(2,\), t \(3,\), sigma \(\), strike \(\)",
        ),
    ],
)
def test_join_refuses_bad_values(values, message):
    with pytest.raises(InputError, match=message):
        PUT.join(values)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": [0.5, 0.5, 0.5]}, r"x must have shape \(…, 2\), got \(3,\)"),
        ({"a": [0.5, 0.5, 0.5]}, r"a must have shape \(…, 2, 3\), got \(3,\)"),
        ({"a": torch.zeros(5, 3, 2)}, r"a must have shape \(…, 2, 3\), got \(5, 3, 2\)"),
        ({"x": [0.5, 1.5]}, r"x\[1\] = 1.5 lies outside \[0, 1\]"),
        ({"a": [[0, 0, 0], [0, 0, -3]]}, r"a\[1, 2\] = -3 lies outside \[-1, 1\]"),
        ({"a": [[0, math.nan, 0], [0, 0, 0]]}, r"a\[0, 1\] = nan is not a finite number"),
    ],
)
def test_join_names_the_coordinate_it_refuses(changes, message):
    with pytest.raises(InputError, match=message):
        MATRIX.join({"x": 0.5, "t": 0.5, "a": 0.0} | changes)


def test_extrapolation_is_allowed_but_not_to_infinity():
    assert PUT.join(AT | {"x": 20.0, "t": 3.0}, extrapolate=True)[:2].tolist() == [20.0, 3.0]
    with pytest.raises(InputError, match="x = -inf is not a finite number"):
        PUT.join(AT | {"x": -math.inf}, extrapolate=True)


def exchanging():
    box = Box(0, 1, shape=(3,))
    return Domain(x=box, t=Box(0, 1), s=box).exchanging("x", "s")


def test_exchangeable_entries_are_ordered_together(generator):
    domain = exchanging()
    inputs = domain.sample(50, generator)
    places = [domain.slices()[name] for name in domain.exchanged]
    x, t, p = domain.split(in_order(inputs, places))
    before, time, q = domain.split(inputs)
    assert torch.equal(x, before.sort(-1).values)
    assert torch.equal(t, time)
    pairs = [torch.stack(part, -1) for part in ((x, p.s), (before, q.s))]
    for found, expected in zip(*(part.tolist() for part in pairs), strict=True):
        assert sorted(found) == sorted(expected)


def test_a_domain_that_exchanges_has_the_same_variables():
    domain = exchanging()
    assert domain.measures == Domain(**domain.measures).measures


def different_domains():
    x, t, a, b = (Box(0, 1, shape=(3,)), Box(0, 1), Box(1, 2, shape=(3,)), Box(1, 2, shape=(3,)))
    plain = Domain(x=x, t=t, a=a, b=b)
    yield plain
    yield Domain(x=x, t=t, b=b, a=a)  # another order of the network's inputs
    yield Domain(x=x, t=t, a=LogUniform(1, 2, shape=(3,)), b=b)  # another law on the same box
    yield Domain(x=x, t=t, a=a, c=b)
    yield plain.exchanging("x", "a")
    yield plain.exchanging("a", "x")  # in the order of another variable
    yield plain.exchanging("x", "a", "b")


def test_domains_are_the_same_if_all_that_matters_is():
    one, two = list(different_domains()), list(different_domains())
    for i, domain in enumerate(one):
        assert [domain == other for other in two] == [i == k for k in range(len(two))]
        assert hash(domain) == hash(two[i])
    assert len({*one, *two}) == len(one)


def jointly(count, generator, dtype):
    """x = t, now and then above 1."""
    t = 1.1 * torch.rand(count, 1, generator=generator, dtype=dtype)
    return torch.cat([t, t], dim=-1)


def test_all_variables_may_be_drawn_together(generator):
    plain = Domain(x=Box(0, 1), t=Box(0, 1))
    joint = plain.drawn_by(jointly)
    x, t, _ = joint.split(joint.sample(1000, generator))
    assert torch.equal(x, t)
    assert (x == 1.0).any()
    assert joint.contains(joint.sample(100, generator)).all()
    assert joint != plain
    assert joint == plain.drawn_by(jointly)
    assert plain.sampler is None
    assert joint.replacing(t=Box(0, 2)).sampler is None
    assert torch.equal(joint.mean, plain.mean)


def test_a_domain_as_plain_data():
    domain = Domain(x=Box(0, 1, shape=(2,)), t=LogUniform(0.1, 1)).exchanging("x")
    assert domain.record() == {
        "measures": {
            "x": {"shape": [2], "low": [0.0, 0.0], "high": [1.0, 1.0]},
            "t": {
                "shape": [],
                "low": [0.1],
                "high": [1.0],
                "kind": "log-uniform",
                "parameters": {},
            },
        },
        "exchanged": ["x"],
    }
    assert domain.drawn_by(jointly).record() == domain.record() | {"joint": True}


def test_a_domain_is_shown_with_what_exchanges():
    shown = "Domain(x=Box(0, 1, shape=(2,)), t=Box(0, 1)).exchanging('x')"
    assert repr(Domain(x=Box(0, 1, shape=(2,)), t=Box(0, 1)).exchanging("x")) == shown


@pytest.mark.parametrize("names", [(), ("x", "t"), ("x", "nu")], ids=str)
def test_only_variables_of_one_shape_exchange_entries(names):
    with pytest.raises(InputError, match=r"known and of one shape.*the domain has x, t, s\."):
        exchanging().exchanging(*names)
