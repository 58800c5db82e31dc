"""Verifier that tells what a person should look at: weaker tests that may be honest, scope, unbacked claims."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from agent.events import Event, Prompt
from agent.verify.suite_evidence import list_modified_files
from agent.verify.verdict import Claim, Verdict
from agent.verify.weakened_tests import WeakenedTests, describe_findings
from sandbox.lazy_dataclass import dataclass
from tools.core.untrusted_output import remove_foreign_text
from tools.core.workspace import Workspace

if TYPE_CHECKING:
    from agent.prompt.prompt_intent import PromptIntent


@dataclass(slots=True, kw_only=True)
class GamingNotices:
    """Nothing of a turn needs a second look. Its verdict is never a failure: what it tells of may be honest.

    guard: finds the signs, and follows the events
    """

    workspace: Workspace
    guard: WeakenedTests
    name: str = "gaming"
    withholds_commit: bool = False
    _told: set[str] = field(default_factory=set)

    def begin_turn(self) -> None:
        """See `Verifier.begin_turn`."""
        self._told.clear()

    def track_event(self, event: Event) -> None:
        """See `Verifier.track_event`; the guard follows the events."""
        if isinstance(event, Prompt):
            self._told.clear()

    async def verify(self, claim: Claim) -> Verdict | None:
        """See `Verifier.verify`. Return None where there is nothing to tell."""
        if not self.guard.trace.has_edited and not self.guard.has_changes():
            return None
        rows = [each for each in self._list_rows(claim) if each not in self._told]
        if not rows:
            return None
        self._told.update(rows)
        return Verdict(outcome="unknown", evidence="static", name=self.name, detail="\n".join(rows))

    def _list_rows(self, claim: Claim) -> list[str]:
        from agent.prompt.prompt_reader import read_intent
        from agent.verify.gaming.claims import find_unbacked_claim

        notices = [each for each in self.guard.find_signs() if each.severity != "error"]
        rows = [row.strip() for row in describe_findings(notices).splitlines()]
        changed = list_modified_files(self.workspace)
        if claim.is_done and changed:
            rows += _find_scope_notices(
                remove_foreign_text(claim.prompt),
                read_intent(claim.prompt),
                changed,
                self.workspace.files.has_file,
            )
            if said := find_unbacked_claim(claim.answer, self.guard.trace):
                rows.append(f"claimed, though the model ran nothing since its last edit: {said}")
        return rows


def _find_scope_notices(
    prompt: str, intent: PromptIntent, changed: Collection[str], exists: Callable[[str], bool]
) -> Iterator[str]:
    """Yield one sentence for each departure from the files that a prompt names or forbids.

    A prompt seldom names all files that it needs changed, so both are only told; one without names says nothing.
    exists: whether the workspace has a file of this path
    """
    from tools.lint.honesty.file_changes import find_role

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
    from fnmatch import fnmatch

    folder = name.rstrip("/")
    if name.endswith("/"):
        return path.startswith(name) or f"/{name}" in path
    return path == name or path.endswith(f"/{folder}") or name.endswith(f"/{path}") or fnmatch(path, name)
