"""Scope of a turn: files changed that the prompt forbids or does not speak of, and files it names that are not changed.

A prompt seldom names all files that it needs changed, so both are only told; a prompt without names says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from pathlib import PurePosixPath

from tools.lint.gaming.file_changes import find_role

_PATH = r"(?P<path>(?:[\w.-]+/)*[\w-]+\.[a-zA-Z]{1,5})\b"
_CHANGE = re.compile(
    r"\b(?:change|edit|update|modify|fix|rewrite|refactor|extend|adapt|adjust|implement|add|create|write|rename|remove)\b"
    r"[^.;?!\n]{0,60}?(?<![\w/])" + _PATH,
    re.IGNORECASE,
)
_ONLY = re.compile(
    r"\bonly\b[^.;?!\n]{0,30}?\b(?:change|edit|touch|modify|in)\b[^.;?!\n]{0,20}?(?<![\w/])"
    + _PATH
    + r"|\b(?:change|edit|touch|modify)\s+only\s+[^.;?!\n]{0,20}?(?<![\w/])"
    + _PATH.replace("?P<path>", "?P<other>"),
    re.IGNORECASE,
)
_FORBIDDEN = re.compile(
    r"\b(?:do not|don't|never|without)\s+(?:chang|edit|touch|modify|alter)\w*\s+[^.;?!\n]{0,20}?(?<![\w/])"
    + _PATH,
    re.IGNORECASE,
)
_NEGATED = re.compile(r"(?:\b(?:do not|don't|never|without|not to)\s+)$", re.IGNORECASE)


def find_scope_notices(prompt: str, changed: Collection[str], exists: Callable[[str], bool]) -> Iterator[str]:
    """Yield one sentence for each departure. exists: whether the workspace has a file of this path"""
    forbidden = [match["path"] for match in _FORBIDDEN.finditer(prompt)]
    for name in forbidden:
        yield from (
            f"{path} was changed, which the prompt forbids" for path in changed if _is_same(path, name)
        )
    only = [match["path"] or match["other"] for match in _ONLY.finditer(prompt)]
    if only:
        for path in changed:
            if not any(_is_same(path, name) for name in only):
                yield f"{path} was changed; the prompt asks for changes of {only[0]} only"
        return
    wanted = [
        match["path"]
        for match in _CHANGE.finditer(prompt)
        if not _NEGATED.search(prompt[: match.start()]) and match["path"] not in forbidden
    ]
    for name in dict.fromkeys(wanted):
        if exists(name) and not any(_is_same(path, name) for path in changed):
            yield f"{name} was not changed, which the prompt names"
    if wanted and all(exists(name) for name in wanted):
        others = [
            path
            for path in changed
            if find_role(path) in ("product", "setup")
            and not any(_is_same(path, name) for name in wanted)
            and PurePosixPath(path).stem.lower() not in prompt.lower()
        ]
        if others:
            yield f"{', '.join(sorted(others)[:3])}: changed, and not named in the prompt"


def _is_same(path: str, name: str) -> bool:
    return path == name or path.endswith(f"/{name}") or name.endswith(f"/{path}")
