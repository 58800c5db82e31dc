"""Exceptions that a report tells of: stack traces of CPython and IPython, single lines, and words in prose."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from packages.offline.reproduction.report.report_fields import Frame, Role, ToldError
from sandbox.lazy_pattern import compile_lazily

TRACE_START = compile_lazily(r"^\W{0,6}(?:[\w.]+\s+)?Traceback \(most recent call last\)")
_FRAME = compile_lazily(r'^\W{0,6}File "([^"\n]+)", line (\d+)(?:, in ([\w<>.]+))?')
_IPYTHON_FRAME = compile_lazily(r"^(?:File )?(\S+\.py)(?::(\d+))?(?:, in | in )([\w<>]+)\(")
_NAMED = r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Exists|Exit|Interrupt|DoesNotExist|Iteration|NotFound)"
_RAISED = compile_lazily(rf"^\W{{0,6}}({_NAMED})\b(?::\s*(.*)|\s*)$")
_ANY_RAISED = compile_lazily(r"^((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?::\s+(.*)|\s*)$")
_BRACED = compile_lazily(r"\{([A-Z]\w*(?:Error|Exception))\}\s*(.*)")
_LINE_IN_CODE = compile_lazily(rf"`({_NAMED}): ([^`\n]+)`")
_IN_PROSE = compile_lazily(
    r"\b(?:rais|throw|crash|fail|get|got|gives?|caus|result|produc|rise|lead|encounter|with|an?|the)\w*\s+(?:\w+\s+){0,3}?"
    rf"[`'\"*]*({_NAMED})\b"
)
_EXPECTED = compile_lazily(
    r"\b(?:should|expect\w*|ought|must)\b(?:\s+\w+){0,3}\s+(?:rais|throw|fail|be)\w*", re.IGNORECASE
)

_MODULE_FRAME = compile_lazily(r"^\S+\.pyc? in \w+\(")
_FAILS = compile_lazily(
    r"\b(?:rais|throw|giv|caus|result|produc|get|got|fail)\w*\s+(?:(?:in|with|to|an?|the|this|me|us)\s+){0,3}"
    r"(?:\w+\s+)?(?:error|exception|traceback|stack ?trace)s?\b|\bcrash(?:es|ed|ing)?\b",
    re.IGNORECASE,
)
UNNAMED = ""
"""Type of an exception that a report tells without its name."""

MOST_LINES = 400
"""Lines of one trace that are read: endless recursion repeats itself."""

MOST_MESSAGE = 600
"""Characters of a message that are kept."""


def parse_trace(lines: Sequence[str], start: int) -> tuple[ToldError | None, int]:
    """Parse the trace that begins at a line; return it and the index after its end.

    A trace that ends without the exception's line gives None.
    """
    frames: list[Frame] = []
    place = start + 1
    end = min(len(lines), start + MOST_LINES)
    while place < end:
        line = lines[place]
        if found := _FRAME.match(line) or _IPYTHON_FRAME.match(line.strip()):
            frames.append(Frame(path=found[1], line=int(found[2] or 0), function=found[3] or ""))
        elif line[:1] not in (" ", "\t", "") and (frames or place > start + 1) and not _is_quoted_code(line):
            raised = _RAISED.match(line) or (_ANY_RAISED.match(line) if frames else None)
            if raised and not _continues(lines, place):
                return _build_error(raised, frames, lines, place)
        place += 1
    for place in range(end - 1, start, -1):  # indented as a whole
        if raised := _RAISED.match(lines[place].strip()):
            return _build_error(raised, frames, lines, place)
    return None, end


def find_headless_trace(lines: Sequence[str]) -> int | None:
    """Return the index before the first frame of a trace without its first line, None if there is none."""
    first = next((n for n, line in enumerate(lines) if _FRAME.match(line) or _MODULE_FRAME.match(line)), None)
    if first is None:
        return None
    raised = any(_RAISED.match(line) for line in lines[first + 1 :] if line[:1] not in (" ", "\t"))
    return first - 1 if raised else None


def is_cut_trace(lines: Sequence[str], start: int) -> bool:
    """Return whether a trace ends before the line of its exception."""
    frames = sum(bool(_FRAME.match(line)) for line in lines[start + 1 : start + MOST_LINES])
    return frames > 0 and parse_trace(lines, start)[0] is None


def find_unnamed_error(prose: str) -> ToldError | None:
    """Return an exception of any type if the prose says that code fails, and names none."""
    for found in _FAILS.finditer(prose):
        sentence = prose[prose.rfind("\n", 0, found.start()) + 1 : found.end() + 60]
        if not _EXPECTED.search(sentence) and not re.search(
            r"(?i)\b(?:no|not|n't|without|never)\b", sentence
        ):
            return ToldError(type=UNNAMED, message="")
    return None


def find_prose_errors(text: str) -> Iterator[ToldError]:
    """Yield exceptions that the prose names, with a message where it quotes one."""
    for line in text.split("\n"):
        role: Role = "expected" if _EXPECTED.search(line) else "actual"
        for found in _LINE_IN_CODE.finditer(line):
            yield ToldError(type=_last(found[1]), message=found[2].strip(), role=role)
        for found in _BRACED.finditer(line):
            yield ToldError(type=found[1], message=found[2].strip(" ."), role=role)
        if found_line := _RAISED.match(line.strip().lstrip("#>E ").strip()):
            yield ToldError(type=_last(found_line[1]), message=(found_line[2] or "").strip(), role=role)
        for found in _IN_PROSE.finditer(line):
            yield ToldError(type=_last(found[1]), message="", role=role)


def parse_error_line(text: str) -> ToldError | None:
    """Return the exception of a text that is "Type: message", None if it is another one."""
    text = re.sub(r"^E   ", "", text.strip(), flags=re.MULTILINE)
    first, _, rest = text.strip().partition("\n")
    if found := _RAISED.match(first):
        return ToldError(
            type=_last(found[1]), message=" ".join([found[2] or "", rest]).strip()[:MOST_MESSAGE]
        )
    return None


def _build_error(
    raised: re.Match[str], frames: Sequence[Frame], lines: Sequence[str], place: int
) -> tuple[ToldError, int]:
    message, after = [raised[2] or ""], place + 1
    while (
        after < len(lines) and lines[after].strip() and len(message) < 5 and not _begins_other(lines[after])
    ):
        message.append(lines[after].strip())
        after += 1
    error = ToldError(
        type=_last(raised[1]),
        message=" ".join(message).strip()[:MOST_MESSAGE],
        frames=tuple(frames),
        has_trace=True,
    )
    return error, after


def _begins_other(line: str) -> bool:
    return bool(re.match(r"\s*(?:>>>|\.\.\.|In \[|```|~~~|\$ )", line)) or (
        bool(line[:1].isupper()) and " " in line
    )


def _continues(lines: Sequence[str], place: int) -> bool:
    """Return whether another trace follows: the exception at `place` was only the cause of the later one."""
    for line in lines[place + 1 : place + 12]:
        if re.match(r"\W{0,6}(?:During handling of the above|The above exception was the direct)", line):
            return True
        if re.match(r"\W{0,6}(?:>>>|In \[|```)", line):
            return False
    return False


def _is_quoted_code(line: str) -> bool:
    return bool(re.match(r"^(?:-+>|\.{3}|/|<|-{5,}|\d+ )", line))


def _last(name: str) -> str:
    return name.rpartition(".")[2]
