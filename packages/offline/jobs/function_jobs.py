"""A docstring for a function, and a change in one function: the model writes the text, code puts it in its place."""

from __future__ import annotations

import ast
import re
import textwrap
from typing import TYPE_CHECKING

from packages.offline.jobs.desk import ATTEMPTS, WARMER, NotDone, Outcome, parse_python
from packages.offline.jobs.job_reader import Job
from sandbox.lazy_pattern import compile_lazily

if TYPE_CHECKING:
    from packages.offline.jobs.desk import Desk
    from packages.offline.lead.suspects import Suspect
    from tools.testing.report import TestReport

MOST_SOURCE = 6_000
"""Characters of a function that a model of this size writes anew, or describes."""

MOST_LINES, WIDTH = 14, 100
"""Lines of a docstring, and characters of one."""

_ARGUMENT = compile_lazily(r"^\s*(?:[-*]\s+|:param\s+(?:\w+\s+)?)?`?\*{0,2}(\w+)`?\s*(?:\([^)]*\))?\s*:(?!:)")
_SECTION = compile_lazily(
    r"^\s*(Args|Arguments|Parameters|Returns?|Raises?|Yields?|Examples?|Notes?)\s*:", re.I
)
_TICKED = compile_lazily(r"`([A-Za-z_]\w*)`")

Function = ast.FunctionDef | ast.AsyncFunctionDef


async def write_docstring(desk: Desk, job: Job) -> Outcome:
    """Write the docstring of a function. Raises NotDone."""
    target = await desk.find_function(job.name, job.path)
    _check_size(target)
    node = _parse_function(target.source)
    if node is None or node.body[0].lineno == node.lineno:
        raise NotDone(f"{target.symbol} has its body on the line of its head")
    desk.tell(f"{target.symbol} in {target.path}: the model describes it, code puts the text in its place")
    question, note = f"```python\n{textwrap.dedent(target.source)}\n```", ""
    for attempt in range(ATTEMPTS):
        reply = await desk.ask(
            "docstring.md", f"{question}\n\n{note}".strip(), temperature=WARMER * bool(attempt)
        )
        text = clean_docstring(reply)
        if note := check_docstring(text, node, desk.read(target.path)):
            continue
        new = insert_docstring(target.source, text)
        if _strip_docstring(_parse_function(new)) != _strip_docstring(node):
            note = "Your last text cannot be written as a docstring."
            continue
        await desk.edit(target.path, target.source, new)
        return Outcome(
            text=f"Add a docstring to {target.symbol}\n\n{target.path}: {' '.join(text.split())}\n\n"
            "Its names and arguments were checked; whether it is true, read.",
            is_done=True,
        )
    raise NotDone(f"the model wrote no docstring that holds: {note}")


async def change_function(desk: Desk, job: Job) -> Outcome | None:
    """Change the one function that a sentence names; None if it names none, or several. Raises NotDone."""
    target = await _find_named_function(desk, job)
    if target is None:
        return None
    _check_size(target)
    desk.tell(f"{target.symbol} in {target.path}: the model writes it anew, the tests judge")
    question = f"Task: {job.text.strip()}\n\n```python\n{textwrap.dedent(target.source)}\n```"
    note = ""
    async with desk.open_copy() as trial:
        before = await trial.run_tests({})
        for attempt in range(ATTEMPTS):
            reply = await desk.ask(
                "change.md", f"{question}\n\n{note}".strip(), temperature=WARMER * bool(attempt)
            )
            new = read_function(reply, target)
            if isinstance(new, Complaint):
                note = new.text
                continue
            text = desk.read(target.path).replace(target.source, new, 1)
            after = await trial.run_tests({target.path: text})
            if note := describe_broken(before, after):
                continue
            await desk.edit(target.path, target.source, new)
            judged = (
                "the tests that passed before pass"
                if after.outcome == "passed"
                else f"tests: {after.outcome}"
            )
            return Outcome(
                text=f"Change {target.symbol} in {target.path}\n\n{job.text.strip()}\n\nChecked: it parses, and "
                f"{judged}. No test says that it does what you asked for: read the change.",
                is_done=True,
            )
    raise NotDone(f"the model wrote no {target.symbol} that holds: {note}")


class Complaint:
    """What is wrong with a reply, for the model's next try."""

    def __init__(self, text: str) -> None:
        self.text = text


def read_function(reply: str, target: Suspect) -> str | Complaint:
    """Return the source that a reply puts in a function's place, or what is wrong with it."""
    from packages.offline.lead.led_work import replace_function
    from packages.offline.lead.proposals import find_blocks, find_syntax_error

    short = target.symbol.rpartition(".")[2]
    blocks = [each for each in find_blocks(reply) if each.name.rpartition(".")[2] == short]
    if len(blocks) != 1:
        return Complaint(f"Your last reply was not one block with the whole function {short}.")
    if problem := find_syntax_error(blocks[0].code):
        return Complaint(f"Your last block was not valid Python: {problem}.")
    new = replace_function(target, blocks[0].code)["new"]
    old, now = _parse_function(target.source), _parse_function(new)
    if now is None or (old is not None and ast.dump(old) == ast.dump(now)):
        return Complaint("Your last block was the function as it is: the task wants something in it changed.")
    if old is not None and _is_emptied(old, now):
        return Complaint("Your last block left the function's body out: write all of it.")
    return new


