"""Answers about what changed: uncommitted changes, commits, and who changed a file or a function."""

from __future__ import annotations

import re

from packages.offline.model.answers.lookup import Answer, Call, Lookup, NoAnswer, limit_lines
from packages.offline.model.answers.named_code import find_definitions, is_path
from packages.offline.model.intent.question_topics import Question
from packages.offline.model.offline_messages import indent_block
from sandbox.lazy_pattern import compile_lazily

_GIT = "git's own record."
_LAST = compile_lazily(r"\b(?:last|latest|previous) commit\b", re.IGNORECASE)
_MINE = compile_lazily(
    r"\buncommitted\b|\b(?:did i|i have|have i)\b|since the last commit|\bgit (?:status|diff)\b",
    re.IGNORECASE,
)
MOST_COMMITS = 10
MOST_DIFF = 60
"""Lines of a commit that are shown."""


def find_changes(question: Question) -> Lookup:
    """Answer what changed, by git."""
    for name in question.names[:2]:
        if is_path(name):
            return (yield from _find_commits_of(name, f"Commits that changed {name}:"))
        found = yield from find_definitions(name)
        if found:
            return (yield from _find_authors(found[0]))
    if _LAST.search(question.text) and not _MINE.search(question.text):
        shown = yield Call(tool="git_show", arguments={"revision": "HEAD"})
        lines = shown.text.splitlines()
        return Answer(text=indent_block("\n".join(limit_lines(lines, MOST_DIFF))), trust=_GIT)
    status = yield Call(tool="git_status")
    if status.result.failed:
        return NoAnswer(reason="there is no git repository here", needs_model=False)
    parts = ["Now:", indent_block(status.text)]
    if _MINE.search(question.text):
        diff = yield Call(tool="git_diff")
        if not diff.result.failed:
            parts += [
                "The changes:",
                indent_block("\n".join(limit_lines(diff.text.splitlines(), MOST_DIFF))),
            ]
    log = yield Call(tool="git_log", arguments={"count": MOST_COMMITS})
    if not log.result.failed:
        parts += ["The last commits:", indent_block(log.text)]
    return Answer(text="\n\n".join(parts), trust=_GIT)


def _find_commits_of(path: str, title: str) -> Lookup:
    log = yield Call(tool="git_log", arguments={"path": path, "count": MOST_COMMITS})
    if log.result.failed:
        return Answer(text=log.text, trust=_GIT)
    return Answer(text=f"{title}\n\n{indent_block(log.text)}", trust=f"{_GIT} The newest is first.")


def _find_authors(found: object) -> Lookup:
    assert isinstance(found, dict)
    path, first, last = str(found["path"]), int(found["first"]), int(found["last"])
    blame = yield Call(tool="git_blame", arguments={"path": path, "first": first, "last": last})
    if blame.result.failed:
        return (
            yield from _find_commits_of(path, f"Commits that changed {path}, where `{found['name']}` is:")
        )
    lines = blame.text.splitlines()
    return Answer(
        text=f"Who last changed the lines of `{found['name']}` ({path}:{first}–{last}):\n\n"
        f"{indent_block(chr(10).join(limit_lines(lines, MOST_DIFF)))}",
        trust=f"{_GIT} A line counts for the commit that changed it last, if only its indentation.",
    )
