"""Regular expressions of modules, compiled when they are first used: a start needs few of the many that it imports."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from re import compile as compile_lazily
else:

    class _LazyPattern:
        """A pattern that becomes the compiled one at its first use."""

        def __init__(self, pattern: str | bytes, flags: int) -> None:
            self.pattern = pattern
            self._flags = flags

        def __getattr__(self, name: str) -> Any:
            """Compile, and keep the methods, so that later uses are as quick as those of the original."""
            if name.startswith("__"):
                raise AttributeError(name)
            compiled = re.compile(self.pattern, self._flags)
            for each in _KEPT:
                setattr(self, each, getattr(compiled, each))
            return getattr(compiled, name)

        def __repr__(self) -> str:
            return repr(re.compile(self.pattern, self._flags))

    _KEPT = [name for name in dir(re.Pattern) if not name.startswith("_") and name != "pattern"]

    def compile_lazily(pattern: str | bytes, flags: int = 0) -> _LazyPattern:
        """Return what `re.compile` returns, without its cost until it is used.

        For module-level constants. A malformed pattern raises `re.error` at its first use.
        """
        return _LazyPattern(pattern, int(flags))


__all__ = ["compile_lazily"]
