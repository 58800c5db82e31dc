"""The names of the interface for Python programs, each loaded with its first use: the command needs none of them."""

from __future__ import annotations

_PLACES = {
    "PatchwrightError": "errors",
    "Question": "session",
    "Session": "session",
    "Turn": "session",
    "UserQuestion": "session",
    "events": "",
    "session": "session",
    "tool": "tools",
}
"""By name, the module of `patchwright.api`; "" for a module itself."""


def load_name(name: str) -> object:
    """Return what a name of the interface is for. Raises AttributeError."""
    if name not in _PLACES:
        raise AttributeError(f"module 'patchwright' has no attribute {name!r}")
    from importlib import import_module

    module = import_module(f"patchwright.api.{_PLACES[name] or name}")
    return getattr(module, name) if _PLACES[name] else module
