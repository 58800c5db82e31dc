"""Expansion of words to the arguments that bash makes of them, as far as known without running anything."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.shell.parsing.syntax import PartKind, Word, decode_source

MAX_ALTERNATIVES = 256
"""Alternatives of one word with braces. No user writes more, and `{1..9999999}` would fill the memory."""

MAX_UNITS = 100_000
"""Characters of all alternatives together."""

Part = tuple[PartKind, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arg:
    """One argument, or a piece of source that expands to several.

    text: its value, None if unknown
    prefix: its known beginning
    shape: "one" argument, a "glob" (existing names, or the pattern itself), or "many": none, one or more
    source: as written
    """

    text: str | None
    prefix: str = ""
    shape: Literal["one", "glob", "many"] = "one"
    source: str = ""

    @property
    def may_be_option(self) -> bool:
        if self.text is not None:
            return self.text.startswith("-") and self.text != "-"
        if self.shape == "many" or not self.prefix:
            return self.source not in _NEVER_NEGATIVE
        return self.prefix.startswith("-")

    def to_display(self) -> str:
        return self.source if self.text is None else self.text


UNKNOWN_ARGS = Arg(text=None, shape="many", source="…")
"""Arguments appended by xargs and find."""


def make_static_arg(text: str) -> Arg:
    return Arg(text=text, prefix=text, source=text)


def expand_arguments(words: Sequence[Word], source: str, known: Mapping[str, str]) -> list[Arg]:
    """Expand all the words of a command. `known`: values of variables, written as `$NAME`"""
    return [arg for word in words for arg in expand_word(word, source, known)]


def expand_word(word: Word, source: str, known: Mapping[str, str]) -> list[Arg]:
    """Expand one word to its arguments."""
    written = decode_source(source[word.start : word.end])
    if len(word.parts) == 1 and word.parts[0][0] == "text" and _INERT.fullmatch(word.parts[0][1]):
        return [Arg(text=written, prefix=written, source=written)]
    alternatives = _expand_braces(word.parts)
    if alternatives is None:
        return [Arg(text=None, shape="many", source=written)]
    # `{a,}`: an empty alternative is no argument, unless it was quoted.
    return [
        _build_argument(parts, written, known) for parts in alternatives if parts or len(alternatives) == 1
    ]


_NEVER_NEGATIVE = frozenset(("$?", "$#", "$$", "$!", '"$?"', '"$#"', '"$$"', '"$!"'))
_INERT = compile_lazily(r"[A-Za-z0-9_./,:=@%+^-]+")
_GLOB = compile_lazily(r"[*?\[]")
_TILDE = compile_lazily(r"~(?=/|\Z)")
_ASSIGNED_TILDE = compile_lazily(r"[A-Za-z_][A-Za-z0-9_]*\+?=(?:.*:)?~", re.DOTALL)


def _build_argument(parts: Sequence[Part], written: str, known: Mapping[str, str]) -> Arg:
    parts = [("quoted", known[text.strip("{}$")]) if _is_known_variable(text, kind, known) else (kind, text)
             for kind, text in parts]  # fmt: skip
    prefix, shape = "", ""
    active = "".join(text if kind == "text" else "\0" for kind, text in parts)
    globs = "*" in active or "?" in active or "]" in active[active.find("[") :] * ("[" in active)
    for place, (kind, text) in enumerate(parts):
        if kind == "text":
            if place == 0 and text.startswith("~"):
                home = known.get("HOME")
                if home is None or not _TILDE.match(text) or (text == "~" and len(parts) > 1):
                    return Arg(text=None, shape="one", source=written)
                text = home + text[1:]
            if (place == 0 and _ASSIGNED_TILDE.match(text)) or (
                place and text.startswith("~") and "=" in prefix
            ):
                return Arg(text=None, prefix=decode_source(prefix), source=written)
            if globs and (match := _GLOB.search(text)):
                prefix, shape = prefix + text[: match.start()], shape or "glob"
                break
        elif kind in ("split", "list"):
            shape = "many"
            break
        elif kind in ("value", "number"):
            shape = "one"
            break
        prefix += text
    if any(kind in ("split", "list") for kind, _ in parts):
        shape = "many"
    if not shape:
        text = decode_source(prefix)
        return Arg(text=text, prefix=text, source=written)
    final: Literal["one", "glob", "many"] = "many" if shape == "many" else "glob" if globs else "one"
    return Arg(text=None, prefix=decode_source(prefix), shape=final, source=written)


def _is_known_variable(text: str, kind: PartKind, known: Mapping[str, str]) -> bool:
    if kind not in ("split", "value") or text.strip("{}$") not in known:
        return False
    return kind == "value" or _INERT.fullmatch(known[text.strip("{}$")]) is not None


# ── Braces ───────────────────────────────────────────────────────────────────────────────────────────

_SEQUENCE = compile_lazily(r"(-?[0-9]{1,6})\.\.(-?[0-9]{1,6})|([A-Za-z])\.\.([A-Za-z])")


def _expand_braces(parts: Sequence[Part]) -> list[list[Part]] | None:
    """Expand `{a,b}` to alternatives, in bash's order. Returns None for a form that is not surely understood."""
    if not any(kind == "text" and "{" in text for kind, text in parts):
        return [list(parts)]
    units = list(_split_units(parts))
    opened = _match_braces(units)
    if opened is None:
        return None
    found = _expand_range(units, 0, len(units), opened)
    if found is None:
        return None
    return [_join_units(each) for each in found]


