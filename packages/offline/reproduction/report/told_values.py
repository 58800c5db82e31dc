"""Results that a report tells in words: roles of outputs, values in comments and in inline code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from packages.offline.reproduction.report.report_fields import Exchange, Role
from packages.offline.reproduction.report.text_elements import parse_code
from sandbox.lazy_pattern import compile_lazily

_EXPECTED = compile_lazily(
    r"\b(?:expect\w*|should|shall|ought|correct(?:ly)?\b|instead of|would (?:like|be)|supposed|desired|rather than"
    r"|want\w*|intended|improvement|after (?:the )?(?:correction|fix\w*)|works?(?: fine)?)\b",
    re.IGNORECASE,
)
_ACTUAL = compile_lazily(
    r"\b(?:actual\w*|but|instead(?! of)|got|currently|current|incorrect\w*|wrong\w*|buggy|bad|observed|however|fails?"
    r"|breaks?|whereas)\b",
    re.IGNORECASE,
)
_TELLS = compile_lazily(
    r"\b(?:returns?|gives?|outputs?|results?|produc\w+|prints?|says|shows?|yields?|get|evaluat\w+|display\w*|render\w*"
    r"|stack ?trace|trace\w*|error|fail\w*|following)\b|(?:^|\n)\s*(?:#+ )?\**out(?:put)?\b",
    re.IGNORECASE,
)
_RAISES = compile_lazily(r"\b[A-Z]\w*(?:Error|Exception)\b")
_SPAN = compile_lazily(r"(`{1,2})([^`\n]+?)\1")
_BETWEEN = compile_lazily(
    r"\b(?:returns?|gives?|produces?|yields?|evaluates? to|results? in|outputs?|prints?|is|equals?|becomes?|->|=>"
    r"|turns? into|get|got|be|generates?|renders?(?: as)?|translates? to)\b",
    re.IGNORECASE,
)
_COMMENT = compile_lazily(
    r"^\s*(?:-+>|=+>|>{2,3}|returns?:?|prints?:?|outputs?:?|results?(?: in)?:?|gives?:?|raises?:?|throws?:?"
    r"|got:?|out:)\s*(.+)$",
    re.IGNORECASE,
)
_LABEL = compile_lazily(
    r"^\s*\**(?:output|result|returns?|prints?|actual(?: (?:output|result))?|got|gives?)\**\s*:\s*(\S.*)$",
    re.I,
)
_SAYS_RIGHT = compile_lazily(
    r"(?:\b(?:expected|should (?:be|return|give|output|produce|print)|would expect|desired"
    r"|works?(?: fine| well| as expected)?|works? correctly|is (?:correct|right|fine)|below is correct"
    r"|correctly (?:produc|return|giv|print|output|show|yield)\w*)\b)"
    r"(?=(?:[^.!?\n]|\.(?=\d)){0,60}$)",
    re.IGNORECASE,
)
"""Ends of a prose before a session whose outputs are the right ones."""

FAR = 90
"""Characters between inline code and the value that belongs to it."""


def classify_role(lead: str, expected_words: re.Pattern[str] | None = None) -> Role:
    """Return the role of what follows a piece of prose, by its last words."""
    tail = " ".join(lead.split())[-220:]
    expected = max((each.start() for each in (expected_words or _EXPECTED).finditer(tail)), default=-1)
    actual = max((each.start() for each in _ACTUAL.finditer(tail)), default=-1)
    if expected > actual:
        return "expected"
    return "actual" if actual >= 0 or _TELLS.search(tail) else "unknown"


def classify_session(lead: str) -> Role:
    """Return the role of the outputs in a session after a piece of prose: it has to be clear that they are right."""
    tail = " ".join(lead.split())
    if re.search(r"\b(?:no longer|not|n't|never)\b[^.!?]{0,40}$", tail):
        return "actual"
    return "expected" if _SAYS_RIGHT.search(tail) else classify_role(lead, _SAYS_RIGHT)


def introduces_output(lead: str) -> bool:
    """Return whether a piece of prose says that an output follows."""
    tail = lead.strip()[-160:]
    return bool(_TELLS.search(tail) or _EXPECTED.search(tail) or _ACTUAL.search(tail)) or not tail


def parse_comment(comment: str) -> tuple[str, Role] | None:
    """Return the output that a comment after a statement tells, None if it tells none."""
    text = comment.strip().lstrip("#").strip()
    if found := _COMMENT.match(text):
        value = found[1].strip()
        return value, "expected" if re.match(r"(?i)expect|should", text) else "unknown"
    value = re.split(r"\s+(?:\(|but\b|instead\b|should\b|-)|,\s+(?:but|should)\b", text)[0]
    try:
        ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):  # words
        return None
    return value, "actual" if value != text else "unknown"


def denies_comparison(comment: str) -> bool:
    """Return whether a comment says that a comparison before it comes out wrong."""
    return bool(
        re.match(
            r"(?i)#\s*(?:unexpected|wrong|incorrect|bug|should (?:not|be false)|(?:is )?true\b.*(?:should|but))",
            comment.strip(),
        )
    )


def parse_label(line: str) -> str:
    """Return the value of a line "output: VALUE", "" if it is none."""
    found = _LABEL.match(line)
    return found[1].strip() if found else ""


def find_inline_exchanges(prose: str) -> Iterator[Exchange]:
    """Yield expressions in inline code that are followed by their value: "`f(0)` returns `1`"."""
    spans = list(_SPAN.finditer(prose))
    for place, span in enumerate(spans):
        source = span[2].strip()
        if not _is_evaluable(source):
            continue
        output = expected = ""
        end = span.end()
        for later in spans[place + 1 : place + 3]:
            between = prose[end : later.start()]
            if len(between) > FAR or not _BETWEEN.search(between) or _RAISES.search(between):
                break
            if classify_role(between) == "expected":
                expected = expected or later[2].strip()
            else:
                output = output or later[2].strip()
            end = later.end()
        if output or expected:
            yield Exchange(source=source, output=output, role="actual", expected=expected)


def find_evaluable_spans(prose: str) -> Iterator[str]:
    """Yield inline code that is a call or an operation on names: it may be what fails."""
    for span in _SPAN.finditer(prose):
        if _is_evaluable(span[2].strip()):
            yield span[2].strip()


def _is_evaluable(source: str) -> bool:
    tree = parse_code(source)
    if tree is None or len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        return False
    value = tree.body[0].value
    if isinstance(value, ast.Call):  # `f()` names a function more often than it calls it
        return bool(value.args or value.keywords) and not any(
            isinstance(a, ast.Constant) and a.value is ... for a in value.args
        )
    names = any(isinstance(each, ast.Name) for each in ast.walk(value))
    operates = isinstance(value, (ast.BinOp, ast.UnaryOp)) or any(
        isinstance(each, ast.Call) for each in ast.walk(value)
    )
    return names and operates
