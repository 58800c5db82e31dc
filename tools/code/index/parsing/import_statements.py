"""Imports of a file: import statements parsed by one small rule per language."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One imported module.

    module: as written: "shop.cart", "..cart" (Python, relative), "./cart" (JavaScript), "shop/cart.h"
    names: imported from it, () for the module itself
    """

    line: int
    module: str
    names: tuple[str, ...] = ()


def parse_imports(language: str, statements: Sequence[tuple[int, str]]) -> Iterator[Import]:
    """Yield the imports of statements, given with their lines."""
    rule = _RULES.get(language)
    if rule is not None:
        for line, text in statements:
            for module, names in rule(text):
                yield Import(line=line, module=module, names=names)


Found = Iterator[tuple[str, tuple[str, ...]]]


def _parse_names(text: str) -> tuple[str, ...]:
    """Parse `a, b as c, *` into a, b."""
    firsts = (each.split()[0] for each in text.replace("type ", " ").split(",") if each.split())
    return tuple(each for each in firsts if re.fullmatch(r"\w+", each))


def _parse_python(text: str) -> Found:
    text = re.sub(r"#[^\n]*|[()\\]", " ", text)
    if parts := re.match(r"\s*from\s+([\w. ]+?)\s+import\s+(.*)", text, re.DOTALL):
        yield parts[1].replace(" ", ""), _parse_names(parts[2])
    elif parts := re.match(r"\s*import\s+(.*)", text, re.DOTALL):
        for each in parts[1].split(","):
            if words := each.split():
                yield words[0], ()


def _parse_quoted(text: str) -> Found:
    quoted = re.findall(r"""["'`<]([^"'`<>\n]+)["'`>]""", text)
    if quoted:
        inside = re.search(r"\{([^}]*)\}", text)
        names = _parse_names(inside[1]) if inside else ()
        if first := re.match(r"\s*(?:import|export)\s+(?:type\s+)?(?!type\b)(\w+)", text):
            names = (first[1], *names)
        yield quoted[-1], names


def _parse_dotted(text: str) -> Found:
    found = re.match(
        r"\s*(?:global\s+)?(?:import|using)\s+(?:static\s+)?(?:\w+\s*=\s*)?([\w.]+?)(?:\.\*)?\s*(?:;|$|\bas\b)",
        text,
    )
    if found:
        head, _, last = found[1].rpartition(".")
        yield found[1], (last,) if head else ()


def _parse_rust(text: str) -> Found:
    text = re.sub(r"^\s*(?:pub(?:\([^)]*\))?\s+)?", "", text)
    if parts := re.match(r"mod\s+(\w+)", text):
        yield f"./{parts[1]}", ()
    elif parts := re.match(r"use\s+([\w:]+?)(?:::)?(?:\{(.*)\})?\s*(?:as\s+\w+\s*)?;", text, re.DOTALL):
        if parts[2] is not None:
            yield parts[1], _parse_names(re.sub(r"[{}]|\w+::", " ", parts[2]))
        else:
            head, _, last = parts[1].rpartition("::")
            yield (head, (last,)) if head else (last, ())


def _parse_php(text: str) -> Found:
    if parts := re.match(r"\s*use\s+(?:function\s+|const\s+)?(.*?);", text, re.DOTALL):
        for each in parts[1].split(","):
            if words := each.split():
                yield words[0].strip("\\").replace("\\", "."), (words[0].rpartition("\\")[2],)
    else:
        yield from _parse_quoted(text)


def _parse_shell(text: str) -> Found:
    words = text.split()
    if len(words) > 1:
        yield words[1].strip("\"'").rpartition("}/")[2], ()


def _parse_swift(text: str) -> Found:
    if parts := _SWIFT_IMPORT.match(text):
        head, _, last = parts[1].rpartition(".")
        yield parts[1], (last,) if head else ()


_SWIFT_IMPORT = compile_lazily(
    r"\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:\w+\s+)?import\s+"
    r"(?:(?:class|struct|enum|protocol|typealias|func|let|var)\s+)?([\w.]+)"
)


def _parse_scala(text: str) -> Found:
    """Parse `a.b, c.{D, E => F}, g._` into a.b, c.D, c.E, g."""
    text = re.sub(
        r"^\s*import\s+(?:given\s+)?", "", re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    )
    for each in re.findall(r"[^,{]+(?:\{[^}]*\})?", text):
        head, brace, inside = each.strip().partition("{")
        head = re.sub(r"\s+as\s+.*|\.(?:_|\*|given)$|\.$", "", head.strip())
        names = _parse_names(inside.rstrip("} \n").replace("=>", " ")) if brace else ()
        names = tuple(name for name in names if name not in ("_", "given"))
        if not re.fullmatch(r"[\w.]+", head):
            continue
        if names:
            yield from ((f"{head}.{name}", (name,)) for name in names)
        else:
            last = head.rpartition(".")[2]
            yield head, (last,) if last != head and last[:1].isupper() and not brace else ()


_RULES: Mapping[str, Callable[[str], Found]] = {
    "python": _parse_python,
    "javascript": _parse_quoted,
    "typescript": _parse_quoted,
    "tsx": _parse_quoted,
    "go": _parse_quoted,
    "c": _parse_quoted,
    "cpp": _parse_quoted,
    "css": _parse_quoted,
    "ruby": _parse_quoted,
    "java": _parse_dotted,
    "kotlin": _parse_dotted,
    "csharp": _parse_dotted,
    "rust": _parse_rust,
    "php": _parse_php,
    "bash": _parse_shell,
    "swift": _parse_swift,
    "scala": _parse_scala,
    "lua": _parse_quoted,
}
