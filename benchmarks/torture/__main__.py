"""Try every promise, print one line each:  python -m benchmarks.torture [--quick] [--only NAME]."""

import argparse
import sys
import warnings

import torch
from benchmarks.torture.page import keep, write_page
from benchmarks.torture.promise import put_to_the_test
from benchmarks.torture.promises import PROMISES


def main() -> None:
    """Exit code 1 if a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.torture")
    parser.add_argument("--quick", action="store_true", help="about a tenth of the cases")
    parser.add_argument("--only", action="append", help="name of a promise, or its beginning")
    parser.add_argument("--write", action="store_true", help="write docs/reliability.md")
    wanted = parser.parse_args()
    torch.set_num_threads(1)  # children are forked
    warnings.simplefilter("ignore")
    chosen = [p for p in PROMISES if not wanted.only or p.name.startswith(tuple(wanted.only))]
    verdicts = []
    for promise in chosen:
        verdict = put_to_the_test(promise, wanted.quick)
        verdicts.append(verdict)
        print(verdict.line, flush=True)
        if wanted.write:
            keep(verdict, wanted.quick)
            write_page(PROMISES)
    sys.exit(any(verdict.failures for verdict in verdicts))


if __name__ == "__main__":
    main()
