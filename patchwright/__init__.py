"""Patchwright, a command-line coding agent: an application, not a library. This is its launcher."""

from patchwright.version import VERSION as __version__

__all__ = ["__version__"]
