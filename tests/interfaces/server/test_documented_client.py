"""The client in docs/service.md works against a real server."""

import json
import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "service.md"


def test_ten_lines_ask_for_values_and_greeks(server, put, capsys):
    (client,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    exec(client.replace("http://127.0.0.1:8000/", server.url), {})
    said = capsys.readouterr().out.replace("'", '"').splitlines()
    ids, values, deltas = map(json.loads, said)
    assert ids == ["put", "heat"]
    at = {"x": [9.2, 9.7], "t": 0.5, "sigma": 0.3, "strike": 11.0}
    assert [round(v, 5) for v in values] == [round(v, 5) for v in put(at).tolist()]
    assert len(deltas) == 2
