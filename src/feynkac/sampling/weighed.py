"""How much memory a computation takes: the most that its tensors hold at any time."""

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode


class Weighed(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Weighs the tensors that are made inside it, as long as they live.

    Hooks on saved tensors would see what autograd keeps, but `torch.func` forbids them.

    Example:
        >>> with Weighed() as weighed:
        ...     _ = torch.zeros(256, dtype=torch.float32) + 1.0
        >>> weighed.most
        2048
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.most, self._now = 0, 0
        self._known = dict[int, weakref.ref[torch.UntypedStorage]]()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Newer versions of torch ask; "yes" would import the compiler, which takes seconds."""
        return False

    def __torch_dispatch__(
        self, func: Callable[..., Any], _types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Call `func`, and weigh what it returns."""
        result = func(*args, **(kwargs or {}))
        for value in result if isinstance(result, tuple | list) else (result,):
            if isinstance(value, Tensor):
                self._weigh(value.untyped_storage())
        return result

    def _weigh(self, storage: torch.UntypedStorage) -> None:
        key, size = storage._cdata, storage.nbytes()
        if key in self._known:
            return

        def forget(_: object) -> None:
            del self._known[key]
            self._now -= size

        self._known[key] = weakref.ref(storage, forget)
        self._now += size
        self.most = max(self.most, self._now)
