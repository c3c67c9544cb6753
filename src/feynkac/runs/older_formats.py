"""Manifests of older formats, as the present one has them.

Formats 1 and 2 kept the choices of a method partly beside it and partly in `training`.
"""

from typing import Any, Literal

FORMAT: Literal[3] = 3
OF_METHOD = ("architecture", "scheme", "noise")
OF_TRAINING = ("optimiser", "schedule", "batch_size", "slopes", "slope_weight")
ONLY_FAST = ("slopes", "slope_weight")
KINDS = {"euler": "euler-maruyama", "own": "family-steps", "spherical": "spherical-radial"}


def upgraded(manifest: dict[str, Any]) -> dict[str, Any]:
    """A manifest of format 1 or 2 in format 3; any other is left alone."""
    if manifest.get("format") not in (1, 2):
        return manifest
    data = {name: value for name, value in manifest.items() if name != "paths"}
    run = {name: value for name, value in data["run"].items() if name not in OF_METHOD}
    run["method"] = _method(data["run"], manifest["paths"])
    left_out = (*OF_TRAINING, "paths", "balance")
    run["training"] = {k: v for k, v in data["run"]["training"].items() if k not in left_out}
    run["asked"] = None
    return {**data, "run": run, "format": FORMAT}


def _method(run: dict[str, Any], paths: int) -> dict[str, Any]:
    training = run["training"]
    method = {name: run[name] for name in OF_METHOD if name in run}
    method.setdefault("noise", {"kind": "independent"})
    method |= {name: training[name] for name in OF_TRAINING if name in training}
    for part in ("scheme", "noise"):
        method[part] = {**method[part], "kind": KINDS.get(kind := method[part]["kind"], kind)}
    if run["method"] != "fast":
        method = {name: value for name, value in method.items() if name not in ONLY_FAST}
    return {**method, "kind": run["method"], "paths": paths}
