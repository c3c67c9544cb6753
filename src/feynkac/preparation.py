"""From words to a `Run`: the family is checked, and the method makes its choices."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import torch._dynamo  # seconds that an optimiser would take otherwise
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from feynkac.checks.checkup import require_simulable, require_sound
from feynkac.checks.discontinuity import coefficient_jumps, undeclared_jump
from feynkac.checks.finding import Subject
from feynkac.clock import Allowance
from feynkac.errors import InputError
from feynkac.families.family import Family, jumps, require_family
from feynkac.methods import Fast, Method
from feynkac.methods.method import divide, find_method
from feynkac.phases import enter
from feynkac.runs.folder import RunFolder
from feynkac.runs.run import Run, asked_for, record_family, run_to_dict, with_logistics
from feynkac.sampling.noise.lines import Lines
from feynkac.threads import calm_threads, using_threads
from feynkac.training.settings import Training, one_sentence, resolve_device

PILOT_SHARE = 0.13  # of a budget, for the choices of a method


@torch.inference_mode(False)  # and with gradients, whatever the caller does: pilots need them
def make_run(
    family: Family, method: Method | str, settings: dict[str, Any], folder: Path | None = None
) -> Run:
    """The run that was asked for, with the choices that `method` makes for `family`.

    One that was begun in `folder` with the same words keeps what it chose then.

    Args:
        family: what to solve.
        method: with some choices made, or none.
        settings: fields of the method and of `Training`; None leaves one open.
        folder: where such a run may have been begun.
    """
    require_family("solve", family)
    enter("checking the family")
    require_sound(family)
    method, given = divide(
        find_method(method), {k: v for k, v in settings.items() if v is not None}
    )
    if method.scheme is not None:
        method.scheme.check(family)
    asked = asked_for(family, method, given)
    if folder is not None and (found := RunFolder(folder).run_asked_for(asked)):
        return with_logistics(found, given)
    open_ended = "steps" not in given and "budget" not in given
    if open_ended:
        given["steps"] = method.length(family)
    try:
        conduct = Training(**given)
        share = math.inf if conduct.budget is None else PILOT_SHARE * conduct.budget
        device = resolve_device(conduct.device)
        allowance = Allowance(share)
        threads = None if conduct.budget is None else calm_threads()
        with torch.autocast("cpu", enabled=False), using_threads(threads):
            resolved = method.resolve(family, allowance, device)
        if resolved.simulates:
            enter("checking its paths")
            require_simulable(family, resolved.scheme)
            if _jumps_undeclared(resolved, family):
                again = replace(method, scheme=resolved.scheme, slopes=False)  # type: ignore[call-arg]
                resolved = again.resolve(family, Allowance(allowance.left), device)
        if open_ended:
            conduct = replace(conduct, steps=resolved.length(family))
        run = Run(record_family(family), resolved, conduct, asked)
        run_to_dict(run)
    except ValidationError as error:
        raise InputError(one_sentence(error)) from error
    except PydanticSerializationError as error:
        raise InputError(
            f"the fields of {type(family).__name__} must be plain data (numbers, texts, lists), "
            f"so that a run can be written down: {error}."
        ) from error
    return run


def _jumps_undeclared(method: Method, family: Family) -> bool:
    """Whether slopes would be wrong: a formula jumps, and neither family nor labels know it.

    A grid does not differentiate formulas.
    """
    if not (isinstance(method, Fast) and method.slopes and method.simulates):
        return False
    subject = Subject(family, method.scheme)
    if any(coefficient_jumps(subject).figures.values()):
        return True
    if isinstance(method.noise, Lines) or jumps(family):
        return False
    return bool(undeclared_jump(subject).figures["jump"])
