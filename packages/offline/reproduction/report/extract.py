"""Extraction of a report's fields: a pure function of its text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import field, replace

from packages.offline.reproduction.report.report_fields import Exchange, Report, Role, Snippet, ToldError
from packages.offline.reproduction.report.text_elements import (
    Element,
    clean_text,
    is_expression,
    normalize_code,
    parse_code,
    split_elements,
)
from packages.offline.reproduction.report.told_errors import (
    TRACE_START,
    UNNAMED,
    find_headless_trace,
    find_prose_errors,
    find_unnamed_error,
    is_cut_trace,
    parse_error_line,
    parse_trace,
)
from packages.offline.reproduction.report.told_values import (
    classify_role,
    classify_session,
    denies_comparison,
    find_evaluable_spans,
    find_inline_exchanges,
    introduces_output,
    parse_comment,
    parse_label,
)
from packages.offline.reproduction.report.transcripts import (
    is_transcript,
    parse_bare_prompts,
    parse_prompted_values,
    parse_transcript,
)
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

_VERSION = compile_lazily(
    r"\b([A-Z][A-Za-z]+|[a-z]+py|python|pip)[ =:v]{1,3}(\d+\.\d+(?:\.\d+)?(?:[ab.]\w+)?)\b"
)
_HEADING = compile_lazily(
    r"^\s*(?:#{1,6}\s*|\*\*)?\s*([A-Z][\w' /-]{2,50}?)\s*(?:\*\*)?\s*:?\s*(?:\*\*)?\s*$"
)
_SECTIONS = {
    "steps": compile_lazily(r"(?i)steps?\b|(?:how )?to reproduce|reproduc"),
    "expected": compile_lazily(r"(?i)expect"),
    "actual": compile_lazily(r"(?i)actual|observed|what happen|current behavio"),
}
_WANTS_ERROR = compile_lazily(
    r"\bgracefully\b|\bshould (?:fail|raise|throw)\b"
    r"|\b(?:better|proper|clear\w*|helpful|meaningful|informative|useful) (?:error|exception|message)",
    re.IGNORECASE,
)
"""Prose that asks for another exception where one is raised."""

_STEP = compile_lazily(r"^\s*(?:[-*•]|\d+[.)])\s+(\S.*)$")
MOST = 40
"""Of each field, and lines of a session."""


def extract_report(text: str) -> Report:
    """Return the fields of a report in Markdown, reStructuredText or plain text."""
    text = clean_text(text)
    elements = split_elements(text)
    reader = _Reader()
    for element in elements:
        reader.read_element(element)
    prose = "\n".join(each.text for each in elements if each.kind == "prose")
    fields = _read_sections(prose)
    errors = [*reader.errors, *find_prose_errors(prose)]
    if not any(each.type for each in errors) and (unnamed := find_unnamed_error(prose)):
        errors.append(unnamed)
    return Report(
        title=next((line.strip("# ").strip() for line in text.split("\n") if line.strip()), ""),
        snippets=tuple(reader.snippets),
        errors=tuple(dict.fromkeys(errors))[:MOST],
        steps=tuple(fields["steps"]),
        expected=tuple(fields["expected"]),
        actual=tuple(fields["actual"]),
        wants_error=any(each.role == "expected" for each in errors) or bool(_WANTS_ERROR.search(prose)),
        versions=tuple(dict.fromkeys(f"{a} {b}" for a, b in _VERSION.findall(text)))[:MOST],
        is_order=bool(_ORDER.search(prose)),
    )


_ORDER = compile_lazily(
    r"^\W*(?:please\s+|can you\s+|could you\s+)?(?:fix|mend|repair|correct|resolve)\b",
    re.IGNORECASE | re.MULTILINE,
)
"""What people say to whoever is to mend a bug, and not in a report of one."""


@dataclass(slots=True)
class _Reader:
    """Reads the elements in their order. lead: prose since the last code"""

    snippets: list[Snippet] = field(default_factory=list)
    errors: list[ToldError] = field(default_factory=list)
    lead: str = ""

    def read_element(self, element: Element) -> None:
        if element.kind == "prose":
            self._read_prose(element)
            return
        lead, self.lead = self.lead, ""
        lines = element.lines
        if element.language == "diff" or any(re.match(r"diff --git |@@ -\d", line) for line in lines):
            return
        if is_transcript(lines) and self._read_prompted_values(lines):
            return
        if is_transcript(lines):
            exchanges = [self._judge_exchange(each, lead) for each in parse_transcript(lines)][:MOST]
            self._add(exchanges, "transcript", lead)
        elif (start := _find_trace(lines)) is not None:
            self._read_trace(lines, lead, start)
        elif sum(line.startswith("> ") for line in lines) >= 2 and parse_code(element.text) is None:
            self._add(
                [replace(e, role=classify_session(lead)) for e in parse_bare_prompts(lines)],
                "transcript",
                lead,
            )
        else:
            self._read_block(element, lead)

    def _read_prose(self, element: Element) -> None:
        for line in element.lines:
            told = parse_label(line)
            if told and self.snippets and not self.lead.strip():
                self._attach_output(told.strip("`"), classify_role(self.lead) if self.lead else "actual")
            self.lead += line + "\n"
        inline = list(find_inline_exchanges(element.text))
        self._attach_spans(element.text)
        known = {each.source for each in inline}
        inline += [Exchange(source=each) for each in find_evaluable_spans(element.text) if each not in known]
        for each in inline[:MOST]:
            self.snippets.append(Snippet(exchanges=(each,), origin="inline", lead=""))

    def _attach_spans(self, prose: str) -> None:
        """Take the only value in inline code after a snippet for its output: "The output is `0`"."""
        if (
            not self.snippets
            or self.snippets[-1].exchanges[-1].output
            or self.snippets[-1].origin == "inline"
        ):
            return
        for found in re.finditer(r"`+([^`]{1,300}?)`+", prose[:600]):
            before = prose[: found.start()]
            if before.strip() and introduces_output(before):
                self._attach_output(found[1].strip(), classify_role(before))

    def _read_prompted_values(self, lines: Sequence[str]) -> bool:
        """Take values behind prompts for the outputs of the code before them, as some people write it."""
        told = parse_prompted_values(lines)
        if told is None:
            return False
        code, values = told
        if code:
            self._add(list(split_statements(normalize_code(code))), "code", self.lead)
        if not self.snippets:
            return False
        last = self.snippets[-1]
        places = [n for n, each in enumerate(last.exchanges) if is_expression(each.source)][-len(values) :]
        if len(places) < len(values) or any(last.exchanges[place].output for place in places):
            return bool(code)
        changed = list(last.exchanges)
        for place, value in zip(places, values, strict=True):
            changed[place] = replace(changed[place], output=value)
        self.snippets[-1] = replace(last, exchanges=tuple(changed))
        return True

    def _read_trace(self, lines: Sequence[str], lead: str, start: int) -> None:
        error, after = parse_trace(lines, start)
        if error is None and is_cut_trace(lines, start):
            error = ToldError(type=UNNAMED, message="", has_trace=True)
        code = normalize_code(
            "\n".join(line for line in lines[: max(start, 0)] if not line.startswith("-----"))
        )
        if code.strip() and _is_code(code):
            self._add(list(split_statements(code)), "code", lead)
        if error is not None:
            last = lead.strip().rpartition("\n\n")[2]
            error = replace(error, role="expected" if classify_role(last) == "expected" else "actual")
            self.errors.append(error)
            self._attach_error(error)
        rest = lines[after:]
        if any(line.strip() for line in rest):
            for element in split_elements("\n".join(rest)):
                self.read_element(element)

    def _read_block(self, element: Element, lead: str) -> None:
        code = normalize_code(element.text)
        told = parse_error_line(element.text)
        if told is not None and len(element.lines) < 12:
            self.errors.append(told)
            self._attach_error(told)
        elif _is_code(code) and not (element.kind == "block" and self._is_output(element, lead)):
            self._add(list(split_statements(code)), "code", lead)
        elif element.kind == "block" and self.snippets and introduces_output(lead):
            self._attach_output(element.text.strip("\n"), classify_role(lead))

    def _is_output(self, element: Element, lead: str) -> bool:
        """Return whether a block that parses as code is a value: `(0, 3)` after "returns"."""
        tree = parse_code(normalize_code(element.text))
        if tree is None or not self.snippets or not introduces_output(lead) or len(tree.body) != 1:
            return False
        calls = any(isinstance(each, (ast.Import, ast.ImportFrom, ast.Assign)) for each in ast.walk(tree))
        return not calls and isinstance(tree.body[0], ast.Expr)

    def _judge_exchange(self, each: Exchange, lead: str) -> Exchange:
        if each.error is not None:
            self.errors.append(each.error)
        return replace(each, role=classify_session(lead) if lead.strip() else each.role)

    def _add(self, exchanges: Sequence[Exchange], origin: str, lead: str) -> None:
        if exchanges:
            kind = "transcript" if origin == "transcript" else "code"
            self.snippets.append(Snippet(exchanges=tuple(exchanges), origin=kind, lead=lead.strip()[-600:]))  # type: ignore[arg-type]

    def _attach_output(self, output: str, role: Role) -> None:
        error = parse_error_line(output.strip("`"))
        if error is not None:
            self.errors.append(replace(error, role=role))
            self._attach_error(self.errors[-1])
            return
        place = next(
            (n for n in range(len(self.snippets) - 1, -1, -1) if self.snippets[n].origin != "inline"), -1
        )
        if place < 0:
            return
        last = self.snippets[place].exchanges[-1]
        if role == "expected":
            changed = replace(last, expected=last.expected or output)
        elif last.output or last.error:  # a second result of the same code: the first is the nearer one
            return
        else:
            changed = replace(last, output=output, role=role)
        self.snippets[place] = replace(
            self.snippets[place], exchanges=(*self.snippets[place].exchanges[:-1], changed)
        )

    def _attach_error(self, error: ToldError) -> None:
        if self.snippets and not self.snippets[-1].exchanges[-1].output:
            last = self.snippets[-1]
            self.snippets[-1] = replace(
                last, exchanges=(*last.exchanges[:-1], replace(last.exchanges[-1], error=error))
            )


def _find_trace(lines: Sequence[str]) -> int | None:
    """Return the index of a trace's first line, or the one before it if that line was not copied."""
    start = next((place for place, line in enumerate(lines) if TRACE_START.match(line.strip())), None)
    return find_headless_trace(lines) if start is None else start


