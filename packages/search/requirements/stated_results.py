"""Results that a prompt states of a call (`total([5]) must return 5`) or of a command, and the check that runs it."""

from __future__ import annotations

import ast
import re
import secrets
import shlex
from collections.abc import Iterator
from pathlib import PurePosixPath

from agent.verify.requirement import Requirement, Result
from agent.verify.suite_verifier import RunAction
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.core.workspace import Workspace

LONGEST = 300
"""Characters of a call or a value that is read."""

RAISES, EQUALS, PRINTS = " raises ", " == ", " prints "
"""What stands between the call or command and its result in the text of a check."""

_CALL = r"(?<![\w.`])(?P<open>`?)(?P<call>[A-Za-z_][\w.]*\((?:[^()\n]|\([^()\n]*\))*\))(?P=open)"
_MUST = r"(?:must|should|shall|has to|have to|needs? to|ought to)"
_RETURNS = compile_lazily(
    _CALL
    + rf"\s+(?:{_MUST}\s+(?:now\s+|also\s+|still\s+)?(?:return|be|equal|give|yield|produce|evaluate to|come to)"
    r"(?:\s+exactly)?|=>)\s+(?:an?\s+)?(?:empty\s+(?=(?:list|dict|tuple|set|string)\b))?(?P<rest>\S[^\n]*)",
    re.IGNORECASE,
)
_ASSERTED = compile_lazily(
    rf"\b(?:{_MUST} hold|make sure|ensure|expect(?:ed)?|want|assert|so)(?:\s*:|\s+that)?\s+"
    + _CALL
    + r"\s*==\s*(?P<rest>\S[^\n]*)",
    re.IGNORECASE,
)
_MADE = compile_lazily(
    r"\b(?:make|let|have)\s+" + _CALL + r"\s+(?:return|equal|give|yield|be)\s+(?P<rest>\S[^\n]*)",
    re.IGNORECASE,
)
_EMPTY_KIND = r"(?:an?\s+)?(?:empty\s+(?=(?:list|dict|tuple|set|string)\b))?"
_GIVEN = rf"\s+(?:for|on|given|when\s+(?:given|passed|called\s+with))\s+{_EMPTY_KIND}"
_RETURNS_FOR = compile_lazily(
    rf"(?P<open>`?)\b(?P<name>[A-Za-z_]\w*)(?:\(\))?(?P=open)\s+{_MUST}\s+return\s+(?P<value>\S[^\n]{{0,80}}?){_GIVEN}"
    r"(?P<rest>\S[^\n]*)",
    re.IGNORECASE,
)
_RAISES_FOR = compile_lazily(
    rf"(?P<open>`?)\b(?P<name>[A-Za-z_]\w*)(?:\(\))?(?P=open)\s+{_MUST}\s+(?:raise|throw)\s+(?:an?\s+)?"
    rf"`?(?P<error>[A-Z]\w*(?:Error|Exception|Warning|Iteration))\b`?{_GIVEN}(?P<rest>\S[^\n]*)",
    re.IGNORECASE,
)
_RAISES = compile_lazily(
    _CALL
    + rf"\s+{_MUST}\s+(?:raise|throw)\s+(?:an?\s+)?`?(?P<error>[A-Z]\w*(?:Error|Exception|Warning|Iteration))\b`?",
    re.IGNORECASE,
)
_PRINTS = compile_lazily(
    rf"`(?P<command>[^`\n]+)`\s+{_MUST}\s+(?:print|output|write|show)\s+(?:exactly\s+)?"
    r"(?:`(?P<text>[^`\n]+)`|\"(?P<quoted>[^\"\n]+)\")",
    re.IGNORECASE,
)
_DEMANDED = compile_lazily(
    r"==|=>|\b(?:must|should|shall|ha[sv]e?|needs?|ought|makes?|let|expect)\b.*(?:[\d({'\"\[]|\bempty\b)"
    r"|\b(?:raise|throw|return)\b",
    re.IGNORECASE,
)
_EMPTY = {"list": "[]", "dict": "{}", "tuple": "()", "set": "set()", "string": "''"}


