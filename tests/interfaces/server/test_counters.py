"""Prometheus' text."""

from feynkac.interfaces.server.counters import Counters


def test_histograms_are_cumulative():
    counters = Counters()
    for seconds in (0.0005, 0.004, 99.0):
        counters.count("/healthz", 200, seconds)
    text = counters.text({"solutions": 2.0})
    assert 'feynkac_requests_total{route="/healthz",status="200"} 3' in text
    assert 'feynkac_request_seconds_bucket{route="/healthz",le="0.001"} 1' in text
    assert 'feynkac_request_seconds_bucket{route="/healthz",le="0.005"} 2' in text
    assert 'feynkac_request_seconds_bucket{route="/healthz",le="+Inf"} 3' in text
    assert 'feynkac_request_seconds_count{route="/healthz"} 3' in text
    assert "feynkac_solutions 2" in text
