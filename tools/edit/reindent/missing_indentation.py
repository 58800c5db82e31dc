"""Indentation of the further lines of `new` when `old` is one line given without all of its indentation.

Two readings are common: the model left out the indentation of the first line only, or of all lines. Where
they differ, brackets or the syntax decide; where these do not, the edit is ambiguous.
"""

from __future__ import annotations

from sandbox.lazy_pattern import compile_lazily
from tools.edit.indentation import OPENERS, compute_min_bracket_depth, indent_of, measure_indent_unit
from tools.edit.match.matchers import Source
from tools.edit.refusal import AmbiguousEdit

_BRACES = (
    ".c",
    ".h",
    ".cc",
    ".cpp",
    ".hpp",
    ".cs",
    ".css",
    ".go",
    ".java",
    ".js",
    ".jsx",
    ".kt",
    ".php",
    ".rs",
)
_BRACES_TOO = (".scss", ".swift", ".ts", ".tsx", ".mjs", ".cjs", ".scala", ".dart", ".json")


_ALONE = ("begin", "do", "else", "ensure", "finally", "loop", "repeat", "rescue", "then", "try")
"""Lines of one word, in languages whose blocks have no brackets, that are followed by deeper lines."""

_ITEM = compile_lazily(r"(?:[-*+]|\d+[.)])\s")


def indent_later_lines(source: Source, start: int, old: str, new: str, path: str) -> str:
    """Return `new` with its further lines indented as intended. Raises AmbiguousEdit if that is ambiguous."""
    text = source.text
    indent = source.before(start)
    later = [line for line in new.split("\n")[1:] if line.strip()]
    if indent and not indent.strip() and not old[0].isspace() and new.startswith(indent):
        return _remove_repeated_indent(source, start, old, new, path, indent)
    several = sum(1 for line in old.split("\n") if line.strip()) > 1
    if several and indent and not indent.strip() and old.split("\n")[0] in later:
        raise AmbiguousEdit(
            "lacks the indentation of its first line, which "
            "`new` has further down: give both with the indentation of the file"
        )
    if not indent or indent.strip() or not later or several:
        return new
    first, *rest = new.split("\n")
    shifted = "\n".join([first, *(indent + line if line.strip() else line for line in rest)])
    end = start + len(old)
    decided = _choose_by_syntax(path, text, [text[:start] + each + text[end:] for each in (new, shifted)])
    if decided is None:
        following = text[end:] if old.endswith("\n") else text[end:].partition("\n")[2]
        below = next((line for line in following.split("\n") if line.strip()), "")
        unit = 1 if "\t" in indent else measure_indent_unit(source.lines)
        decided = _choose_by_shape(old, first, later, indent, path, below, unit)
    if decided is None:
        raise AmbiguousEdit(
            "lacks its indentation, so how deep the "
            "other lines of `new` stand is not clear: give both with the indentation of the file"
        )
    return (new, shifted)[decided]


def _remove_repeated_indent(source: Source, start: int, old: str, new: str, path: str, indent: str) -> str:
    """Handle `new` that begins with the indentation that `old` left out: all its lines have it, and it is not
    added again. Raises AmbiguousEdit where a deeper `new` may be meant.
    """
    given = new.removeprefix(indent)
    if given == old:
        return new  # else nothing would change
    above = next((line for line in reversed(source.text[:start].split("\n")[:-1]) if line.strip()), "")
    is_code = path.endswith((*_BRACES, *_BRACES_TOO, ".py", ".rb"))
    opens = above.rstrip().endswith(OPENERS) or len(indent_of(above)) > len(indent)
    if is_code and not (opens and len(indent_of(above)) >= len(indent)):
        return given
    deeper = "\n".join(
        indent + line if i and line.strip() else line for i, line in enumerate(new.split("\n"))
    )
    end = start + len(old)
    results = [source.text[:start] + each + source.text[end:] for each in (given, deeper)]
    if _choose_by_syntax(path, source.text, results) == 0:
        return given
    raise AmbiguousEdit(
        "lacks its indentation, so how deep `new` stands is "
        "not clear: give both with the indentation of the file"
    )


def _choose_by_syntax(path: str, before: str, results: list[str]) -> int | None:
    from tools.code.syntax import find_new_problems

    wrong = [bool(find_new_problems(path, before, after)) for after in results]
    return wrong.index(False) if wrong[0] != wrong[1] else None


def _choose_by_shape(
    old: str, first: str, later: list[str], indent: str, path: str, below: str, unit: int
) -> int | None:
    """Return 0: as given, 1: all shifted, None: ambiguous. indent: the part of the file's that `old` lacks;
    below: the file's next line; unit: columns of one of its levels
    """
    given = indent_of(old)
    indent += given
    least = min((indent_of(line) for line in later), key=len)
    if given and len(least) < len(indent):
        return 1 if least.startswith(given) else None
    if len(least) >= len(indent):
        if len(indent_of(below)) > len(indent) and not first.rstrip().endswith(OPENERS):
            return None  # no bracket shows it, but it opens a block
        if _ITEM.match(first) and _ITEM.match(later[0].lstrip()):
            return None  # a sibling item, or a nested one
        if first.strip() in _ALONE and len(indent_of(later[0])) == len(indent):
            return None  # no bracket shows it, but it opens a block
        opens = first.rstrip().endswith(OPENERS)
        deeper = len(indent_of(later[0])) - len(indent)
        if deeper not in (0, unit):
            return None  # as if aligned: with the first line as given, or as in the file
        return 0 if opens == (deeper > 0) else None
    if indent_of(later[0]) and not first.rstrip().endswith(OPENERS):
        return None  # deeper than the first line for no reason, if all are shifted
    if len(indent_of(below)) < len(indent) and below.strip()[:1] not in tuple(")]}"):
        return None  # no bracket ends the block here, as in a comment: brackets do not decide
    if path.endswith(_BRACES + _BRACES_TOO):
        return (
            0 if compute_min_bracket_depth("\n".join([first, *later])) < compute_min_bracket_depth(old) else 1
        )
    return None
