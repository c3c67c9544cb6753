"""Copy finished trainings, weights and manifest alone, to where they can be committed.

    python benchmarks/keep_training.py runs/reproduce/NAME

`feynkac reproduce` finds them in docs/results/trainings, whatever their folders are called, and
takes those whose method, steps, batch size and seed are the ones it asks for.
"""

import argparse
from pathlib import Path

from feynkac.benchmarks.store import keep_training


def main() -> None:
    """Parse the arguments, check, copy, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+", help="of finished trainings")
    parser.add_argument("--into", type=Path, default=Path("docs/results/trainings"))
    given = parser.parse_args()
    for folder in given.folders:
        print(keep_training(folder, given.into))


if __name__ == "__main__":
    main()
