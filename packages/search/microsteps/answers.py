"""Answers to a step: what counts as one, the file that it makes, and which answers are the same.

An answer that breaks the format, is too long, does not fit the file or leaves it unparsable is discarded: models that
go wrong in form are more often wrong in content (MAKER's red flags).
"""

from __future__ import annotations

import ast
import re
from hashlib import sha256

from sandbox.fs.text_file import BinaryFile, decode_text
from sandbox.fs.workspace_tree import Tree
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.code.syntax import format_new_problems
from tools.edit.apply.edit_plan import PlanRefused
from tools.edit.apply.planner import plan_changes
from tools.edit.edit_model import Create, FileChange, MalformedEdit, Update
from tools.edit.formats import parse_edits

UNCHANGED = "UNCHANGED"
"""The answer for a file that needs no change."""

MOST_PROSE = 400
"""Characters around the edit: more is a model that does not do as it was told."""

_FENCE = compile_lazily(r"^(```|~~~)[^\n`]*\n(.*?)^\1[ \t]*$", re.DOTALL | re.MULTILINE)
_BLOCK = compile_lazily(r"^<{5,9} ?SEARCH\b.*?^>{5,9} ?REPLACE\b[^\n]*$", re.DOTALL | re.MULTILINE)


class RedFlag(ValueError):
    """An answer that does not count; the message says why."""


@dataclass(frozen=True, slots=True)
class Answer:
    """key: equal for answers that mean the same; content: of the file afterwards"""

    key: str
    content: bytes


def compute_longest_answer(content: bytes) -> int:
    """Return the characters above which an answer is discarded."""
    return 2 * len(content) + 4_000


def read_answer(files: Tree, path: str, before: bytes, text: str) -> Answer:
    """Return the answer in a text: edit blocks, the whole file in a fence, or UNCHANGED. Raises RedFlag."""
    text = text.strip().replace("\r\n", "\n")
    if text.strip("`*. ") == UNCHANGED:
        return Answer(compute_key(path, before, before), before)
    if len(text) > compute_longest_answer(before):
        raise RedFlag("it is too long")
    planned = _plan(files, _read_change(path, text))
    if planned == before:
        raise RedFlag("it has an edit that changes nothing")
    try:
        old, new = decode_text(before).text, decode_text(planned).text
    except BinaryFile as error:
        raise RedFlag(str(error)) from None
    if problem := format_new_problems(path, old, new):
        raise RedFlag(problem)
    return Answer(compute_key(path, before, planned), planned)


def compute_key(path: str, before: bytes, after: bytes) -> str:
    """Return the key of an answer: by the syntax tree in Python, unless only comments and layout change."""
    if path.endswith((".py", ".pyi")) and after != before:
        tree = _dump_tree(after)
        if tree is not None and tree != _dump_tree(before):
            return f"tree:{sha256(tree.encode()).hexdigest()[:32]}"
    return f"text:{sha256(after).hexdigest()[:32]}"


def _read_change(path: str, text: str) -> FileChange:
    blocks = list(_BLOCK.finditer(text))
    if blocks:
        _limit_prose(_BLOCK.sub("", text))
        try:
            changes = parse_edits("".join(f"{path}\n{each[0]}\n" for each in blocks), "blocks")
        except MalformedEdit as error:
            raise RedFlag(str(error).splitlines()[0]) from None
        if len(changes) != 1 or not isinstance(changes[0], Update) or changes[0].path != path:
            raise RedFlag("it changes more than the file")
        return changes[0]
    fences = list(_FENCE.finditer(text))
    if len(fences) != 1:
        raise RedFlag(f"it is neither edit blocks nor one file nor {UNCHANGED}")
    _limit_prose(_FENCE.sub("", text))
    return Create(path=path, content=fences[0][2])


def _limit_prose(text: str) -> None:
    if len(re.sub(r"[\s`~]+", " ", text)) > MOST_PROSE:
        raise RedFlag("it explains at length")


def _plan(files: Tree, change: FileChange) -> bytes:
    try:
        (planned,) = plan_changes(files, [change], known=lambda path: True)
    except PlanRefused as refusal:
        raise RedFlag(f"it does not fit: {str(refusal).splitlines()[0]}") from None
    return planned.after or b""


def _dump_tree(content: bytes) -> str | None:
    try:
        return ast.dump(ast.parse(content))
    except (
        SyntaxError,
        ValueError,
        RecursionError,
        MemoryError,
    ):  # Python of another version, or nested too deep
        return None
