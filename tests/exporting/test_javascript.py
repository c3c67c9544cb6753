"""The reader in docs/export.md, run by node, computes what the network computes."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import feynkac as fk

PAGE = Path(__file__).parents[2] / "docs" / "export.md"
MAIN = """
const fs = require("fs");
const network = JSON.parse(fs.readFileSync("u.json"));
const rows = JSON.parse(fs.readFileSync("rows.json"));
console.log(JSON.stringify(rows.map((row) => value(network, row))));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.parametrize("name", ["smooth", "ordered", "black", "bachelier"])
def test_the_documented_reader(name, made, drawn, tmp_path):
    solution = made(name)
    (reader,) = re.findall(r"^```js\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    (tmp_path / "main.js").write_text(reader + MAIN)
    fk.export(solution, tmp_path / "u.json")
    inputs = drawn(solution)
    (tmp_path / "rows.json").write_text(json.dumps(inputs.tolist()))
    run = subprocess.run(["node", "main.js"], cwd=tmp_path, capture_output=True, check=True)
    found = np.array(json.loads(run.stdout))
    np.testing.assert_allclose(found, solution.exactly(inputs), rtol=1e-12, atol=1e-12)
