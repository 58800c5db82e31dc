"""Scope of a turn: files changed that the prompt forbids or does not speak of, and files it names that are not changed.

A prompt seldom names all files that it needs changed, so both are only told; a prompt without names says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from fnmatch import fnmatch
from pathlib import PurePosixPath

from agent.prompt.prompt_intent import PromptIntent
from tools.lint.honesty.file_changes import find_role


def find_scope_notices(
    prompt: str, intent: PromptIntent, changed: Collection[str], exists: Callable[[str], bool]
) -> Iterator[str]:
    """Yield one sentence for each departure. exists: whether the workspace has a file of this path"""
    for name in intent.forbidden_paths:
        yield from (
            f"{path} was changed, which the prompt forbids" for path in changed if _is_same(path, name)
        )
    if intent.only_paths:
        for path in changed:
            if not any(_is_same(path, name) for name in intent.only_paths):
                yield f"{path} was changed; the prompt asks for changes of {intent.only_paths[0]} only"
        return
    wanted = intent.changed_paths
    for name in wanted:
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
    folder = name.rstrip("/")
    if name.endswith("/"):
        return path.startswith(name) or f"/{name}" in path
    return path == name or path.endswith(f"/{folder}") or name.endswith(f"/{path}") or fnmatch(path, name)
