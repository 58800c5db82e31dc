"""The symbols of a file: where each is defined, by which names it is found, and how it is replaced."""

from __future__ import annotations

from tools.symbols.definitions import Definition, definitions
from tools.symbols.replacing import replacement
from tools.symbols.search import SymbolAmbiguous, SymbolNotFound, find

__all__ = ["Definition", "SymbolAmbiguous", "SymbolNotFound", "definitions", "find", "replacement"]
