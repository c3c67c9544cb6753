"""The program: results on stdout, one clear sentence otherwise, exit codes 0, 1, 2 and 130."""

import json
import math
import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path
from statistics import NormalDist

import pytest
import torch
from typer.testing import CliRunner, Result

import feynkac as fk
from feynkac.analysis import metrics
from feynkac.benchmarks import ablation
from feynkac.families.catalogue import BUILT_IN
from feynkac.interfaces.cli import app

PROGRAM = str(Path(sys.executable).with_name("feynkac"))
COMMANDS = [
    *("families", "solve", "error", "query", "greeks", "calibrate", "uncertainty"),
    *("demo", "bench", "ablation", "dimensions", "check", "new"),
]
QUICK = ["--method", "paper", "--steps", "5", "--batch-size", "64"]
AT = "x=9.5,t=0.5,sigma=0.35,strike=11"
ENVIRONMENT = {"COLUMNS": "200", "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}
STILL = Path(__file__).parents[1] / "still.py"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("dimensions", "--dims", ""), "cannot read ''; expected dimensions"),
        (("dimensions", "--dims", "999999999"), "expected dimensions such as 1,2,3, at most 1000"),
        (
            ("error", "nowhere", "--inputs", "9" * 12),
            "'--inputs': Input should be less than",
        ),
        (
            ("uncertainty", "nowhere", "--samples", "9" * 12),
            "'--samples': Input should be less than",
        ),
        (("error", "nowhere", "--map", "--scheme", "euler:5"), "omit --scheme, --paths"),
        (("--use", "a\0b", "families"), "there is no file"),
        (("dimensions", "--dims", "9" * 5000), "expected dimensions such as 1,2,3"),
        (("solve", "black-scholes", "--seeds", "9" * 5000), "expected 0,1 or 0-3"),
        (("calibrate", "black-scholes", "/dev/zero"), "it is not a regular file"),
        (("error", "nowhere", "--map", "--out", "a.pdf"), "a PNG file; name it as a.png"),
        (("greeks", "nowhere", "--at", "x=1", "--out", "none/a.png"), "there is no folder none"),
        (("dimensions", "--out", "none/a.png"), "there is no folder none"),
    ],
)
def test_counts_and_options_that_mean_nothing_are_refused_at_once(arguments, said):
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.replace("│", "").split())


def run(*arguments: object) -> Result:
    """The program inside this process."""
    return CliRunner().invoke(app, [str(a) for a in arguments], env=ENVIRONMENT)


