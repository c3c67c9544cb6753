"""Values of requests that arrive at the same moment, in one pass through the network.

A pass for a hundred points takes three times as long as its share of one for eight hundred.
"""

import asyncio

import numpy as np

from feynkac.interfaces.server.inputs import Array
from feynkac.interfaces.server.served import Served

MOST = 32
"""Requests of one pass; others may be answered before the next."""
Waiting = list[tuple[Array, "asyncio.Future[Array]"]]


class Together:
    """What waits for a pass, by solution; used from the event loop alone."""

    def __init__(self) -> None:
        self._waiting: dict[str, Waiting] = {}

    async def value(self, served: Served, flat: Array) -> Array:
        """u inside the box, once the event loop has seen all requests that are there."""
        loop = asyncio.get_running_loop()
        if served.name not in self._waiting:
            self._waiting[served.name] = []
            loop.call_soon(self._compute, served)
        answer: asyncio.Future[Array] = loop.create_future()
        self._waiting[served.name].append((flat, answer))
        return await answer

    def _compute(self, served: Served) -> None:
        waiting = self._waiting.pop(served.name)
        if rest := waiting[MOST:]:
            self._waiting[served.name] = rest
            asyncio.get_running_loop().call_soon(self._compute, served)
        now = [(flat, answer) for flat, answer in waiting[:MOST] if not answer.done()]
        try:
            parts = _passed(served, [flat for flat, _ in now])
        except Exception as error:
            for _, answer in now:
                answer.set_exception(error)
        else:
            for (_, answer), part in zip(now, parts, strict=True):
                answer.set_result(part)


def _passed(served: Served, flats: list[Array]) -> list[Array]:
    """u for each of several arrays of inputs."""
    if len(flats) == 1:
        return [served.inside(flats[0])]
    rows = [flat.reshape(-1, flat.shape[-1]) for flat in flats]
    found = served.inside(np.concatenate(rows))
    ends = np.cumsum([len(each) for each in rows])[:-1]
    parts = np.split(found, ends)
    return [p.reshape(f.shape[:-1] + p.shape[1:]) for f, p in zip(flats, parts, strict=True)]
