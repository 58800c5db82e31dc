"""The symbols of a file: definitions, lookup by name, replacement."""

from __future__ import annotations

from tools.code.symbols.definition import Definition
from tools.code.symbols.definitions import list_definitions
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