def _split_units(parts: Sequence[Part]) -> Iterator[Part]:
    """Yield active text one character at a time, so that positions can be counted."""
    for kind, text in parts:
        if kind == "text":
            yield from (("text", char) for char in text)
        else:
            yield kind, text


def _match_braces(units: Sequence[Part]) -> dict[int, int] | None:
    """Return the closing position of each brace. None if they do not match: bash's rules for that are obscure."""
    opened: list[int] = []
    pairs: dict[int, int] = {}
    for place, unit in enumerate(units):
        if unit == ("text", "{"):
            opened.append(place)
        elif unit == ("text", "}"):
            if not opened:
                return None
            pairs[opened.pop()] = place
    return None if opened else pairs


def _expand_range(
    units: Sequence[Part], start: int, end: int, pairs: Mapping[int, int]
) -> list[list[Part]] | None:
    found: list[list[Part]] = [[]]
    place = start
    while place < end:
        if place not in pairs:
            for each in found:
                each.append(units[place])
            place += 1
            continue
        choices = _expand_group(units, place, pairs[place], pairs)
        if choices is None or len(found) * len(choices) > MAX_ALTERNATIVES:
            return None
        if len(found) * len(choices) * len(units) > MAX_UNITS:
            return None
        found = [[*each, *choice] for each in found for choice in choices]
        place = pairs[place] + 1
    return found


def _expand_group(
    units: Sequence[Part], opening: int, closing: int, pairs: Mapping[int, int]
) -> list[list[Part]] | None:
    commas, place = [opening], opening + 1
    while place < closing:
        if place in pairs:
            place = pairs[place]
        elif units[place] == ("text", ","):
            commas.append(place)
        place += 1
    if len(commas) == 1:
        return _expand_sequence(units[opening : closing + 1])
    found: list[list[Part]] = []
    for left, right in zip(commas, [*commas[1:], closing], strict=True):
        inner = _expand_range(units, left + 1, right, pairs)
        if inner is None:
            return None
        found += inner
    return found


def _expand_sequence(group: Sequence[Part]) -> list[list[Part]] | None:
    """Expand `{1..3}`; a group that is neither a list nor a sequence stays unchanged (`{}`, `HEAD@{1}`)."""
    inner = "".join(text for _, text in group[1:-1])
    if any(kind != "text" for kind, _ in group) or "{" in inner or "$" in inner:
        return None
    if ".." not in inner:
        return [list(group)]
    match = _SEQUENCE.fullmatch(inner)
    if not match or re.search(r"(?:\A|\.)-?0[0-9]", inner):
        return None
    first, last = (int(match[1]), int(match[2])) if match[1] else (ord(match[3]), ord(match[4]))
    step = 1 if first <= last else -1
    if abs(last - first) >= MAX_ALTERNATIVES or (match[3] and (match[3] > "Z") != (match[4] > "Z")):
        return None
    values = range(first, last + step, step)
    return [[("text", str(value) if match[1] else chr(value))] for value in values]


def _join_units(units: Sequence[Part]) -> list[Part]:
    parts: list[Part] = []
    for kind, text in units:
        if kind == "text" and parts and parts[-1][0] == "text":
            parts[-1] = ("text", parts[-1][1] + text)
        else:
            parts.append((kind, text))
    return parts