def results(*arguments: object) -> dict:
    """The one JSON object on standard output of a command that succeeds."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refusal(*arguments: object, code: int = 2) -> str:
    """The one sentence on standard error of a command that fails."""
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert result.stderr.count("\n") == 1
    return result.stderr


def launch(*arguments: object) -> subprocess.Popen:
    """The program as a process of its own."""
    command = [PROGRAM, *(str(a) for a in arguments)]
    environment = os.environ | ENVIRONMENT
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment)


@pytest.fixture(scope="module")
def put(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "put"
    results("solve", "black-scholes", *QUICK, "--out", folder)
    return folder


@pytest.fixture(scope="module")
def paraboloid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "paraboloid"
    results("solve", "heat-paraboloid", "--dim", 2, *QUICK, "--out", folder)
    return folder


# Help


@pytest.mark.parametrize("arguments", [[], *([c] for c in COMMANDS)], ids=str)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help(arguments, option):
    result = run(*arguments, option)
    assert result.exit_code == 0
    assert "Usage: feynkac" in result.stdout
    expected = COMMANDS if not arguments else ["--json", "--help"]
    assert all(word in result.stdout for word in expected)


def test_help_shows_every_option_of_solve():
    text = run("solve", "--help").stdout
    for name in ("method", "steps", "budget", "seed", "out", "dim", "scheme", "batch-size"):
        assert f"--{name}" in text
    assert re.search(r"--method .*\[default: fast\]", text)


def test_no_arguments_show_the_help():
    result = run()
    assert result.exit_code == 2
    assert all(name in result.output for name in COMMANDS)


@pytest.mark.parametrize(
    "arguments", [["families"], pytest.param(["families", "--json"], marks=pytest.mark.slow)]
)
def test_a_closed_pipe_ends_the_program_without_a_word(arguments):
    with launch(*arguments) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1


def test_help_takes_less_than_half_a_second_of_a_processor():
    times = []
    while len(times) < 5 and not min(times, default=1.0) < 0.5:
        before = os.times()
        subprocess.run([PROGRAM, "--help"], check=True, stdout=subprocess.DEVNULL)
        after = os.times()
        times.append(after.children_user - before.children_user)
        times[-1] += after.children_system - before.children_system
    assert min(times) < 0.5


def test_help_does_not_import_torch():
    code = (
        "import atexit, sys\n"
        "heavy = {'torch', 'numpy', 'scipy', 'matplotlib'}\n"
        "atexit.register(lambda: print(sorted(heavy & set(sys.modules))))\n"
        "from feynkac.interfaces.cli import main\n"
        "sys.argv = ['feynkac', 'solve', '--help']\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.endswith("[]\n")


def test_version():
    assert run("--version").stdout == f"feynkac {fk.__version__}\n"


def test_the_shell_completes_commands():
    asked = {"_FEYNKAC_COMPLETE": "complete_bash", "COMP_WORDS": "feynkac fam", "COMP_CWORD": "1"}
    done = subprocess.run([PROGRAM], env=os.environ | asked, capture_output=True, text=True)
    assert done.stdout.strip() == "families"


# families


def test_fields_of_a_family_are_set(tmp_path):
    field = ["--dim", "2", "--field", "payoff=put:min"]
    found = results("solve", "multi-asset", *field, *QUICK, "--out", str(tmp_path / "run"))
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["run"]["family"]["fields"] == {"dim": 2, "payoff": "put:min"}
    assert found["family"] == "multi-asset"


def test_the_zoo_refuses_what_it_does_not_have():
    done = run("bench", "--suite", "zoo", "--only", "zebra")
    assert done.exit_code == 2
    assert "'zebra' is not in the zoo; there are: arithmetic-asian" in done.stderr


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--suite", "zoo", "--seeds", "2"], "give --seed instead of --seeds"),
        (["--budget", "5s"], "--budget and --seed are for --suite zoo"),
    ],
)
def test_options_of_other_suites_are_refused(given, message):
    done = run("bench", *given)
    assert done.exit_code == 2
    assert message in done.stderr


def test_the_suite_refuses_what_it_does_not_have():
    done = run("bench", "--suite", "catalogue", "--family", "black-scholes")
    assert done.exit_code == 2
    assert "'black-scholes' is not in the suite; there are: ornstein-uhlenbeck" in done.stderr


def test_families_as_json():
    found = {row["name"]: row for row in results("families")["families"]}
    assert list(found) == list(BUILT_IN)
    paper = {name: found[name]["inputs"] for name in list(found)[:4]}
    assert paper == {
        "black-scholes": 4,
        "basket-put": 53,
        "heat-paraboloid": 111,
        "heat-gaussian": 152,
    }
    assert list(found["basket-put"]["domain"]) == ["x", "t", "sigma", "mu", "strike"]
    simulated = [name for name, row in found.items() if not row["closed_form"]]
    assert simulated == ["basket-put", "sabr", "multi-asset", "double-well"]


def test_families_as_a_table():
    text = run("families").stdout
    lines = [line for line in text.splitlines() if line.startswith("│")]
    assert len(lines) == len(BUILT_IN)
    assert re.search(r"heat-gaussian +│ Heat flow with one diffusion coefficient +│", text)


def test_families_are_filtered_by_words():
    found = [row["name"] for row in results("families", "rates", "assets")["families"]]
    assert {"multi-asset", "rainbow", "spread"} <= {*found} < {*BUILT_IN} - {"channel", "heston"}
    assert len(results("families")["families"]) == len(BUILT_IN)


def test_one_family_is_shown_with_its_ranges():
    text = run("families", "basket-put").stdout
    assert "basket-put: European put on the mean of `dim` assets" in text
    assert re.search(r"sigma +│ +Box\(0\.1, 0\.6, shape=\(3, 3, 4\)\)", text)


def test_a_filter_without_a_match_proposes_a_name():
    assert "no family mentions 'hesston'. Did you mean 'heston'?" in refusal("families", "hesston")


# solve


def test_solve_prints_one_json_object(tmp_path):
    result = run("solve", "black-scholes", *QUICK, "--out", tmp_path, "--json")
    found = json.loads(result.stdout)
    assert (found["parameters"], found["steps"], found["inputs"]) == (5404, 5, metrics.KNOWN_INPUTS)
    assert 0 < found["l1_se"] < found["l1"] < 1
    assert 0 < found["seconds"] < found["wall_seconds"]
    solution = fk.load(tmp_path)
    assert found["l1"] == solution.manifest.history[-1]["l1"]


def test_without_a_method_the_program_and_the_library_do_the_same(tmp_path):
    tiny = ["--steps", 3, "--batch-size", 16, "--paths", 8]
    found = results("solve", "black-scholes", *tiny, "--out", tmp_path)
    solution = fk.solve(fk.BlackScholes(), steps=3, batch_size=16, paths=8)
    assert found["method"] == solution.manifest.run.method.kind == "fast"
    assert found["l1"] == solution.manifest.history[-1]["l1"]


def test_progress_in_a_pipe_is_plain_lines_on_stderr(tmp_path):
    result = run("solve", "black-scholes", *QUICK, "--out", tmp_path, "--json")
    lines = result.stderr.splitlines()
    number = r"[\d.e+-]+"
    figures = rf"L1 {number} ± {number}  step {number}/5  loss {number}  {number} steps/s"
    line = rf" *{number} s  training  {figures}(  {number} s left)?"
    assert len(lines) == 5
    assert all(re.fullmatch(line, text) for text in lines)


def test_solve_writes_the_artifact_the_metrics_and_the_curve(put):
    assert sorted(path.name for path in put.iterdir()) == [
        "error.png",
        "manifest.json",
        "metrics.jsonl",
        "run.json",
        "weights.safetensors",
    ]
    steps = [json.loads(line)["step"] for line in (put / "metrics.jsonl").read_text().splitlines()]
    assert steps == [1, 2, 3, 4, 5]


def test_solve_shows_a_table(tmp_path):
    result = run("solve", "black-scholes", *QUICK, "--out", tmp_path / "run")
    assert result.exit_code == 0
    for text in ("L1 error, Eq. (9)", "L1 of a linear fit", "5404", f"saved in {tmp_path}"):
        assert text in result.stdout.replace("\n", "")


def test_a_finished_run_is_said_to_be_answered_from_its_folder(tmp_path):
    command = ("solve", "black-scholes", *QUICK, "--out", tmp_path / "run")
    first, second = run(*command), run(*command)
    assert "already finished" not in first.stdout
    said = second.stdout.replace("\n", "")
    assert f"already finished, answered from {tmp_path / 'run'}; --retrain starts over" in said


def test_without_out_each_setting_has_its_own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = results("solve", "black-scholes", *QUICK)
    second = results("solve", "black-scholes", *QUICK, "--seed", 1)
    again = results("solve", "black-scholes", *QUICK)
    assert Path(first["run"]).parent == Path("runs")
    assert Path(first["run"]).name.startswith("black-scholes-paper-seed0-")
    assert first["run"] == again["run"] != second["run"]
    assert first["l1"] == again["l1"] != second["l1"]


def test_settings_reach_the_run(tmp_path):
    options = ["--scheme", "euler:2", "--paths", 3, "--seed", 7, "--device", "cpu", "--dim", 2]
    results("solve", "black-scholes", *QUICK, *options, "--out", tmp_path)
    settings = fk.load(tmp_path).manifest.run
    method, training = settings.method, settings.training
    assert (method.scheme, method.paths) == (fk.EulerMaruyama(steps=2), 3)
    assert (training.seed, training.device) == (7, "cpu")
    assert settings.family.fields == {"dim": 2}


def test_another_box_is_solved_recorded_and_found_again(tmp_path):
    found = results("solve", "black-scholes", *QUICK, "--domain", "x=8:12", "--out", tmp_path)
    assert found["family"] == "black-scholes"
    solution = fk.load(tmp_path)
    assert solution.family == fk.BlackScholes().on(x=fk.Box(8.0, 12.0))
    at = "x=11.5,t=0.5,sigma=0.35,strike=11"
    assert results("query", tmp_path, "--at", at)["closed_form"]["value"] > 0
    assert "other settings" in refusal("solve", "black-scholes", *QUICK, "--out", tmp_path)


def test_the_earlier_name_of_error_still_works(put):
    options = ["--inputs", 64, "--seed", 5]
    assert results("evaluate", put, *options) == results("error", put, *options)


def test_a_users_family_from_its_file(tmp_path):
    spec = f"{STILL}:Still"
    found = results("solve", spec, *QUICK, "--out", tmp_path / "run", "--scheme", "euler:1")
    assert found["family"] == "still"
    message = refusal("query", tmp_path / "run", "--at", "x=0.5,t=0.5")
    assert "'still' is not built in" in message
    assert "--family path/to/file.py:ClassName" in message
    answer = results("query", tmp_path / "run", "--at", "x=0.5,t=0.5", "--family", spec)
    assert answer["value"] == fk.load(tmp_path / "run", family_of(spec))(x=0.5, t=0.5).item()
    errors = results("error", tmp_path / "run", "--family", spec, "--inputs", 8, "--paths", 4)
    assert errors["inputs"] == 8


def family_of(spec: str) -> fk.Family:
    from feynkac.families.catalogue import find_family

    return find_family(spec)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["black-schols"],
            "unknown family 'black-schols'. Did you mean 'black-scholes'? Built in:",
        ),
        (["none.py:Family"], "there is no file 'none.py'"),
        (["black-scholes", "--method", "magic"], "unknown method 'magic'; there are: fast, p"),
        (["black-scholes", "--dim", "0"], "dim must be a whole number ≥ 1, got 0"),
        (["black-scholes", "--scheme", "milstein:0"], "unknown scheme 'milstein:0'; expected"),
        (
            ["basket-put", "--scheme", "exact"],
            "BasketPut has no exact sampler; use --scheme euler-",
        ),
        (["black-scholes", "--budget", "soon"], "a budget is a positive time such as"),
        (["black-scholes", "--budget", "-1s"], "a budget is a positive time such as"),
        (["black-scholes", "--steps", "5", "--budget", "5s"], "give either steps or a budget"),
        (["black-scholes", "--steps", "0"], "steps: Input should be greater than or equal to 1"),
        (["black-scholes", "--batch-size", "1"], "batch_size: Input should be greater"),
        (["black-scholes", "--seed", "-1"], "seed: Input should be greater than or equal to 0"),
        (["black-scholes", "--device", "abacus"], "device 'abacus' is not available here"),
    ],
)
def test_bad_settings_are_refused_in_one_sentence(tmp_path, arguments, message):
    assert message in refusal("solve", *arguments, "--out", tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Nothing", "has no Family named 'Nothing'; it has: Still, Holey"),
        ("Lacking", "Lacking lacks diffusion, domain, drift, initial"),
        ("Unwritten", "the fields of Unwritten must be plain data"),
    ],
)
def test_a_users_family_that_cannot_be_used_is_refused(tmp_path, name, message):
    spec = f"{STILL}:{name}"
    assert message in refusal("solve", spec, "--method", "paper", "--out", tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["solv", "black-scholes"], "No such command 'solv'"),
        (["solve"], "Missing argument 'FAMILY'"),
        (["solve", "black-scholes", "--steps", "many"], "Invalid value for '--steps'"),
        (["solve", "black-scholes", "--speed", "9"], "No such option: --speed"),
        (["query", "run"], "Missing option '--at'"),
        (["error", "run", "--inputs", "1"], "Invalid value for '--inputs'"),
    ],
)
def test_a_wrong_command_line_is_explained(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("/proc/feynkac", "cannot create the folder /proc/feynkac"),
        ("/proc/self", "cannot write /proc/self/.lock"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused(out, message):
    assert message in refusal("solve", "black-scholes", *QUICK, "--out", out)


def test_a_file_in_the_way_is_refused_and_kept(tmp_path):
    (tmp_path / "file").write_text("mine")
    arguments = ["solve", "black-scholes", *QUICK, "--out", tmp_path / "file" / "run"]
    assert "cannot create the folder" in refusal(*arguments)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_full_disk_is_named_and_nothing_is_half_written(tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        message = refusal("solve", "black-scholes", *QUICK, "--out", tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "run.json: File too large. Choose a writable folder with free space" in message
    assert list(tmp_path.iterdir()) == []


def test_an_existing_run_with_other_settings_is_refused_and_kept(put):
    before = {path: path.read_bytes() for path in put.iterdir()}
    message = refusal("solve", "black-scholes", *QUICK, "--steps", 6, "--out", put)
    assert "training.steps is 5 there, 6 here" in message
    assert "choose another folder (--out)" in message
    assert {path: path.read_bytes() for path in put.iterdir()} == before


def test_a_nan_is_a_failure(tmp_path):
    options = [*QUICK, "--batch-size", 2**14, "--scheme", "euler:1", "--out", tmp_path]
    message = refusal("solve", f"{STILL}:Holey", *options, code=1)
    assert "step 1: a NaN or infinity arose in" in message


FAILING = """
from dataclasses import dataclass
import feynkac as fk

