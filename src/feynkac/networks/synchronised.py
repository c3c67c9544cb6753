r"""Batch normalisation over the batches of all workers:

    m = (1/N) Σ_r mean(h_r),    v = (1/N) Σ_r mean((h_r − m)²).

Two workers with half a batch each then have the same statistics as one worker with the whole batch.
torch's own layer of this kind runs on GPUs only.
"""

from typing import Any

import torch
from torch import Tensor, distributed, nn

from feynkac.networks.architecture import Layer


def synchronise(network: nn.Module) -> None:
    """Let every layer of `network` use batch statistics of all workers."""
    for layer in network.modules():
        if isinstance(layer, Layer) and isinstance(layer.norm, nn.BatchNorm1d):
            synchronised = SynchronisedBatchNorm(layer.norm.num_features).to(
                layer.norm.running_mean
            )
            synchronised.load_state_dict(layer.norm.state_dict())
            layer.norm = synchronised


class SynchronisedBatchNorm(nn.BatchNorm1d):
    """Parameters and buffers are those of `BatchNorm1d`.  Shape: `(1, width, N)`."""

    def forward(self, h: Tensor) -> Tensor:
        """Normalise by the statistics of all workers while training."""
        if not self.training:
            return super().forward(h)
        mean = _mean_over_workers(h.mean(-1, keepdim=True))
        centred = h - mean
        variance = _mean_over_workers(centred.square().mean(-1, keepdim=True))
        self._remember(mean, variance, h.shape[-1] * distributed.get_world_size())
        normalised = centred * torch.rsqrt(variance + self.eps)
        return normalised * self.weight.unsqueeze(-1) + self.bias.unsqueeze(-1)

    @torch.no_grad()
    def _remember(self, mean: Tensor, variance: Tensor, count: int) -> None:
        """Move the running statistics, the variance unbiased, as torch does."""
        assert self.running_mean is not None
        assert self.running_var is not None
        assert self.num_batches_tracked is not None
        assert self.momentum is not None
        self.num_batches_tracked.add_(1)
        self.running_mean.lerp_(mean.flatten(), self.momentum)
        self.running_var.lerp_(variance.flatten() * count / (count - 1), self.momentum)


class _MeanOverWorkers(torch.autograd.Function):
    """Its own adjoint: the loss of each worker depends on the tensors of all."""

    @staticmethod
    def forward(_context: Any, tensor: Tensor) -> Tensor:
        total = tensor.clone()
        distributed.all_reduce(total)
        return total / distributed.get_world_size()

    @staticmethod
    def backward(_context: Any, gradient: Tensor) -> Tensor:
        return _MeanOverWorkers.forward(None, gradient)


def _mean_over_workers(tensor: Tensor) -> Tensor:
    return _MeanOverWorkers.apply(tensor)  # type: ignore[no-any-return, no-untyped-call]