@dataclass(frozen=True, slots=True)
class StatedCall:
    """A call with literal arguments. root: the first part of its name"""

    text: str
    root: str


def find_stated_results(sentence: str) -> Iterator[tuple[int, str]]:
    """Yield (place, check) of each result that a sentence demands of a call or a command."""
    if not _DEMANDED.search(sentence):  # before the others, which are slow to compile
        return
    for pattern in (_RETURNS, _ASSERTED, _MADE):
        for match in pattern.finditer(sentence):
            value = None if _is_quoted(sentence, match.start()) else _read_value(match["rest"])
            if (call := read_call(match["call"])) is not None and value is not None:
                yield match.start(), f"{call.text}{EQUALS}{value}"
    for match in _RAISES.finditer(sentence):
        if not _is_quoted(sentence, match.start()) and (call := read_call(match["call"])) is not None:
            yield match.start(), f"{call.text}{RAISES}{match['error']}"

    for match in (*_RETURNS_FOR.finditer(sentence), *_RAISES_FOR.finditer(sentence)):
        argument = _read_value(match["rest"])
        # A tuple may be one argument or several.
        if argument is None or argument.startswith("(") or match["name"].lower() in _NO_FUNCTIONS:
            continue
        text, named = f"{match['name']}({argument})", match.groupdict()
        if error := named.get("error"):
            yield match.start(), f"{text}{RAISES}{error}"
        elif (
            value := _read_value(named["value"].removeprefix("an empty ").removeprefix("empty "))
        ) is not None:
            yield match.start(), f"{text}{EQUALS}{value}"


def _is_quoted(sentence: str, place: int) -> bool:
    """Return whether a place is inside of a quoted text that begins with other words: a message of a program."""
    before = sentence[:place]
    return before.count('"') % 2 == 1 and bool(before.rpartition('"')[2].strip("` "))


_NO_FUNCTIONS = frozenset(
    ("it", "this", "that", "they", "which", "function", "method", "call", "code", "and", "or")
)


def find_stated_outputs(sentence: str) -> Iterator[tuple[int, str]]:
    """Yield (place, check) of each text that a command is to print."""
    for match in _PRINTS.finditer(sentence):
        if PRINTS not in match["command"]:
            yield match.start(), f"{match['command'].strip()}{PRINTS}{match['text'] or match['quoted']}"


