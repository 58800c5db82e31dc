"""What an answer says of places, held against the code: what does not exist is never shown."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Collection, Mapping, Sequence

from packages.offline.jobs.found_code import Excerpt
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

_SENTENCE = compile_lazily(r"(?<=[.!?\]])\s+(?=[A-Z`(\"'])|\n+")
_CITED = compile_lazily(r"\s*\[(\d+(?:\s*,\s*\d+)*)\]")
_FILE = compile_lazily(r"(?<![\w/:.@-])((?:[\w.-]+/)*[\w-]+\.[A-Za-z]{1,5})(?::(\d+))?(?![\w/])")
_LINE = compile_lazily(r"\b(?:lines?|excerpts?)\s+\d+", re.IGNORECASE)
_CODE = compile_lazily(r"`([^`\n]+)`|\b([A-Za-z_][\w.]*)\(\)|\b([a-z]+(?:_[a-z0-9]+)+)\b")
_IDENTIFIER = compile_lazily(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?:\(.*\))?", re.DOTALL)
_SUFFIXES = frozenset(
    re.findall(
        r"\w+",
        "py pyi js jsx ts tsx mjs cjs go rs java c h cc cpp hpp rb php kt cs swift scala lua sh sql md rst txt toml "
        "json yml yaml cfg ini html css",
    )
)
_KNOWN = frozenset(
    [*dir(builtins), *keyword.kwlist, "self", "cls", "args", "kwargs", "null", "true", "false"]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedAnswer:
    """text: the sentences that hold, with places for the numbers of excerpts; dropped: those with invented places"""

    text: str
    dropped: Sequence[str]


def check_answer(
    reply: str, excerpts: Sequence[Excerpt], question: str, lines: Mapping[str, int], defined: Collection[str]
) -> CheckedAnswer:
    """Keep the sentences of a reply whose places exist.

    lines: number of lines of each file that the reply names and that exists; defined: its names that the code has
    """
    shown = "\n".join([question, *(f"{each.path}\n{each.symbol}\n{each.source}" for each in excerpts)])
    kept, dropped = [], []
    for sentence in _SENTENCE.split(reply):
        said = sentence.strip().removeprefix("- ").strip("*")
        if not re.search(r"\w", _CITED.sub("", said)) or said.startswith("```"):
            continue
        if _invents(said, shown, len(excerpts), lines, defined):
            dropped.append(said)
        else:
            kept.append(_name_places(said, excerpts))
    return CheckedAnswer(text="\n".join(kept), dropped=dropped)


def _invents(
    said: str, shown: str, excerpts: int, lines: Mapping[str, int], defined: Collection[str]
) -> bool:
    """Return whether a sentence names an excerpt, a file, a line or a name that is not there."""
    numbers = [int(each) for match in _CITED.finditer(said) for each in match[1].split(",")]
    if any(not 1 <= each <= excerpts for each in numbers) or (_LINE.search(said) and not numbers):
        return True
    for match in _FILE.finditer(said):
        if match[1].rpartition(".")[2].lower() not in _SUFFIXES:
            continue
        count = lines.get(match[1], 0)
        if (not count and match[1] not in shown) or int(match[2] or 0) > count:
            return True
    for match in _CODE.finditer(said):
        name = (match[1] or match[2] or match[3]).strip()
        if not _IDENTIFIER.fullmatch(name):
            continue
        for part in re.split(r"[.]", name.partition("(")[0]):
            if part in _KNOWN or re.search(rf"(?<!\w){re.escape(part)}(?!\w)", shown) or part in defined:
                continue
            return True
    return False


def _name_places(said: str, excerpts: Sequence[Excerpt]) -> str:
    """Replace numbers of excerpts by places, and the word "excerpt" with them."""

    def name(match: re.Match[str]) -> str:
        places = dict.fromkeys(excerpts[int(each) - 1].place for each in match[1].split(","))
        return f" ({', '.join(places)})"

    said = _LINE.sub("the code", said)
    return _CITED.sub(name, said)
