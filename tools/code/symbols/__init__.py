"""The symbols of a file: where each is defined, by which names it is found, and how it is replaced."""

from __future__ import annotations

from tools.code.symbols.definitions import Definition, list_definitions
from tools.code.symbols.symbol_lookup import SymbolAmbiguous, SymbolNotFound, find_symbol
from tools.code.symbols.symbol_replacement import build_replacement

__all__ = [
    "Definition",
    "SymbolAmbiguous",
    "SymbolNotFound",
    "build_replacement",
    "find_symbol",
    "list_definitions",
]
