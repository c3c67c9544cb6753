"""Networks: normalised inputs, followed by a multilevel, feed-forward or smooth network."""

from feynkac.networks.architecture import Architecture
from feynkac.networks.feed_forward import FeedForward
from feynkac.networks.multilevel import Multilevel
from feynkac.networks.smooth import Smooth

__all__ = ["Architecture", "FeedForward", "Multilevel", "Smooth"]
