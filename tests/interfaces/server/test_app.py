"""Every endpoint of a real server: its numbers are those of the library."""

import asyncio
import concurrent.futures

import httpx
import numpy as np
import pytest
import torch

import feynkac as fk
from feynkac.interfaces.server.app import make_app
from feynkac.interfaces.server.guard import Access
from feynkac.interfaces.server.offer import make_offer

ONE = {"x": 9.5, "t": 0.5, "sigma": 0.3, "strike": 11.0}
MANY = {"x": [9.2, 9.7], "t": 0.5, "sigma": [[0.3], [0.4]], "strike": 11.0}


SHEET = "Strike;Expiry;Implied vol (%)\n10;6M;42,0\n10,5;6M;41,9\n11;6M;42,1\n"


def test_a_quote_sheet_is_read_and_fitted(server):
    found = server.post("put/quotes", {"sheet": SHEET, "spot": 9.5, "posterior": 100})
    sigma = found["estimate"]["sigma"]
    assert sigma["value"] == pytest.approx(0.42, abs=5e-3)
    assert sigma["interval"][0] < sigma["value"] < sigma["interval"][1]
    assert [row["volatility"] for row in found["quotes"]] == pytest.approx([0.42, 0.419, 0.421])
    assert found["sheet"]["columns"]["strike"] == "Strike"
    assert found["level"] == "volatility"
    assert len(found["posterior"]["draws"]["sigma"]) > 100


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"sheet": "a,b\n1,2\n"}, "has no header that names a strike or a maturity"),
        ({"sheet": SHEET}, "spot"),
        ({"sheet": SHEET, "spot": 1e6}, "strikes are about"),
        ({"sheet": SHEET, "spot": -1.0}, "greater than 0"),
        ({"sheet": "maturity,yield\n1,0.02\n2,0.03\n"}, "use vasicek or cir"),
    ],
)
def test_a_sheet_that_cannot_be_fitted_gets_a_sentence(server, body, said):
    answer = httpx.post(f"{server.url}v1/solutions/put/quotes", json=body)
    assert answer.status_code == 422
    assert said in answer.text


def test_the_list_describes_inputs_quantities_and_errors(server, put):
    put_, heat = server.get("v1/solutions")["solutions"]
    assert (put_["id"], heat["id"]) == ("put", "heat")
    assert put_ == server.get("v1/solutions/put")
    x = put_["variables"][0]
    assert (x["name"], x["shape"], x["low"], x["high"], x["scale"]) == (
        "x",
        [],
        [9.0],
        [10.0],
        "linear",
    )
    assert [v["shape"] for v in heat["variables"]] == [[2], [], [2, 2]]
    assert heat["variables"][2]["entries"][1] == "sigma[0, 1]"
    assert put_["quantities"][:3] == ["value", "delta", "gamma"]
    assert put_["error"]["l1"] == put.manifest.history[-1]["l1"]
    assert put_["closed_form"]
    assert "European put" in put_["description"]


def test_values_are_the_networks_and_broadcast(server, put):
    found = server.post("put/value", {"at": MANY, "closed_form": True})
    expected = put(MANY)
    np.testing.assert_allclose(found["value"], expected, rtol=1e-6)
    exact = fk.BlackScholes().closed_form(*put.family.domain.split(put.family.domain.join(MANY)))
    np.testing.assert_allclose(found["closed_form"], exact[..., 0], rtol=1e-12)


def test_vectors_matrices_and_single_entries(server, folders):
    heat = fk.load(folders["heat"])
    at = {"x": [[1.0, 0.8], [0.7, 1.2]], "t": 0.5, "sigma": 0.5, "sigma[0,1]": [0.1, 0.2]}
    expected = heat({**at, "x": torch.tensor(at["x"])})
    np.testing.assert_allclose(server.post("heat/value", {"at": at})["value"], expected, rtol=1e-6)


def test_many_points_are_computed_in_a_thread(server, put):
    at = ONE | {"x": np.linspace(9.0, 10.0, 5000).tolist()}
    found = server.post("put/value", {"at": at})["value"]
    np.testing.assert_allclose(found, put(at), rtol=1e-6)


def test_extrapolation_must_be_asked_for(server, put):
    at = ONE | {"x": 11.0}
    found = server.post("put/value", {"at": at, "extrapolate": True})["value"]
    assert found == pytest.approx(float(put(at, extrapolate=True)), rel=1e-6)


def test_greeks_stand_beside_the_closed_form(server, put):
    found = server.post("put/greeks", {"at": MANY, "closed_form": True})
    np.testing.assert_allclose(found["values"]["gamma"], put.greeks(MANY)["gamma"], rtol=1e-4)
    np.testing.assert_allclose(found["values"]["∂u/∂strike"], put.grad("strike", MANY), rtol=1e-4)
    v = 0.3 * 0.5**0.5
    delta = torch.special.ndtr(torch.tensor(np.log(9.2 / 11.0) / v + v / 2)) - 1.0
    assert found["closed_form"]["delta"][0][0] == pytest.approx(float(delta), abs=1e-12)


