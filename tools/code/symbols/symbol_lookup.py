"""Lookup of exactly one symbol by the name that a model or a user gives, or an error that lists candidates."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tools.code.symbols.definition import Definition
from tools.code.symbols.definitions import list_definitions

MAX_LISTED = 8
"""Names or places in a message."""

_NO_MODULES = frozenset({"__init__", "index", "mod", "lib", "main"})
"""Modules that are named after their folder."""


class SymbolNotFound(ValueError):
    """No definition of that name. The message names the nearest ones."""


class SymbolAmbiguous(ValueError):
    """Several definitions of that name. The message lists their lines."""


def find_symbol(path: str, text: str, name: str) -> Definition:
    """Return the definition of a symbol. Raises SymbolNotFound, SymbolAmbiguous.

    name: "total", "Cart.total", "Cart::total", "Cart#total", "total()", with or without the module in front
    """
    there = list_definitions(path, text)
    if not there:
        raise SymbolNotFound(f"no definitions were found in {path}: give the lines to replace instead")
    wanted = _split_qualified_name(name)
    found = _find_matching(path, there, wanted)
    if not found:
        raise SymbolNotFound(f"no {name!r} in {path}. {_describe_nearest(there, wanted)}")
    if len(found) > 1:
        lines = text.split("\n")
        places = "\n".join(
            f"  {each.first}–{each.last}: {lines[each.own_first - 1].strip()[:80]}  ({each.kind} {each.name})"
            for each in found[:MAX_LISTED]
        )
        more = f"\n  … {len(found) - MAX_LISTED} more" if len(found) > MAX_LISTED else ""
        how = "Give the lines of the one that is meant"
        if len({each.name for each in found}) == len(found):
            how = "Give its qualified name"
        raise SymbolAmbiguous(f"{name!r} is defined {len(found)} times in {path}:\n{places}{more}\n{how}.")
    return found[0]


def _split_qualified_name(name: str) -> tuple[str, ...]:
    """Split `shop/cart.Cart#total(self)` into shop, cart, Cart, total."""
    bare = name.strip()
    if "operator" not in bare:
        # Strip parameters, but not (*Cart).Total.
        bare = re.sub(r"(?<=[\w?!>\]])\s*\(.*", "", bare, flags=re.DOTALL)
    if "operator" in bare:
        head, _, operator = bare.partition("operator")
        return (*_split_parts(head), re.sub(r"\s+", "", "operator" + operator))
    while (less := re.sub(r"<[^<>]*>|\[[^\[\]]*\]", "", bare)) != bare:
        bare = less
    words = bare.split()  # "def total", "class Cart", "async function f"
    return _split_parts(words[-1]) if words else ()


def _split_parts(name: str) -> tuple[str, ...]:
    name = re.sub(r"(?<=[\w?!])#", ".", name)  # Cart#total; a private #total keeps its sign
    return tuple(part.strip("*&()") for part in re.split(r"::|->|[./\\]", name) if part.strip("*&()"))


def _find_matching(path: str, there: Sequence[Definition], wanted: tuple[str, ...]) -> list[Definition]:
    """Match the whole qualified name, else its end, else the name after the file's module."""
    named = [(tuple(each.name.split(".")), each) for each in there]
    if not wanted:
        return []
    whole = [each for name, each in named if name == wanted]
    if whole:
        return whole
    ends = [each for name, each in named if name[-len(wanted) :] == wanted]
    if ends:
        return ends
    modules = _split_module_path(path)
    for count in range(1, len(wanted)):  # the shortest module prefix first
        module, rest = wanted[:count], wanted[count:]
        inside = [
            each
            for name, each in named
            if name == rest and (modules[-count:] == module or _is_in_package(each, module))
        ]
        if inside:
            return inside
    return []


def _split_module_path(path: str) -> tuple[str, ...]:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if parts:
        parts[-1] = parts[-1].split(".")[0]
        if parts[-1] in _NO_MODULES:
            parts.pop()
    return tuple(parts)


def _is_in_package(definition: Definition, module: tuple[str, ...]) -> bool:
    package = tuple(definition.package.split("."))
    return bool(definition.package) and package[-len(module) :] == module


def _describe_nearest(there: Sequence[Definition], wanted: tuple[str, ...]) -> str:
    import difflib

    by_name = {each.name.lower(): each for each in there}
    last = wanted[-1].lower() if wanted else ""
    same = [each for each in there if each.name.rpartition(".")[2].lower() == last]
    tails = {each.name.rpartition(".")[2].lower(): each for each in there}
    close = [by_name[name] for name in difflib.get_close_matches(".".join(wanted).lower(), by_name, n=5)]
    close += [tails[name] for name in difflib.get_close_matches(last, tails, n=5)]
    names = list(dict.fromkeys(f"{each.name} ({each.first}–{each.last})" for each in [*same, *close]))
    if names:
        return f"Nearest: {', '.join(names[:MAX_LISTED])}."
    some = ", ".join(f"{each.name} ({each.first}–{each.last})" for each in there[:MAX_LISTED])
    return f"It defines {some}{' …' if len(there) > MAX_LISTED else ''}."
