"""Regular expressions of modules, compiled when they are first used: a start needs few of the many that it imports."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from re import compile as compile_lazily

    _MADE: list[Any]
else:

    class _LazyPattern:
        """A pattern that becomes the compiled one at its first use."""

        def __init__(self, pattern: str | bytes, flags: int) -> None:
            self.pattern = pattern
            self._flags = flags
            _MADE.append(self)

        def __getattr__(self, name: str) -> Any:
            """Compile, and keep the methods, so that later uses are as quick as those of the original."""
            if name.startswith("__"):
                raise AttributeError(name)
            compiled = re.compile(self.pattern, self._flags)
            for each in _KEPT:
                setattr(self, each, getattr(compiled, each))
            return getattr(compiled, name)

        @property
        def is_compiled(self) -> bool:
            """Whether it was used."""
            return "match" in self.__dict__

        def __repr__(self) -> str:
            return repr(re.compile(self.pattern, self._flags))

    _KEPT = [name for name in dir(re.Pattern) if not name.startswith("_") and name != "pattern"]

    _MADE: list[_LazyPattern] = []

    def compile_lazily(pattern: str | bytes, flags: int = 0) -> _LazyPattern:
        """Return what `re.compile` returns, without its cost until it is used.

        For module-level constants. A malformed pattern raises `re.error` at its first use.
        """
        return _LazyPattern(pattern, int(flags))


def list_compiled() -> list[int]:
    """Return the numbers of the patterns that were used, in the order in which all were declared."""
    return [number for number, each in enumerate(_MADE) if each.is_compiled]


def compile_listed(numbers: Iterable[int]) -> None:
    """Compile patterns ahead of their use, by their numbers; those that are not declared here are passed over."""
    for number in numbers:
        if number < len(_MADE) and not _MADE[number].is_compiled:
            _MADE[number].groups  # noqa: B018 (the first use)


__all__ = ["compile_lazily", "compile_listed", "list_compiled"]
