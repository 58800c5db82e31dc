"""A rename, and a new parameter: the symbols of the code do it, the model only names."""

from __future__ import annotations

import ast
import io
import re
import textwrap
import tokenize
from typing import TYPE_CHECKING

from packages.offline.jobs.desk import ATTEMPTS, WARMER, NotDone, Outcome, parse_python
from packages.offline.jobs.function_jobs import describe_broken
from packages.offline.jobs.job_reader import Job
from sandbox.lazy_pattern import compile_lazily
from tools.core.text import split_lines

if TYPE_CHECKING:
    from packages.offline.jobs.desk import Desk
    from tools.code.index.symbol_queries import FoundDefinition

MOST_SHOWN = 2_500
"""Characters of a definition that the model is shown to name it."""

MOST_FILES = 200
"""Files that one rename changes without a language server."""

_BARE_NAME = compile_lazily(r"\W*([A-Za-z_]\w*)\W*")
_TICKED = compile_lazily(r"`(?:def |class )?([A-Za-z_]\w*)[^`\n]*`")

_COMMON = frozenset(
    name
    for kind in (str, bytes, list, dict, set, tuple, int, float, io.StringIO, object)
    for name in dir(kind)
)
"""Names of methods that something else than the renamed one may mean."""


async def rename(desk: Desk, job: Job) -> Outcome:
    """Rename a function, method or class and all of its uses. Raises NotDone."""
    found = await _find_definition(desk, job)
    short = found.symbol.short
    new = job.new or await _ask_name(desk, found)
    if not new.isidentifier():
        raise NotDone(f"{new!r} is no name")
    await _check_free(desk, found.path, new)
    server = await desk.act("rename", {"name": job.name, "to": new}) if _has_server(desk) else None
    if server is not None and not server.failed:
        return Outcome(text=f"Rename {short} to {new}\n\n{server.text.strip()}", is_done=True)
    changed = await _plan_rename(desk, found, new)
    places = sum(count for _, _, count in changed.values())
    async with desk.open_copy() as trial:
        before = await trial.run_tests({})
        after = await trial.run_tests({path: text for path, (_, text, _) in changed.items()})
    if broken := describe_broken(before, after):
        raise NotDone(f"with {new} in place of {short}, {broken.removeprefix('With your last change ')}")
    for path, (old, text, _) in changed.items():
        await desk.edit(path, old, text)
    judged = "the tests that passed before pass" if after.outcome == "passed" else f"tests: {after.outcome}"
    return Outcome(
        text=f"Rename {short} to {new}\n\n{places} places in {len(changed)} files: {', '.join(changed)}. Checked: "
        f"nothing else has one of these names, and {judged}. Texts and documents were left as they are.",
        is_done=True,
    )


async def add_parameter(desk: Desk, job: Job) -> Outcome:
    """Add a parameter with a default to a function, so that no call has to change. Raises NotDone."""
    target = await desk.find_function(job.name, job.path)
    if parse_python(f"({job.value})") is None:
        raise NotDone(f"{job.value!r} is no value")
    new = add_argument(target.source, job.new, job.value)
    async with desk.open_copy() as trial:
        before = await trial.run_tests({})
        text = desk.read(target.path).replace(target.source, new, 1)
        after = await trial.run_tests({target.path: text})
    if broken := describe_broken(before, after):
        raise NotDone(broken.replace("With your last change", "with the new parameter,"))
    await desk.edit(target.path, target.source, new)
    return Outcome(
        text=f"Add parameter {job.new} to {target.symbol}\n\n{target.path}: its default is {job.value}, so no call "
        "changes. Nothing in the function uses it yet.",
        is_done=True,
    )


def add_argument(source: str, name: str, value: str) -> str:
    """Return a function's source with one more argument, before the ones that only have a name. Raises NotDone."""
    tree = parse_python(textwrap.dedent(source))
    node = tree.body[0] if tree is not None and tree.body else None
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        raise NotDone("the function cannot be read")
    given = node.args
    more = [each for each in (given.vararg, given.kwarg) if each is not None]
    known = [*given.posonlyargs, *given.args, *given.kwonlyargs, *more]
    if name in {each.arg for each in known}:
        raise NotDone(f"{node.name} has a parameter {name}")
    open_at, close_at, last_at, tokens = _find_parentheses(source)
    typed = any(each.annotation is not None for each in known)
    added = f"{name}={value}" if not typed else f"{name}: {_guess_type(value)} = {value}"
    if given.kwarg is not None:
        mark = next(place for place, text in reversed(tokens) if text == "**")
        return f"{source[:mark]}{added}, {source[mark:]}"
    if not known:
        return f"{source[: open_at + 1]}{added}{source[open_at + 1 :]}"
    kept, tail, rest = source[:last_at], source[last_at:close_at], source[close_at:]
    comma = "," if kept.endswith(",") else ""
    if not comma and not tail.strip():
        return f"{kept}, {added}{tail}{rest}"
    last = kept.rpartition("\n")[2]
    lead = f"\n{last[: len(last) - len(last.lstrip())]}" if "\n" in source[open_at:close_at] else " "
    notes = tail.rstrip()  # a comment on the last one
    return f"{kept}{'' if comma else ','}{notes}{lead}{added}{comma}{tail[len(notes) :]}{rest}"


