"""What a computation holds at its worst moment, what autograd keeps included."""

import subprocess
import sys

import pytest
import torch

from feynkac.sampling.weighed import Weighed

MEGABYTE = 2**20


def test_what_a_graph_keeps_counts():
    x = torch.ones(MEGABYTE // 4, dtype=torch.float32, requires_grad=True)
    with Weighed() as weighed:
        y = x
        for _ in range(8):
            y = y.exp()  # keeps its result
        torch.autograd.grad(y.sum(), x)
    assert 8 <= weighed.most / MEGABYTE <= 12


def test_what_is_dropped_does_not():
    x = torch.ones(MEGABYTE // 4, dtype=torch.float32)
    with Weighed() as weighed:
        for _ in range(8):
            x = x.exp()
    assert weighed.most == 2 * MEGABYTE


def test_views_of_one_tensor_count_once():
    with Weighed() as weighed:
        x = torch.ones(100, dtype=torch.float32)
        x.add_(1.0)
        _ = [x[:50].view(5, 10), x.view(10, 10).mT]
    assert weighed.most == 400


@pytest.mark.slow
def test_weighing_does_not_import_the_compiler():
    code = (
        "import sys, torch\n"
        "from feynkac.sampling.weighed import Weighed\n"
        "with Weighed(): torch.ones(3).detach() + 1.0\n"
        "sys.exit('torch._dynamo' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