def test_chosen_quantities_may_be_entries_of_a_vector(server, folders):
    at = {"x": [1.0, 0.8], "t": 0.5, "sigma": 0.5}
    found = server.post("heat/greeks", {"at": at, "quantities": ["∂u/∂x[1]", "∂u/∂x"]})["values"]
    assert list(found) == ["value", "∂u/∂x[1]", "∂u/∂x"]
    assert found["∂u/∂x"][1] == found["∂u/∂x[1]"]


def test_a_curve_and_a_surface(server, put):
    over = [{"name": "x", "points": 5}, {"name": "t", "low": 0.5, "points": 3}]
    body = {"over": over, "at": ONE, "quantities": ["delta"], "closed_form": True}
    found = server.post("put/slice", body)
    x, t = (np.array(axis["points"]) for axis in found["over"])
    assert (x.tolist()[::4], t.tolist()) == ([9.0, 10.0], [0.5, 0.75, 1.0])
    at = ONE | {"x": x[:, None], "t": t}
    np.testing.assert_allclose(found["values"]["value"], put(at), rtol=1e-6)
    assert np.shape(found["closed_form"]["delta"]) == (5, 3)
    curve = server.post("put/slice", {"over": [{"name": "sigma"}], "at": ONE})
    assert len(curve["values"]["value"]) == 101
    assert list(curve["values"]) == ["value"]


def test_certificates_cover_the_truth(server, put):
    at = ONE | {"strike": [10.5, 11.5]}
    found = server.post("put/certify", {"at": at, "seconds": 0.1})["certificates"]
    inputs = put.family.domain.split(put.family.domain.join(at))
    exact = fk.BlackScholes().closed_form(*inputs)[:, 0].tolist()
    for one, u in zip(found, exact, strict=True):
        assert abs(one["value"] - u) <= 2.0 * one["half_width"] + 1e-9


@pytest.mark.parametrize("tiny", [{"seconds": 5e-324}, {"tolerance": 5e-324, "seconds": 0.01}])
def test_an_effort_or_a_tolerance_next_to_zero_is_answered(server, tiny):
    (found,) = server.post("put/certify", {"at": ONE} | tiny)["certificates"]
    assert found["verdict"] in ("within", "outside", "undecided")


@pytest.mark.parametrize("field", ["noise", "values"])
def test_quotes_whose_squares_no_number_holds_are_refused(server, field):
    known = {name: value for name, value in ONE.items() if name != "sigma"}
    body = {"free": ["sigma"], "values": [1.2], "known": known, "noise": 0.01}
    body[field] = [1e200]
    answer = httpx.post(f"{server.url}v1/solutions/put/calibrate", json=body)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"].startswith(field)


def test_calibration_finds_what_made_the_quotes(server, put):
    known = {"x": 9.5, "t": 0.5, "strike": [10.0, 11.0, 12.0]}
    quotes = put(known | {"sigma": 0.37}).tolist()
    body = {"free": ["sigma"], "values": quotes, "known": known, "noise": 1e-4}
    found = server.post("put/calibrate", body | {"posterior": 100})
    assert found["estimate"]["sigma"]["value"] == pytest.approx(0.37, abs=1e-3)
    np.testing.assert_allclose(found["fitted"], quotes, atol=1e-3)
    assert len(found["posterior"]["draws"]["sigma"]) <= 1000


def test_uncertainty_of_a_normal_input(server, put):
    given = {
        "x": 9.5,
        "t": 0.5,
        "strike": 11.0,
        "sigma": {"law": "normal", "parameters": [0.35, 0.02]},
    }
    body = {"given": given, "samples": 20000, "indices": False}
    found = server.post("put/uncertainty", body)
    middle = float(put(ONE | {"sigma": 0.35}))
    assert found["mean"]["value"] == pytest.approx(middle, abs=0.01)
    assert found["correlation"]["sigma"]["value"] > 0.99


def test_the_error_map_is_computed_once(server):
    first, second = (server.get("v1/solutions/put/error-map?inputs=16") for _ in range(2))
    assert first == second
    assert first["inputs"] == 16
    assert set(first["profiles"]) == {"x", "t", "sigma", "strike"}


def test_the_weights_are_those_of_the_export(server, put, tmp_path):
    path = fk.export(put, tmp_path / "put.json")
    assert httpx.get(server.url + "v1/solutions/put/network").content == path.read_bytes()


def test_progress_gives_new_records_only(server, put):
    whole = server.get("v1/runs/put/progress")
    assert (whole["state"], whole["solution"]) == ("finished", "put")
    assert whole["records"] == put.manifest.history
    assert server.get(f"v1/runs/put/progress?after={whole['total']}")["records"] == []
    assert {run["id"] for run in server.get("v1/runs")["runs"]} == {"put", "heat"}


def test_metrics_count_requests_and_points(server):
    def points():
        text = httpx.get(server.url + "metrics").text
        lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#")
        return float(lines.get('feynkac_points_total{solution="put"}', 0))

    before = points()
    server.post("put/value", {"at": ONE | {"x": [9.2] * 7}})
    assert points() == before + 7
    route = 'feynkac_requests_total{route="/v1/solutions/{id}/value",status="200"}'
    assert route in httpx.get(server.url + "metrics").text


