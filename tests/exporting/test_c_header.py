"""The C header, compiled with all warnings as errors, computes what the network computes."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import feynkac as fk
from feynkac.exporting.c_header import c_name
from feynkac.exporting.c_stages import WRITERS

MAIN = """
#include <stdio.h>
#include "u.h"
int main(void) {
    double x[U_INPUTS], v[U_OUTPUTS];
    for (;;) {
        for (int i = 0; i < U_INPUTS; i++) if (scanf("%lf", x + i) != 1) return 0;
        printf("%d", u_value(x, v));
        for (int i = 0; i < U_OUTPUTS; i++) printf(" %.17g", v[i]);
        puts("");
    }
}
"""
pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


def compiled(solution: fk.Solution, folder: Path) -> Path:
    fk.export(solution, folder / "u.h")
    (folder / "main.c").write_text(MAIN)
    flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    subprocess.run(["cc", *flags, "main.c", "-o", "main", "-lm"], cwd=folder, check=True)
    return folder / "main"


def run(program: Path, inputs) -> np.ndarray:
    text = "\n".join(" ".join(map(repr, row)) for row in inputs.tolist())
    found = subprocess.run([program], input=text, capture_output=True, text=True, check=True).stdout
    return np.array([[float(word) for word in line.split()] for line in found.splitlines()])


def test_values_are_the_networks(each, drawn, tmp_path):
    inputs = drawn(each, 50)
    found = run(compiled(each, tmp_path), inputs)
    assert (found[:, 0] == 0).all()
    np.testing.assert_allclose(found[:, 1:], each.exactly(inputs), rtol=1e-6, atol=1e-6)
    assert len((tmp_path / "u.h").read_text().splitlines()) < 200


def test_an_input_outside_the_domain_is_named(put, drawn, tmp_path):
    inputs = drawn(put, 3)
    inputs[0, 2], inputs[1, 0] = 5.0, float("nan")
    found = run(compiled(put, tmp_path), inputs)[:, 0].tolist()
    assert found[:3] == [3.0, 1.0, 0.0]


def test_two_headers_live_in_one_program(put, rainbow, tmp_path):
    fk.export(put, tmp_path / "put.h")
    fk.export(rainbow, tmp_path / "best of three.h")
    source = '#include "put.h"\n#include "best of three.h"\nint main(void) { double x[9] = {0}, v;'
    source += " return put_value(x, &v) + best_of_three_value(x, &v) < 0; }"
    (tmp_path / "main.c").write_text(source)
    subprocess.run(["cc", "-std=c99", "main.c", "-lm"], cwd=tmp_path, check=True)


def test_names_are_identifiers():
    assert [c_name(Path(n)) for n in ("put.h", "2-put.h", "ä b.h")] == ["put", "u_2_put", "u___b"]


def test_every_stage_of_a_network_can_be_written(each):
    from feynkac.exporting.description import describe

    assert {record["kind"] for record in describe(each).records()} <= WRITERS.keys()
