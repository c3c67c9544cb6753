"""Reasons not to trust a solution or the figures of its error, one sentence each.

The largest error is far above the typical one; the reference is as noisy as the error; few inputs
carry the error; the solution is hardly better than a linear fit.
"""

from collections.abc import Mapping

from torch import nn

from feynkac.analysis.rounding import number
from feynkac.families.family import Family, jumps
from feynkac.networks.architecture import ACTIVATIONS, Layer

FAR, LARGE = 30.0, 0.05  # a largest error: so many times L1, and at least so large
SENSELESS = 2.0  # and so many times the mean baseline. Next to a kink at t = 0, the largest error
# of the catalogue's models is 50 to 700 times L1 after 150 steps, but 0.1 to 1 mean baselines
CLEAR = 4.0  # standard errors of the reference, of which some input of many is off by chance
POOR = 0.5  # of the error of a linear fit, or of the mean
CARRIERS = 64  # inputs that carry the error, (Σ|d|)²/Σd²; below it, the interval is often too short


def warnings_of(record: Mapping[str, float | int | None]) -> list[str]:
    """Warnings from the figures of `Errors.record()`, also of older versions.

    Example:
        >>> warnings_of({"l1": 0.0004, "max": 1.4, "inputs": 65536})
        ['the largest error, 1.40, is 3500 times the mean error: see where it is (`worst` of \
`solution.error()`), and exclude that corner of the domain or train longer.']
    """
    found = {name: value for name, value in record.items() if value is not None}
    checks = (_corner(found), _noise(found), _carriers(found), _linear(found))
    return [sentence for sentence in checks if sentence]


def _corner(found: Mapping[str, float]) -> str | None:
    l1, largest = found.get("l1", 0.0), found.get("max", 0.0)
    certain = largest - CLEAR * found.get("max_se", 0.0)
    if not certain > max(LARGE, FAR * l1, SENSELESS * found.get("mean_baseline", 0.0)):
        return None
    times = f"{largest / l1:.0f} times the mean error" if l1 else "far above the mean error"
    return (
        f"the largest error, {number(largest)}, is {times}: see where it is (`worst` of "
        "`solution.error()`), and exclude that corner of the domain or train longer."
    )


def _noise(found: Mapping[str, float]) -> str | None:
    noise = found.get("reference_se", 0.0)
    if not noise or "l1_high" not in found or (noise < found.get("l1", 0.0) and found["l1_low"]):
        return None
    return (
        f"the noise of the reference ({number(noise)}) is as large as the error: L1 is between "
        f"{number(found['l1_low'])} and {number(found['l1_high'])}; give the reference more "
        "paths (`paths=`)."
    )


def _carriers(found: Mapping[str, float]) -> str | None:
    inputs, l2 = found.get("inputs", 0), found.get("l2", 0.0)
    if not inputs or not l2 or (carriers := inputs * (found["l1"] / l2) ** 2) >= CARRIERS:
        return None
    return (
        f"few of the {inputs} inputs carry the error (effectively {carriers:.0f}): L1 may lie "
        "above its interval; measure on more inputs (`inputs=`)."
    )


def _linear(found: Mapping[str, float]) -> str | None:
    l1, linear = found.get("l1_low", found.get("l1", 0.0)), found.get("linear_baseline", 0.0)
    mean = found.get("mean_baseline", linear)
    fit, baseline = ("a linear fit", linear) if linear <= mean else ("the mean of u", mean)
    if not l1 > POOR * baseline > 0.0:
        return None
    return (
        f"the error is more than half that of {fit} ({number(baseline)}): train longer, or "
        "check the family (`feynkac check`)."
    )


def derivative_warnings(family: Family, network: nn.Module, sloped: bool = False) -> list[str]:
    """Which derivatives of a solution you should not trust, one sentence each.

    Args:
        family: what was solved.
        network: its solution.
        sloped: whether slopes were fitted although the initial condition jumps.
    """
    found = []
    if jumps(family):
        unfitted = "" if sloped else ", so slopes were not fitted"
        found.append(
            f"the initial condition jumps{unfitted}: near t = 0, derivatives in x (delta, gamma) "
            "are unreliable."
        )
    layers = [module for module in network.modules() if isinstance(module, Layer)]
    if any(layer.activation is ACTIVATIONS["relu"] for layer in layers):
        found.append("the network is not smooth: second derivatives (gamma, vanna, volga) are 0.")
    return found
