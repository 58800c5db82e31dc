"""Interactive sessions in a report: doctest, IPython, and bare prompts, with the output of each input."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from packages.offline.reproduction.report.report_fields import Exchange, ToldError
from packages.offline.reproduction.report.told_errors import TRACE_START, parse_trace
from sandbox.lazy_pattern import compile_lazily

_PROMPT = compile_lazily(r"^\s{0,12}(?:>{1,3}\s*)?(?:>>>(?: |$|(?=[A-Za-z_@]))|In ?\[\d*\]: ?)(.*)$")
_MORE = compile_lazily(r"^\s{0,12}(?:\.\.\.(?: |$)|\s*\.{3,}: ?)(.*)$")
_OUT = compile_lazily(r"^\s{0,12}Out ?\[\d*\]:\s?(.*)$")
_BARE = compile_lazily(r"^>\s+(.*)$")


def is_transcript(lines: Sequence[str]) -> bool:
    """Return whether one of the lines begins with a prompt of Python or IPython."""
    return any(_PROMPT.match(line) for line in lines)


def is_prompt(line: str) -> bool:
    """Return whether a line begins with a prompt of Python or IPython."""
    return bool(_PROMPT.match(line))


def parse_transcript(lines: Sequence[str]) -> Iterator[Exchange]:
    """Yield the inputs with their outputs."""
    place = 0
    while place < len(lines):
        found = _PROMPT.match(lines[place])
        place += 1
        if not found:
            continue
        source = [found[1]]
        while place < len(lines) and (more := _match_continuation(lines[place], source)):
            source.append(more[1])
            place += 1
        output, place, error = _read_output(lines, place)
        text = "\n".join(source).rstrip()
        if text.strip():
            yield Exchange(source=text, output=output, error=error)


def parse_bare_prompts(lines: Sequence[str]) -> Iterator[Exchange]:
    """Yield the inputs of a session whose prompt is a single `>`; a line with the result may have one, too."""
    told = [found[1].strip() for line in lines if (found := _BARE.match(line))]
    for source, output in zip(told[::2], told[1::2], strict=False):
        yield Exchange(source=source, output=output)


def parse_prompted_values(lines: Sequence[str]) -> tuple[str, list[str]] | None:
    """Return (code without prompts, values) if what stands behind the prompts are values only; None otherwise."""
    values: list[str] = []
    code: list[str] = []
    for line in lines:
        if found := _PROMPT.match(line):
            values.append(found[1].strip())
        elif values and line.strip():
            return None
        else:
            code.append(line)
    if not values or not all(map(_is_value, values)):
        return None
    return "\n".join(code).strip("\n"), values


def _is_value(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):  # something that is run
        return False
    return True


def _match_continuation(line: str, source: Sequence[str]) -> re.Match[str] | None:
    found = _MORE.match(line)
    # a literal ellipsis in an output is no continuation of a finished statement
    return (
        found
        if found and (found[1].strip() or source[-1].rstrip().endswith(":") or len(source) > 1)
        else None
    )


def _read_output(lines: Sequence[str], place: int) -> tuple[str, int, ToldError | None]:
    told: list[str] = []
    while place < len(lines) and not _PROMPT.match(lines[place]):
        line = lines[place]
        if TRACE_START.match(line.strip()):
            error, after = parse_trace([each.rstrip() for each in lines], place)
            return "\n".join(told).strip("\n"), after, error
        if re.match(r"^-{20,}$", line.strip()):  # IPython's rule above a trace
            place += 1
            continue
        if found := _OUT.match(line):
            told.append(found[1])
        elif not line.strip() and told and any(each.strip() for each in told):
            break  # an empty line ends an output
        else:
            told.append(line)
        place += 1
    return "\n".join(told).strip("\n"), place, None