def describe_broken(before: TestReport, after: TestReport) -> str:
    """Return what tests that passed before say against a change, "" if nothing."""
    if after.outcome in ("broken", "timeout") and before.outcome not in ("broken", "timeout"):
        return f"With your last change the tests did not run: {after.outcome}."
    known = {each.id for each in before.failures}
    broken = [each for each in after.failures if each.id not in known]
    return f"With your last change {broken[0].id} fails: {broken[0].message[:300]}" if broken else ""


async def _find_named_function(desk: Desk, job: Job) -> Suspect | None:
    from packages.offline.model.intent.question_topics import find_names

    found = {
        (each.path, each.symbol): each
        for name in find_names(job.text)
        if "/" not in name and not name.endswith(".py")
        for each in await desk.find_functions(name)
    }
    return next(iter(found.values())) if len(found) == 1 else None


def clean_docstring(reply: str) -> str:
    """Return the text of a docstring in a reply: of a function, a quoted text, or all of it."""
    text = re.sub(r"^```\w*\n|\n?```\s*$", "", reply.strip())
    tree = parse_python(text)
    if tree is not None and tree.body and isinstance(tree.body[0], Function):
        return (ast.get_docstring(tree.body[0]) or "").strip()
    if quoted := re.search(r'("""|\'\'\')(.*?)\1', text, re.DOTALL):
        text = quoted[2]
    lines = textwrap.dedent(text).strip().strip("\"'").strip().splitlines()
    wrapped: list[str] = []
    for line in lines:
        indent = line[: len(line) - len(line.lstrip())]
        wrapped += textwrap.wrap(line, WIDTH - 12, initial_indent="", subsequent_indent=indent) or [""]
    return "\n".join(wrapped).strip()


def check_docstring(text: str, node: Function, file: str) -> str:
    """Return what is wrong with a docstring, as a sentence for the model, "" if nothing."""
    lines = text.splitlines()
    if len(text.split()) < 3:
        return "Your last reply was no description."
    if len(lines) > MOST_LINES:
        return "Your last text was too long: one or two sentences."
    if '"""' in text or "```" in text or re.search(r"^\s*(?:def|return|import)\b.*[:(=]", text, re.M):
        return "Your last reply had code in it: only the text of the docstring."
    arguments = {each.arg for each in _list_arguments(node)}
    section = ""
    for line in lines:
        if found := _SECTION.match(line):
            section = found[1].lower()
        elif (
            (section.startswith(("arg", "param")) or line.lstrip().startswith(":param"))
            and (named := _ARGUMENT.match(line))
            and named[1] not in arguments
        ):
            return f"Your last text describes an argument {named[1]}, which the function does not have."
    for name in _TICKED.findall(text):
        if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", file) and name not in dir(__builtins__):
            return f"Your last text names `{name}`, which is not in the file."
    return ""


def insert_docstring(source: str, text: str) -> str:
    """Return a function's source with a docstring, in place of the one that it has."""
    node = _parse_function(source)
    assert node is not None
    lines = source.split("\n")
    offset = len(lines) - textwrap.dedent(source).count("\n") - 1
    first = node.body[0]
    outer = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    indent = outer + " " * first.col_offset
    quoted = text.replace("\\", "\\\\")
    body = quoted.splitlines()
    written = [f'{indent}"""{body[0]}', *(f"{indent}{each}".rstrip() for each in body[1:])]
    if len(body) == 1:
        written[0] += '"""'
    else:
        written.append(f'{indent}"""')
    at = first.lineno - 1 + offset
    has_one = ast.get_docstring(node) is not None
    end = (first.end_lineno or first.lineno) + offset if has_one else at
    return "\n".join([*lines[:at], *written, *lines[end:]])


def _check_size(target: Suspect) -> None:
    if len(target.source) > MOST_SOURCE:
        raise NotDone(
            f"{target.symbol} has {len(target.source):,} characters, too many for a model of this size"
        )


def _parse_function(source: str) -> Function | None:
    tree = parse_python(textwrap.dedent(source))
    return tree.body[0] if tree is not None and tree.body and isinstance(tree.body[0], Function) else None


def _strip_docstring(node: Function | None) -> str:
    if node is None:
        return ""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return "\n".join([ast.dump(node.args), *(ast.dump(each) for each in body)])


def _is_emptied(old: Function, now: Function) -> bool:
    """Return whether nothing but a docstring, `pass` or `...` is left of a body."""
    if len(_strip_docstring(old)) < 200:
        return False
    return all(
        isinstance(each, ast.Pass) or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        for each in now.body
    )


def _list_arguments(node: Function) -> list[ast.arg]:
    given = node.args
    more = [each for each in (given.vararg, given.kwarg) if each is not None]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *more]