def read_call(text: str) -> StatedCall | None:
    """Return a call of a name with literal arguments; None for any other text: nothing else is ever run."""
    try:
        node = ast.parse(text[:LONGEST], mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(node, ast.Call):
        return None
    name = node.func
    while isinstance(name, ast.Attribute):
        name = name.value
    arguments = [*node.args, *(each.value for each in node.keywords)]
    if not isinstance(name, ast.Name) or not all(map(_is_literal, arguments)):
        return None
    return StatedCall(ast.unparse(node), name.id)


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    return True


def _read_value(rest: str) -> str | None:
    """Return the literal that a text begins with, None if it begins with none; `empty list` is one."""
    rest = rest[:LONGEST].strip()
    if word := re.match(r"(?:list|dict|tuple|set|string)\b", rest):
        return _EMPTY[word[0]] if len(rest) == len(word[0]) or not rest[len(word[0])].isalnum() else None
    if quoted := re.match(r"`([^`]+)`", rest):
        return _parse_literal(quoted[1])
    # The longest beginning that is a literal: "5, not 6" is 5, "(1, 2) for it" is (1, 2).
    ends = [match.start() for match in re.finditer(r"(?=[\s,;.!?)\]}]|$)", rest)]
    ends += [match.end() for match in re.finditer(r"[)\]}'\"]", rest)]
    for end in sorted(set(ends), reverse=True):
        if (value := _parse_literal(rest[:end])) is not None:
            return value
    return None


def _parse_literal(text: str) -> str | None:
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    # "5, not 6" is no tuple: one has its parentheses in prose.
    if isinstance(node, ast.Tuple) and not text.strip().startswith("("):
        return None
    return ast.unparse(node) if _is_literal(node) else None


async def check_stated_result(each: Requirement, at: Workspace, run_action: RunAction) -> Result:
    """Return whether a call returns or raises what is demanded; not checked where no one function has the name."""
    from packages.search.requirements.static_checks import query_definitions

    relation = RAISES if RAISES in each.check else EQUALS
    text, _, wanted = each.check.partition(relation)
    if (call := read_call(text)) is None:
        return Result(detail="no call with plain arguments")
    try:
        found = [one for one in query_definitions(call.root, at) if one.path.endswith(".py")]
    except UserError as problem:
        return Result(detail=f"the code index cannot be asked: {problem.message}")
    places = {one.path for one in found if "." not in one.symbol.name}
    if len(places) != 1:
        return Result(detail=f"{call.root} is defined in {len(places)} files")
    folder, module = _split_module(places.pop(), at)
    token = secrets.token_hex(8)
    program = _PROGRAM.format(
        folder=folder, module=module, root=call.root, call=call.text, token=token,
        error=wanted if relation == RAISES else "None", value="None" if relation == RAISES else wanted,
    )  # fmt: skip
    # That of the tests, if they were run: it has what the project needs.
    python = next((one.path for one in at.facts.get("interpreters", {}).values()), "python3")
    made = await run_action("shell", {"command": f"{shlex.quote(python)} -c {shlex.quote(program)}"})
    told = next((line for line in reversed(made.text.splitlines()) if line.startswith(token)), "")
    state, _, detail = told.removeprefix(token).strip().partition(" ")
    if state not in ("met", "unmet"):
        return Result(detail=detail or "not run: it came to no end")
    return Result(state="met" if state == "met" else "not met", evidence="executed", detail=detail)


def _split_module(path: str, at: Workspace) -> tuple[str, str]:
    """Return (folder to import from, module) of a Python file: its packages have an `__init__.py` each."""
    parts = list(PurePosixPath(path).with_suffix("").parts)
    first = len(parts) - 1
    while first > 0 and at.files.is_file("/".join([*parts[:first], "__init__.py"])):
        first -= 1
    name = parts[first:] if parts[-1] != "__init__" else parts[first:-1]
    return "/".join(parts[:first]) or ".", ".".join(name)


_PROGRAM = """\
import importlib, os, sys
sys.path.insert(0, os.path.abspath({folder!r}))
def tell(state, detail):
    sys.stdout.flush()
    os.write(1, ("\\n{token} " + state + " " + " ".join(detail.split())[:300] + "\\n").encode("utf-8", "replace"))
    os._exit(0)
try:
    {root} = getattr(importlib.import_module({module!r}), {root!r})
except BaseException as error:
    tell("open", "not run: " + repr(error))
try:
    found = {call}
except BaseException as error:
    names = [each.__name__ for each in type(error).__mro__]
    tell("met" if {error!r} in names else "unmet", "it raises " + repr(error))
if {error!r} != "None":
    tell("unmet", "it returns " + repr(found))
wanted = {value}
same = found == wanted and isinstance(found, bool) == isinstance(wanted, bool)
if isinstance(wanted, float) and isinstance(found, (int, float)):
    same = abs(found - wanted) <= 1e-9 * max(1.0, abs(wanted))
tell("met" if same else "unmet", "it returns " + repr(found))
"""


async def check_stated_output(each: Requirement, run_action: RunAction) -> Result:
    """Return whether a command prints a text: as all of its output, or as a line of it."""
    command, _, wanted = each.check.rpartition(PRINTS)
    made = await run_action("shell", {"command": command})
    if "exit" not in made.data:
        return Result(detail="not run")
    lines = [line.rstrip() for line in made.text.partition("\n")[2].splitlines()]
    if any(line.strip() == wanted.strip() for line in lines) or "\n".join(lines).strip() == wanted.strip():
        return Result(state="met", evidence="executed", detail="it does")
    last = next((line for line in reversed(lines) if line.strip()), "nothing")
    return Result(state="not met", evidence="executed", detail=f"it prints {last.strip()[:200]}")
