"""Bodies that the service must refuse, by name, with the status of `POST …/value`."""

import json
from collections.abc import Callable, Iterator

AT = b'{"at": {"x": %s, "t": 0.5, "sigma": 0.3, "strike": 11.0}}'
LARGE = b'{"at": {"x": [' + b"9.5, " * (24 * 2**20 // 5) + b"9.5]}}"


def chunks() -> Iterator[bytes]:
    """24 MB whose length is not said before."""
    for start in range(0, len(LARGE), 2**16):
        yield LARGE[start : start + 2**16]


BODIES: dict[str, tuple[bytes | Callable[[], Iterator[bytes]], int]] = {
    "nan": (AT % b"NaN", 422),
    "infinity": (AT % b"-Infinity", 422),
    "1e999": (AT % b"1e999", 422),
    "huge integer": (AT % (b"1" + b"0" * 400), 422),
    "bool": (AT % b"true", 422),
    "bool in a list": (AT % b"[9.5, false]", 422),
    "string": (AT % b'"9.5"', 422),
    "null": (AT % b"null", 422),
    "empty list": (AT % b"[]", 422),
    "wrong rank": (AT % b"[[[[[9.5]]]]]", 422),
    "ragged": (AT % b"[[9.5], [9.5, 9.6]]", 422),
    "depth": (AT % (b"[" * 10_000 + b"]" * 10_000), 400),
    "open depth": (b"[" * 10_000, 400),
    "bad utf-8": (b'{"at": {"x\xff\xfe": 1.0}}', 400),
    "not json": (b"at=1", 400),
    "empty": (b"", 400),
    "a list": (b"[1, 2]", 422),
    "blank name": (b'{"at": {"' + b" " * 5000 + b'x": 1.0}}', 422),
    "long name": (b'{"at": {"' + b"x" * 3_000_000 + b'": 1.0}}', 422),
    "long field": (b'{"at": {}, "' + b"x" * 3_000_000 + b'": 1.0}', 422),
    "unknown field": (b'{"at": {}, "eval": "1"}', 422),
    "24 MB": (LARGE, 413),
    "24 MB in chunks": (chunks, 413),
    "points that multiply": (
        json.dumps({"at": {"x": [[9.5]] * 5000, "t": [0.5] * 5000}}).encode(), 422),
}  # fmt: skip
PATHS = (
    "/../../etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/assets/..%2f..%2f..%2fetc/passwd",
    "//etc/passwd",
    "/v1/solutions/..%2f..%2fetc/value",
)
"""That must not lead out of the pages."""