async def _find_definition(desk: Desk, job: Job) -> FoundDefinition:
    from tools.code.index.symbol_queries import find_definitions

    found = [
        each
        for each in await desk.query(lambda index: find_definitions(index, job.name))
        if each.symbol.kind != "variable"
        and (not job.path or each.path == job.path or each.path.endswith(f"/{job.path}"))
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        raise NotDone(f"no function or class {job.name!r} is defined")
    places = ", ".join(f"{each.path}:{each.symbol.line}" for each in found[:6])
    raise NotDone(f"{job.name!r} is defined several times: {places}")


async def _ask_name(desk: Desk, found: FoundDefinition) -> str:
    """Return the model's name for a definition, one that fits its style. Raises NotDone."""
    lines = desk.read(found.path).splitlines()[found.symbol.first - 1 : found.symbol.last]
    short = found.symbol.short
    source = textwrap.dedent("\n".join(lines))[:MOST_SHOWN]
    question = (
        f"Its name is {short}. Reply with another one, of two or three words.\n```python\n{source}\n```"
    )
    for attempt in range(ATTEMPTS):
        reply = await desk.ask("name.md", question, most=30, temperature=WARMER * bool(attempt))
        given = _BARE_NAME.fullmatch(reply) or _TICKED.search(reply)
        name = given[1] if given is not None else ""
        is_class = short[:1].isupper()
        fits = name[:1].isupper() if is_class else name == name.lower() and ("_" in name or "_" not in short)
        if len(name) > 2 and fits and name != short:
            return f"_{name}" if short.startswith("_") and not name.startswith("_") else name
    raise NotDone("the model gave no name that fits")


def _has_server(desk: Desk) -> bool:
    return desk.at.servers is not None and desk.runtime.toolbox.get("rename") is not None


async def _check_free(desk: Desk, path: str, new: str) -> None:
    """Raise NotDone if the new name is in use: what it means would change."""
    from tools.code.index.symbol_queries import find_definitions

    if taken := await desk.query(lambda index: find_definitions(index, new)):
        raise NotDone(f"{new} is defined already, at {taken[0].path}:{taken[0].symbol.line}")
    if re.search(rf"(?<!\w){re.escape(new)}(?!\w)", desk.read(path)):
        raise NotDone(f"{new} is in use in {path}")


async def _plan_rename(desk: Desk, found: FoundDefinition, new: str) -> dict[str, tuple[str, str, int]]:
    """Return old text, new text and the number of places of each file. Raises NotDone where a name is ambiguous."""
    from tools.code.index.symbol_queries import find_definitions

    short = found.symbol.short
    if not found.path.endswith(".py"):
        raise NotDone(f"{found.path} is no Python, and no language server runs for it")
    if "." in found.symbol.name and short in _COMMON:
        raise NotDone(
            f"{short} is a method of Python's own types, too, and no language server tells which is meant"
        )
    others = [
        each
        for each in await desk.query(lambda index: find_definitions(index, short))
        if (each.path, each.symbol.line) != (found.path, found.symbol.line)
    ]
    if others:
        raise NotDone(
            f"{short} is defined at {others[0].path}:{others[0].symbol.line}, too, and no language server tells which "
            "is meant"
        )
    files = await desk.query(lambda index: [path for path, *_ in index.find_files_with_name(short)])
    if len(files) > MOST_FILES:
        raise NotDone(f"{short} is in {len(files)} files")
    planned: dict[str, tuple[str, str, int]] = {}
    for path in files:
        if not path.endswith((".py", ".pyi")):
            continue
        old = desk.read(path)
        if re.search(rf"(?<!\w){re.escape(new)}(?!\w)", old):
            raise NotDone(f"{new} is in use in {path}")
        text, count = replace_name(old, short, new)
        if count:
            planned[path] = (old, text, count)
    return planned


def replace_name(text: str, old: str, new: str) -> tuple[str, int]:
    """Return Python code with a name replaced, not in its texts and comments, and how often.

    Raises NotDone where it is also the name of an argument or a variable, which is another thing.
    """
    tree = parse_python(text)
    if tree is None:
        raise NotDone("a file that uses the name does not parse")
    for node in ast.walk(tree):
        bound = (
            node.arg
            if isinstance(node, ast.arg | ast.keyword)
            else node.id
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            else None
        )
        if bound == old:
            raise NotDone(f"{old} is the name of an argument or a variable, too")
    lines = split_lines(text)
    count = 0
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    for token in reversed(tokens):
        if token.type == tokenize.NAME and token.string == old:
            row, column = token.start
            line = lines[row - 1]
            lines[row - 1] = f"{line[:column]}{new}{line[column + len(old) :]}"
            count += 1
    return "".join(lines), count


def _find_parentheses(source: str) -> tuple[int, int, int, list[tuple[int, str]]]:
    """Return the offsets of a function's parentheses, of the end of the code in them, and of the stars in them."""
    starts = [0]
    for line in split_lines(source):
        starts.append(starts[-1] + len(line))
    depth, open_at, end, is_head = 0, -1, 0, False
    stars: list[tuple[int, str]] = []
    prefix = len(source) - len(source.lstrip())
    body = source[prefix:]  # the tokenizer wants no indentation at the beginning
    for token in tokenize.generate_tokens(io.StringIO(body).readline):
        row, column = token.start
        at = starts[row - 1] + column + (prefix if row == 1 else 0)
        if token.type == tokenize.NAME and token.string == "def":
            is_head = True
        if not is_head:
            continue
        if token.string in "([{" and token.type == tokenize.OP:
            depth += 1
            if open_at < 0:
                open_at = at
        elif token.string in ")]}" and token.type == tokenize.OP:
            depth -= 1
            if depth == 0:
                return open_at, at, end, stars
        elif token.string in ("*", "**") and depth == 1:
            stars.append((at, token.string))
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            row, column = token.end
            end = starts[row - 1] + column + (prefix if row == 1 else 0)
    raise NotDone("the function cannot be read")


def _guess_type(value: str) -> str:
    try:
        kind = type(ast.literal_eval(value)).__name__
    except (ValueError, SyntaxError):
        return "object"
    return "object | None" if kind == "NoneType" else kind