RAGGED = [[9.5], [9.5, 9.6]]
BAD = [
    ({"at": ONE | {"x": 12.0}}, "at.x", 12.0, [9.0, 10.0]),
    ({"at": ONE | {"x": True}}, "at.x", True, None),
    ({"at": ONE | {"x": [9.5, "9"]}}, "at.x[1]", "9", None),
    ({"at": ONE | {"x": [[9.5], [9.5, 9.6]]}}, "at.x", "a list", None),
    ({"at": ONE | {"y": 1.0}}, "at.y", "y", ["x", "t", "sigma", "strike"]),
    ({"at": {"x": 9.5, "t": 0.5, "sigma": 0.3}}, "at.strike", None, [10.0, 12.0]),
    ({"at": ONE, "more": 1}, "more", 1, None),
    ({"at": ONE | {"x": [9.5] * 10001}}, "at", 10001, [1, 10000]),
    ({}, "at", None, None),
]


@pytest.mark.parametrize(("body", "field", "value", "allowed"), BAD)
def test_a_problem_names_field_value_and_range(server, body, field, value, allowed):
    answer = httpx.post(server.url + "v1/solutions/put/value", json=body)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == 422
    error = problem["errors"][0]
    assert (error["field"], error["value"], error.get("allowed")) == (field, value, allowed)
    assert field.partition("[")[0] in problem["detail"]


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("slice", {"over": [{"name": "x", "low": 3.0}], "at": ONE}, "over[0].low"),
        ("slice", {"over": [{"name": "x"}, {"name": "x"}], "at": ONE}, "over"),
        ("slice", {"over": [{"name": "x"}], "at": ONE | {"t": [0.1, 0.2]}}, "at"),
        ("greeks", {"at": ONE, "quantities": ["rho"]}, "quantities[0]"),
        ("greeks", {"at": ONE, "output": 1}, "output"),
        ("certify", {"at": ONE, "seconds": 21.0}, "seconds"),
        ("certify", {"at": ONE | {"x": [9.5] * 30}, "seconds": 1.0}, "at"),
        ("calibrate", {"free": ["vol"], "values": [1.0], "known": ONE}, "free[0]"),
        ("calibrate", {"free": ["sigma"], "values": [1.0], "known": ONE | {"x": 99}}, "known.x"),
        ("uncertainty", {"given": {"sigma": {"law": "normal", "parameters": [0.3, -1.0]}}},
         "given.sigma.parameters"),
        ("uncertainty", {"samples": 63}, "samples"),
        ("calibrate", {"free": ["sigma"], "values": [1.0], "known": {"x": RAGGED}}, "known.x"),
        ("uncertainty", {"given": ONE | {"x": RAGGED}}, "given.x"),
    ],
)  # fmt: skip
def test_other_endpoints_name_the_field_too(server, path, body, field):
    answer = httpx.post(f"{server.url}v1/solutions/put/{path}", json=body, timeout=30.0)
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["field"] == field


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "v1/solutions/nothing", 404),
        ("POST", "v1/solutions/nothing/value", 404),
        ("GET", "v1/runs/nothing/progress", 404),
        ("GET", "v1/runs/put/progress?after=-1", 422),
        ("GET", "v1/solutions/put/error-map?inputs=3", 422),
        ("PUT", "v1/solutions", 405),
        ("GET", "v1/solutions/put/value", 404),
        ("GET", "nowhere.html", 404),
    ],
)
def test_what_is_not_there(server, method, path, status):
    answer = httpx.request(
        method, server.url + path, json={"at": ONE} if method == "POST" else None
    )
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("path", ["", "healthz", "v1/solutions", "assets/app.js"])
def test_head_tells_the_length_without_the_body(server, path):
    with server.client() as client:
        asked, head = client.get(path), client.head(path)
        assert client.get("healthz").status_code == 200  # on the same connection
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == asked.headers["content-length"]


def test_a_solution_that_comes_while_all_are_listed_does_no_harm():
    class Late:
        """As if a thread took up a run that has just finished."""

        @property
        def description(self):
            offer.solutions["late"] = self
            return {"id": "put"}

    offer = make_offer([], fk.load)
    offer.solutions["put"] = Late()
    app = make_app(offer, Access(None), {})

    async def ask():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://a") as client:
            return await client.get("/v1/solutions")

    with concurrent.futures.ThreadPoolExecutor(1) as pool:  # a browser's tests keep a loop here
        answer = pool.submit(lambda: asyncio.run(ask())).result()
    assert answer.json() == {"solutions": [{"id": "put"}]}


@pytest.mark.parametrize("operation", ["value", "greeks", "slice", "certify", "uncertainty"])
def test_the_documented_examples_are_answered(server, operation):
    document = server.get("openapi.json")
    first = next(iter(server.get("v1/solutions")["solutions"]))["id"]
    content = document["paths"][f"/v1/solutions/{{id}}/{operation}"]["post"]["requestBody"]
    name = content["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    for example in document["components"]["schemas"][name]["examples"]:
        assert server.post(f"{first}/{operation}", example)