def split_statements(code: str) -> Iterator[Exchange]:
    """Yield the top-level statements of code, with the outputs that comments after them tell."""
    tree = parse_code(code)
    if tree is None:
        return
    lines = code.split("\n")
    starts = [_first_line(each) for each in tree.body]
    for place, node in enumerate(tree.body):
        if place and _is_copied_value(tree.body[place - 1], node):
            continue
        end = node.end_lineno or node.lineno
        own = lines[starts[place] - 1 : end]
        tail = own[-1].encode()[: node.end_col_offset].decode("utf-8", "ignore")
        source = "\n".join([*own[:-1], tail])
        following = starts[place + 1] - 1 if place + 1 < len(starts) else len(lines)
        if place + 1 < len(starts) and starts[place + 1] <= end:  # two statements in one line
            source, end = ast.unparse(node), end
        trailing = own[-1][len(tail) :].strip()
        comments = [trailing, *(line.strip() for line in lines[end:following])]
        told = next(
            (found for each in comments if each.startswith("#") and (found := parse_comment(each))), None
        )
        if told is None and place + 1 < len(starts) and _is_copied_value(node, tree.body[place + 1]):
            told = (ast.get_source_segment(code, tree.body[place + 1]) or "", "unknown")
        if told is None and isinstance(node, ast.Expr) and isinstance(node.value, ast.Compare):
            # stated as a fact: where it does not hold, it was the wish, and nothing is seen
            told = ("True", "actual" if any(map(denies_comparison, comments)) else "unknown")
        if told is not None and (error := parse_error_line(told[0])) is not None:
            yield Exchange(source=source, error=replace(error, role=told[1]))
        else:
            yield Exchange(source=source, output=told[0] if told else "", role=told[1] if told else "unknown")


def _is_copied_value(before: ast.stmt, node: ast.stmt) -> bool:
    """Return whether a statement is the value of the one before it, copied from a session without its prompts."""
    if (
        not isinstance(before, ast.Expr)
        or not isinstance(node, ast.Expr)
        or isinstance(before.value, ast.Constant)
    ):
        return False
    try:
        ast.literal_eval(node.value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):  # something that is run
        return False
    return True


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def _is_code(code: str) -> bool:
    """Return whether a text is Python that does something."""
    tree = parse_code(code)
    if tree is None or not tree.body:
        return False
    return any(
        not isinstance(each, ast.Expr)
        or any(isinstance(inner, (ast.Call, ast.Attribute, ast.BinOp)) for inner in ast.walk(each))
        for each in tree.body
    )


def _read_sections(prose: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {name: [] for name in _SECTIONS}
    current = ""
    for line in prose.split("\n"):
        heading = _HEADING.match(line)
        if heading and (line.lstrip().startswith(("#", "**")) or line.rstrip().endswith(":")):
            current = next((name for name, words in _SECTIONS.items() if words.search(heading[1])), "")
        elif current and line.strip() and len(found[current]) < MOST:
            step = _STEP.match(line)
            found[current].append((step[1] if step else line).strip())
    return found
