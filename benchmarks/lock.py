"""The packages that `make install` installs, with every version:  python benchmarks/lock.py

Writes `constraints.txt` from the environment that it runs in: all that feynkac and its extras need,
directly or not, in the versions that are installed. `--check` says whether the file is complete and
agrees with the environment, and writes nothing. `--licences` prints the licence of every package.

There are no hashes: the same version is a different file on another platform, and pip refuses all
packages without a hash once one of them has one.
"""

import argparse
import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

FILE = Path(__file__).parents[1] / "constraints.txt"
EXTRAS = ("dev", "plot", "uq", "ray", "serve", "onnx")
BUILDING = ("hatchling",)
TOP = """\
# Every package that `make install` installs, with its version; `make lock` writes this file.
# torch is pinned exactly; that does not choose its CPU build, see docs/install.md.
"""


def needed(name: str, extras: tuple[str, ...], found: dict[str, Distribution]) -> None:
    """Add the package `name` and all that it needs here to `found`."""
    key = canonicalize_name(name)
    try:
        package = found.get(key) or distribution(name)
    except PackageNotFoundError:
        return  # of an extra that is not installed
    fresh = key not in found
    found[key] = package
    for text in package.requires or ():
        wanted = Requirement(text)
        environments = [{"extra": extra} for extra in extras] + ([{"extra": ""}] if fresh else [])
        if any(wanted.marker is None or wanted.marker.evaluate(e) for e in environments):
            inner = tuple(wanted.extras)
            if canonicalize_name(wanted.name) not in found or inner:
                needed(wanted.name, inner, found)


def installed() -> dict[str, Distribution]:
    """All packages that feynkac needs here, by name."""
    found: dict[str, Distribution] = {}
    needed("feynkac", EXTRAS, found)
    for name in BUILDING:
        needed(name, (), found)
    found.pop("feynkac")
    return dict(sorted(found.items()))


def lock(packages: dict[str, Distribution], earlier: dict[str, str]) -> str:
    """The text of the file; packages that are not installed here keep their versions."""
    here = {name: p.version.partition("+")[0] for name, p in packages.items()}  # without "+cpu"
    versions = earlier | here
    return TOP + "".join(f"{name}=={version}\n" for name, version in sorted(versions.items()))


def read(text: str) -> dict[str, str]:
    """Versions by name."""
    lines = re.findall(r"^([\w.-]+)==(\S+)$", text, re.M)
    return {canonicalize_name(name): version for name, version in lines}


def licence(package: Distribution) -> str:
    """As the package says it."""
    data = package.metadata
    said = data.get("License-Expression")
    classes = [c.rpartition(" :: ")[2] for c in data.get_all("Classifier", []) if "License" in c]
    short = (data.get("License") or "").strip().partition("\n")[0]
    return said or ", ".join(classes) or short[:60] or "not stated"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--licences", action="store_true")
    wanted = parser.parse_args()
    packages, pinned = installed(), read(FILE.read_text())
    if wanted.licences:
        for name, package in packages.items():
            print(f"| {name} | {package.version} | {licence(package)} |")
        return
    if wanted.check:
        wrong = [
            f"{name} is {package.version}, pinned {pinned.get(name, 'nowhere')}"
            for name, package in packages.items()
            if package.version.partition("+")[0] != pinned.get(name, "").partition("+")[0]
        ]
        print("\n".join(wrong) or f"all {len(packages)} packages are pinned")
        sys.exit(bool(wrong))
    FILE.write_text(lock(packages, pinned))


if __name__ == "__main__":
    main()
