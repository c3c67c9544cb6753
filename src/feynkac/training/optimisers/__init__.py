"""Optimisers as settings: they turn gradients into steps."""

from feynkac.training.optimisers.gauss_newton import GaussNewton
from feynkac.training.optimisers.muon import Muon
from feynkac.training.optimisers.optimiser import SGD, AdamW, Optimiser

__all__ = ["SGD", "AdamW", "GaussNewton", "Muon", "Optimiser"]
