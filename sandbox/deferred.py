"""An object that is built, and whose module is imported, when it is first used: a start makes many and uses few."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

T = TypeVar("T")

_UNBUILT: Any = object()
_OWN = frozenset({"_build", "_built", "_known", "_lock", "_set"})


class _Deferred:
    """Stands for the object; every attribute but the known ones builds it. Safe from several threads."""

    __slots__ = ("_build", "_built", "_known", "_lock", "_set")

    def __init__(self, build: Callable[[], Any], known: dict[str, Any]) -> None:
        self._build, self._known = build, known
        self._set: set[str] = set()
        self._built = _UNBUILT
        self._lock = threading.RLock()

    def __getattr__(self, name: str) -> Any:
        if self._built is _UNBUILT and name in self._known:
            return self._known[name]
        return getattr(_build_now(self), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OWN:
            object.__setattr__(self, name, value)
        elif self._built is _UNBUILT and name in self._known:
            self._known[name] = value
            self._set.add(name)
        else:
            setattr(_build_now(self), name, value)

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the object: special methods are looked up on the class, and not by `__getattr__`."""
        return iter(_build_now(self))

    @property
    def __class__(self) -> Any:
        return type(_build_now(self))

    @__class__.setter
    def __class__(self, other: Any) -> None:
        raise TypeError("the class of a deferred object is that of the object")


def defer(build: Callable[[], T], **known: object) -> T:
    """Return what stands for the object until it is first used; `isinstance` is such a use.

    known: attributes that are answered without the object, and may be set before it is built
    """
    return cast(T, _Deferred(build, known))


def find_built(instance: T) -> T | None:
    """Return the object, None if it stands for one that nobody has used yet."""
    deferred: Any = instance
    if type(deferred) is not _Deferred:
        return instance
    return None if deferred._built is _UNBUILT else cast(T, deferred._built)


def build_now(instance: T) -> T:
    """Return the object itself, for a caller that uses it often."""
    deferred: Any = instance
    return cast(T, _build_now(deferred)) if type(deferred) is _Deferred else instance


def _build_now(deferred: _Deferred) -> Any:
    if deferred._built is _UNBUILT:
        with deferred._lock:
            if deferred._built is _UNBUILT:
                built = deferred._build()
                for name in deferred._set:
                    setattr(built, name, deferred._known[name])
                deferred._built = built
                deferred._build = _build_nothing
    return deferred._built


def _build_nothing() -> None:
    """Take the place of a builder that has run, so that what it holds is released."""
