"""Where did a NaN or an infinity arise? Names the place, from the label to the gradient."""

import torch
from torch import Tensor, nn

from feynkac.errors import NonFiniteError
from feynkac.families.domain import Domain
from feynkac.families.point import shortened
from feynkac.networks.network import Network
from feynkac.training.objective import Batch


def explain(network: Network, batch: Batch, domain: Domain, step: int) -> NonFiniteError:
    """The error that names the first quantity, in order of computation, not finite at `step`."""
    where = (
        bad_label(batch, domain)
        or _bad_parameter(network)
        or _bad_layer(network, batch.inputs)
        or _bad_gradient(network)
        or "in the loss or the size of its gradient"
    )
    return _error(step, where)


def explain_parameters(network: Network, step: int) -> NonFiniteError:
    """The error that names the parameter which the last update, `step`, made non-finite."""
    return _error(step, _bad_parameter(network) or "in a buffer of the network")


def explain_algebra(error: Exception, step: int) -> NonFiniteError:
    """The error that says why linear algebra failed, in a formula or in the optimiser."""
    said = str(error).strip().partition("\n")[0].rstrip(".")
    return NonFiniteError(
        f"step {step}: linear algebra failed ({said}). The last good state is kept; check the "
        "family's matrices, or lower the learning rate."
    )


def _error(step: int, where: str) -> NonFiniteError:
    return NonFiniteError(
        f"step {step}: a NaN or infinity arose {where}. The last good state is kept; "
        "check the family there, or lower the learning rate."
    )


def bad_label(batch: Batch, domain: Domain) -> str | None:
    """The place where a label or its slope is not finite; None if all are finite."""
    bad = ~batch.values.isfinite().all(-1)
    if batch.gradients is not None:
        bad |= ~batch.gradients.isfinite().all(-1)
    if not bad.any():
        return None
    x, t, p = domain.split(batch.inputs[bad][0])
    at = {"x": x, "t": t, **{name: getattr(p, name) for name in p}}
    shown = ", ".join(f"{k}={shortened(v, most=4, digits=4)}" for k, v in at.items())
    return f"in {int(bad.sum())} of {len(bad)} simulated paths, first at {shown}"


def _bad_parameter(network: Network) -> str | None:
    for name, parameter in network.named_parameters():
        if not parameter.isfinite().all():
            return f"in the parameter {name} after the previous update"
    return None


def _bad_layer(network: Network, inputs: Tensor) -> str | None:
    found: list[str] = []
    hooks = [
        module.register_forward_hook(_watch(name, found))
        for name, module in network.named_modules()
        if not list(module.children())
    ]
    with torch.no_grad(), torch.compiler.set_stance("force_eager"):
        network(inputs)
    for hook in hooks:
        hook.remove()
    return f"in the output of the layer {found[0]}" if found else None


def _watch(name: str, found: list[str]):  # type: ignore[no-untyped-def]  # noqa: ANN202
    def hook(_module: nn.Module, _inputs: tuple[Tensor, ...], output: Tensor) -> None:
        if not output.isfinite().all():
            found.append(name)

    return hook


def _bad_gradient(network: Network) -> str | None:
    for name, parameter in network.named_parameters():
        if parameter.grad is not None and not parameter.grad.isfinite().all():
            return f"in the gradient of {name}"
    return None
