"""Examinations of what training would do: the error of its scheme, the cost of its batches."""

import math
import time

import torch
from torch import Tensor

from feynkac.analysis.checkup.finding import Finding, Subject
from feynkac.methods import Fast
from feynkac.sampling.discretisation import refined, relative_bias
from feynkac.sampling.labels import differential_labels, draw_paths
from feynkac.sampling.noise.noise import make_generator
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.path import weak_order
from feynkac.sampling.reference import Estimate

INPUTS, PATHS = 16, 128
NOTEWORTHY = 3e-3  # error of a scheme, in the metric of Eq. (9)
LARGE = 4096.0  # megabytes


def scheme_error(subject: Subject) -> Finding:
    """How wrong are the labels of the scheme that training would take, and of which order?"""
    family, scheme = subject.family, subject.scheme
    if weak_order(family, scheme) is None:
        return Finding("scheme", "ok", f"{subject.steps}: no discretisation error")
    generator = make_generator(0, "scheme")
    setting = Sobol(), family.domain.sample(INPUTS, generator), PATHS, generator
    bias, finer = (relative_bias(family, s, *setting, 4) for s in (scheme, refined(scheme)))
    error, noise = (part.abs().mean().item() for part in bias)
    figures = {"error": error, "noise": noise, "order": _observed_order(bias, finer)}
    sentence = f"{subject.steps}: discretisation error {error:.2g} ± {noise:.1g} of 1 + |u|"
    if error > NOTEWORTHY + 2.0 * noise:
        return Finding("scheme", "note", f"{sentence}; take more steps with --scheme", figures)
    return Finding("scheme", "ok", sentence, figures)


def _observed_order(coarse: Estimate, fine: Estimate) -> float:
    """log₂ of the ratio of the errors; NaN where noise hides it."""
    hidden = [e.value.square().mean() < 9.0 * e.error.square().mean() for e in (coarse, fine)]
    if any(hidden):
        return math.nan
    ratio = (coarse.value * fine.value).sum() / fine.value.square().sum()
    return math.log2(ratio.item()) if ratio > 0 else math.nan


def cost(subject: Subject) -> Finding:
    """Time and memory of simulating one batch of the fast method, with slopes."""
    family = subject.family
    method = Fast(scheme=subject.scheme).resolve(family)
    generator = make_generator(0, "cost")
    inputs = family.domain.sample(method.batch_size, generator)
    draw = draw_paths(family, method.scheme, method.noise, inputs, method.paths, generator)
    differential_labels(family, method.scheme, inputs, draw)  # compiles what is compiled
    kept = [draw.z.nbytes]

    def weigh(tensor: Tensor) -> Tensor:
        kept.append(tensor.nbytes)
        return tensor

    start = time.perf_counter()
    with torch.autograd.graph.saved_tensors_hooks(weigh, lambda tensor: tensor):
        differential_labels(family, method.scheme, inputs, draw)
    figures = {"seconds": time.perf_counter() - start, "megabytes": sum(kept) / 2**20}
    sentence = (
        f"simulating a step's {method.batch_size} inputs × {draw.z.shape[2]} paths takes "
        f"{1000 * figures['seconds']:.3g} ms and at most {figures['megabytes']:.3g} MB"
    )
    return Finding("cost", "note" if figures["megabytes"] > LARGE else "ok", sentence, figures)
