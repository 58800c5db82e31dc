"""The symbols of a file: where each is defined, by which names it is found, and how it is replaced."""

from __future__ import annotations

from tools.symbols.definitions import Definition, list_definitions
from tools.symbols.replacing import build_replacement
from tools.symbols.search import SymbolAmbiguous, SymbolNotFound, find_symbol

__all__ = [
    "Definition",
    "SymbolAmbiguous",
    "SymbolNotFound",
    "build_replacement",
    "find_symbol",
    "list_definitions",
]
