r"""How much memory the Monte Carlo reference of the basket put takes: 2^20 paths × 25 Euler steps.

The simulation runs in a process of its own. What counts is the peak of its resident memory above
what it held once torch and feynkac were imported; the target is less than 1 GB.
"""

import argparse
import json
import resource
import subprocess
import sys
import time

TARGET_MB = 1000.0


def peak_mb() -> float:
    """Largest resident memory of this process so far (Linux counts in kB, macOS in bytes)."""
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def simulate(paths: int, steps: int) -> dict[str, float | int]:
    """Simulate in this process; the imports are deliberately inside."""
    import torch

    import feynkac as fk

    family, scheme = fk.BasketPut(), fk.EulerMaruyama(steps=steps)
    monte_carlo = fk.monte_carlo
    generator = torch.Generator().manual_seed(0)
    point = family.domain.mean[None]
    baseline = peak_mb()
    start = time.perf_counter()
    estimate = monte_carlo(family, scheme, point, paths, generator)
    return {
        "paths": paths,
        "steps": steps,
        "value": estimate.value.item(),
        "standard_error": estimate.error.item(),
        "seconds": time.perf_counter() - start,
        "baseline_mb": baseline,
        "extra_mb": peak_mb() - baseline,
        "target_mb": TARGET_MB,
    }


def main() -> None:
    """Run `simulate` in a fresh process and print what it found."""
    parser = argparse.ArgumentParser(description="Memory of the basket's Monte Carlo reference.")
    parser.add_argument("--paths", type=int, default=2**20)
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(simulate(options.paths, options.steps)))
        return
    size = [f"--paths={options.paths}", f"--steps={options.steps}"]
    worker = [sys.executable, __file__, "--worker", *size]
    result = json.loads(
        subprocess.run(worker, check=True, stdout=subprocess.PIPE, text=True).stdout
    )
    if options.json:
        print(json.dumps(result))
        return
    print(f"Monte Carlo reference of basket-put, {result['paths']} paths × {result['steps']} steps")
    print(f"  value       {result['value']:.5f} ± {result['standard_error']:.5f}")
    print(f"  time        {result['seconds']:.1f} s")
    print(
        f"  memory      {result['extra_mb']:.0f} MB above {result['baseline_mb']:.0f} MB "
        f"after import (target less than {TARGET_MB:.0f} MB)"
    )


if __name__ == "__main__":
    main()