@dataclass(frozen=True)
class Failing(fk.Scheme):
    draws = 1

    def terminal(self, family, x, t, p, z):
        raise ZeroDivisionError("first line\\nsecond line")

    def check(self, family):
        pass
"""


def test_what_nobody_foresaw_is_still_one_sentence(tmp_path):
    file = tmp_path / "failing.py"
    file.write_text(FAILING)
    arguments = ["black-scholes", *QUICK, "--scheme", "failing", "--out", tmp_path / "run"]
    process = launch("--use", file, "solve", *arguments)  # a process, so that no test sees it later
    out, message = process.communicate()
    assert (process.returncode, out) == (1, "")
    assert message == "error: ZeroDivisionError: first line (--debug shows where)\n"


def test_debug_raises_what_happened(tmp_path):
    result = run("--debug", "error", tmp_path)
    assert isinstance(result.exception, fk.ArtifactError)
    assert run("error", tmp_path).exit_code == 2


@pytest.mark.slow
@pytest.mark.parametrize("before", [True, False])
def test_debug_shows_the_traceback_wherever_it_stands(tmp_path, before):
    arguments = ["error", tmp_path]
    process = launch("--debug", *arguments) if before else launch(*arguments, "--debug")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert out == ""
    assert err.startswith("Traceback")
    assert "ArtifactError" in err.splitlines()[-1]


def test_ctrl_c_stops_with_130_and_the_same_command_goes_on(tmp_path):
    arguments = ["solve", "black-scholes", *QUICK, "--steps", 60, "--json", "--out"]
    process = launch(*arguments, tmp_path / "stopped")
    assert "step 6/60 " in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    stopped = r"interrupted: stopped at step \d+ of 60; run the same command again to resume"
    assert re.fullmatch(stopped, err.splitlines()[-1])
    assert "Traceback" not in err

    assert run(*arguments, tmp_path / "stopped").exit_code == 0
    assert run(*arguments, tmp_path / "straight").exit_code == 0
    a, b = (fk.load(tmp_path / name).network.state_dict() for name in ("stopped", "straight"))
    assert all(torch.equal(a[name], b[name]) for name in a)
    lines = (tmp_path / "stopped" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == list(range(6, 61, 6))


# evaluate


def test_evaluate_measures_what_the_library_measures(put):
    found = results("error", put, "--inputs", 1000, "--seed", 5)
    errors = fk.load(put).error(1000, seed=5)
    assert errors.warnings  # it was trained for two steps
    more = {"worst": errors.worst, "warnings": errors.warnings}
    assert found == {"run": str(put), "seed": 5, **errors.record(), **more}


def test_evaluate_shows_a_table(put):
    text = run("error", put, "--inputs", 1000).stdout
    assert "black-scholes, fresh inputs" in text
    assert "L1 error, Eq. (9)" in text
    assert "1000" in text


def test_what_cannot_be_measured_is_null_or_a_dash(put):
    found = results("error", put, "--inputs", 3)
    assert found["linear_baseline"] is None
    assert re.search(r"linear fit .*–", run("error", put, "--inputs", 3).stdout)


def test_evaluate_without_a_run_is_refused(tmp_path):
    assert "holds no solution" in refusal("error", tmp_path / "nowhere")


def test_evaluate_of_a_damaged_run_is_refused(tmp_path):
    results("solve", "black-scholes", *QUICK, "--out", tmp_path)
    weights = tmp_path / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    assert "was truncated or altered" in refusal("error", tmp_path)


# query


def test_query_against_the_closed_form(put):
    found = results("query", put, "--at", AT, "--greeks")
    x, t, sigma, strike = 9.5, 0.5, 0.35, 11.0
    normal, v = NormalDist(), sigma * math.sqrt(t)
    d1 = (math.log(x / strike) + v * v / 2) / v
    truth = found["closed_form"]
    assert truth["value"] == pytest.approx(
        strike * normal.cdf(v - d1) - x * normal.cdf(-d1), rel=1e-12
    )
    assert truth["greeks"] == {
        "delta": pytest.approx(normal.cdf(d1) - 1, rel=1e-12),
        "gamma": pytest.approx(normal.pdf(d1) / (x * v), rel=1e-12),
        "vega": pytest.approx(x * normal.pdf(d1) * math.sqrt(t), rel=1e-12),
        "theta": pytest.approx(-x * normal.pdf(d1) * sigma / (2 * math.sqrt(t)), rel=1e-12),
        "vanna": pytest.approx(-normal.pdf(d1) * (d1 - v) / sigma, rel=1e-12),
        "volga": pytest.approx(
            x * normal.pdf(d1) * math.sqrt(t) * d1 * (d1 - v) / sigma, rel=1e-12
        ),
    }
    solution = fk.load(put)
    at = {"x": x, "t": t, "sigma": sigma, "strike": strike}
    assert found["value"] == solution(**at).item()
    assert found["greeks"] == {k: v.item() for k, v in solution.greeks(**at).items()}
    assert list(found["partials"]) == ["x", "t", "sigma", "strike"]


def test_query_with_vectors_and_matrices(paraboloid):
    found = results("query", paraboloid, "--at", "x=[1,1.2],t=0.5,sigma=[[1,0],[0,1]]", "--greeks")
    assert found["closed_form"]["value"] == pytest.approx(1 + 1.44 + 0.5 * 2)
    assert found["closed_form"]["partials"]["sigma"] == [[1, 0], [0, 1]]
    assert len(found["partials"]["x"]) == 2


def test_query_at_several_points(put):
    other = AT.replace("9.5", "9.1")
    found = results("query", put, "--at", AT, "--at", other)["answers"]
    assert [answer["at"]["x"] for answer in found] == [9.5, 9.1]
    assert found[0] == results("query", put, "--at", AT)


def test_query_shows_a_table(put):
    text = run("query", put, "--at", AT, "--greeks").stdout
    for word in ("network", "closed form", "1.930283", "delta", "∂u/∂strike", AT):
        assert word in text


@pytest.mark.parametrize(
    ("at", "message"),
    [
        ("x=7,t=0.5,sigma=0.35,strike=11", "x = 7 lies outside [9, 10]"),
        ("x=9.5,t=0.5,sigma=0.35", "missing: strike"),
        (f"{AT},rho=1", "unknown: rho"),
        (f"{AT},x=9", "'x' is given twice"),
        ("x=9.5;t=0.5", "cannot read 'x=9.5;t=0.5'; expected name=number"),
        ("x=NaN,t=0.5,sigma=0.35,strike=11", "x = nan is not a finite number"),
        ('x=["a"],t=0.5,sigma=0.35,strike=11', "cannot read 'x=[\"a\"]'; expected name=number"),
        ("x=[[9],[9,9]],t=0.5,sigma=0.35,strike=11", "x must be a number or an array"),
        ("x=[9,9.5],t=[0,1,1],sigma=0.35,strike=11", "do not broadcast: x (2,), t (3,)"),
        (f"x={10**400},t=0.5,sigma=0.35,strike=11", "x must be a number or an array"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(put, at, message):
    assert message in refusal("query", put, "--at", at)


def test_query_extrapolates_on_request(put):
    outside = AT.replace("9.5", "8.5")
    assert results("query", put, "--at", outside, "--extrapolate")["value"] == pytest.approx(
        fk.load(put)(x=8.5, t=0.5, sigma=0.35, strike=11, extrapolate=True).item()
    )


# bench, ablation, dimensions


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute")  # torch.compile hides it itself
def test_bench_prints_one_object_with_a_row_a_family():
    found = results("bench", "--family", "black-scholes", "--budget-scale", 0.02)
    assert [row["name"] for row in found["rows"]] == ["black-scholes"]
    assert found["rows"][0]["inputs"] == 2**16


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute")  # torch.compile hides it itself
def test_bench_shows_both_tables_and_says_what_it_does():
    result = run("bench", "--family", "black-scholes", "--budget-scale", 0.02)
    for word in ("paper L1", "2827", "Greeks", "black-scholes: gamma", "none (ReLU)"):
        assert word in result.stdout
    assert "black-scholes: training, seed 0" in result.stderr


def test_bench_of_an_unknown_family_is_refused():
    assert "no benchmark for 'heat'; there are: " in refusal("bench", "--family", "heat")


@pytest.fixture
def one_ingredient(monkeypatch):
    few = {"half the width": ablation.INGREDIENTS["half the width"]}
    monkeypatch.setattr(ablation, "INGREDIENTS", few)


def test_ablation_puts_the_default_first(one_ingredient):
    found = results("ablation", "black-scholes", "--budget", "0.1s")["ablations"]
    assert [a["family"] for a in found] == ["black-scholes"]
    assert [v["name"] for v in found[0]["variants"]] == ["default", "half the width"]


def test_ablation_shows_markdown_alone(one_ingredient):
    text = run("ablation", "black-scholes", "--budget", "0.1s", "--markdown").stdout
    assert text.startswith("|  | black-scholes, 0.1 s |\n| --- | --- |\n| default | ")


def test_ablation_of_no_time_is_refused():
    assert "a budget is a positive time" in refusal("ablation", "black-scholes", "--budget", "0s")


@pytest.mark.slow
def test_dimensions_shows_slopes_and_draws_them(tmp_path):
    options = ["--dims", "1,2", "--steps", 40, "--target", 0.1]
    found = results("dimensions", *options)
    assert [point["dim"] for point in found["points"]] == [1, 2]
    assert found["cost_slope"] is not None
    text = run("dimensions", *options, "--out", tmp_path / "d.png").stdout
    assert "slope" in text
    assert (tmp_path / "d.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("dims", ["0", "1;2", "1,", "x"])
def test_dimensions_that_make_no_sense_are_refused(dims):
    message = refusal("dimensions", "--dims", dims)
    assert f"cannot read {dims!r}; expected dimensions such as 1,2,3" in message
