"""Learned skills of a repository: drafted once a replay passes, checked again when files change, retired when it fails.

Each is a record of the store, of the kind "skill", and a folder in `.patchwright/skills`. The record holds the steps
that are replayed, so that nobody who changes the folder chooses what is run.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from agent.extension.extension_files import COMMAND_FOLDERS, SKILL_FILE, SKILLS_TRUST
from agent.extension.project_trust import is_trusted
from agent.extension.shared_files import write_shared_file
from agent.extension.skills.skill_catalog import find_skills_to_trust
from agent.memory.lesson_checks import compute_file_digest
from agent.memory.memory_store import MemoryStore
from agent.memory.records import Lesson
from agent.memory.standing import MOST_MISSES
from packages.memory.lessons.claims import make_lesson_id
from packages.memory.skills.procedures import Procedure, find_procedures, is_safe_step
from packages.memory.skills.replay import replay
from packages.memory.skills.skill_text import (
    CHECK,
    RUN,
    describe_steps,
    list_dependencies,
    make_skill_path,
    mark_retired,
    render_command,
    render_skill,
)
from packages.memory.skills.skill_use import is_retired, list_changed_files, list_skill_records
from sandbox.errors import Fault, UserError
from sandbox.fs.untrusted_file import read_workspace_text
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.trust import TrustStore
from sandbox.sanitize import sanitize_text
from tools.core.text import format_count

_MOST_BYTES = 64_000
"""Of a SKILL.md that is marked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedSkills:
    """The learned skills of one work tree."""

    store: MemoryStore
    home: Home
    root: Path

    def list_procedures(self) -> list[Procedure]:
        """Return the procedures that recur."""
        return find_procedures(self.store.list_cases(source="turn"), self.root, self._is_own)

    def list_candidates(self) -> list[Procedure]:
        """Return the procedures that recur and are no skill yet."""
        known = {each.id for each in self.list_learned()}
        return [each for each in self.list_procedures() if _make_id(each.steps) not in known]

    def list_learned(self) -> list[Lesson]:
        """Return the records of the skills that were kept, retired ones too."""
        return list_skill_records(self.store.list_lessons())

    def list_lines(self) -> Iterator[str]:
        """Yield a line for each skill and each candidate."""
        candidates, learned = self.list_candidates(), self.list_learned()
        if not candidates and not learned:
            yield "no procedure of two or more commands recurs in sessions that ended done"
        for skill in learned:
            yield sanitize_text(f"{skill.id}  {skill.claim}  ({self._describe(skill)})")
        for each in candidates:
            seen = format_count(len(each.sessions), "session")
            yield sanitize_text(f"{each.name}  {describe_steps(each.steps)}  ({seen}; not a skill yet)")
        if candidates:
            yield "replay one, and keep it as a skill if it holds: patchwright memory skills --draft NAME"
            yield "or as a command that you call by its name: patchwright memory skills --command NAME"

    def encode(self) -> Mapping[str, Any]:
        """Return skills and candidates as JSON."""
        return {
            "skills": [
                {
                    "id": each.id,
                    "path": each.path,
                    "steps": each.use.split("\n"),
                    "state": self._describe(each),
                }
                for each in self.list_learned()
            ],
            "candidates": [asdict(each) for each in self.list_candidates()],
        }

    def draft(self, name: str) -> str:
        """Replay a candidate and write its skill; return a line about it. Raises UserError if it is not kept."""
        found = _find_procedure(self.list_candidates(), name)
        path = make_skill_path(name)
        checks = list_dependencies(found.steps, self.root)
        self._check_replay(found, path)
        trusted = self._write(found)
        [(session, event), *_] = found.sessions
        now = time.time()
        claim = f"the skill {name} runs {describe_steps(found.steps)}"
        self.store.put_lessons([
            Lesson(
                id=_make_id(found.steps), kind="skill", claim=claim, use="\n".join(found.steps), session=session,
                event=event, path=path, tool="skill", checks=checks, created=now, seen=now,
            )
        ])  # fmt: skip
        after = "review and commit it" if trusted else "review it, then: patchwright trust"
        return f"{path}: its replay passed; {after}"

    def draft_command(self, name: str) -> str:
        """Replay a procedure and write a slash command that runs it; return a line about it. Raises UserError.

        Nothing calls it before the person trusted it: what a command runs is theirs to read first.
        """
        found = _find_procedure(self.list_procedures(), name)
        path = f"{COMMAND_FOLDERS[0]}/{name}.md"
        self._check_replay(found, path)
        write_shared_file(self.root, path, render_command(found).encode())
        return f"{path}: its replay passed; review it, then: patchwright trust; then call /{name}"

    def check_changed(self) -> Iterator[str]:
        """Replay the skills whose files changed since their last check; yield a line for each whose state that changes.

        Raises UserError where nothing can be replayed.
        """
        for each in self.list_learned():
            if not self._is_here(each) or not list_changed_files(each, self.root):
                continue
            steps = tuple(each.use.split("\n"))
            found = Procedure(name=each.path.rpartition("/")[2], steps=steps, sessions=())
            checks = list_dependencies(steps, self.root)
            problem = self._try_steps(found)
            changed = replace(
                each, checks=checks, seen=time.time(), avoid=problem, misses=MOST_MISSES if problem else 0
            )
            self.store.put_lessons([changed])
            if bool(problem) != is_retired(each):
                self._mark(each, retired=bool(problem))
                yield f"{found.name} is retired: {problem}" if problem else f"{found.name} works again"

    def _describe(self, skill: Lesson) -> str:
        """Return the state of a skill, as a clause."""
        uses = f"used in {format_count(skill.good + skill.bad, 'turn')}, {skill.good} of which ended done"
        if is_retired(skill):
            return f"retired: {skill.avoid}"
        return uses if self._is_here(skill) else f"not in this work tree, or changed by hand; {uses}"

    def _is_own(self, session: str) -> bool:
        """Whether the log of a session is among those of this person."""
        return re.fullmatch(r"[\w-]+", session) is not None and any(
            self.home.data.glob(f"projects/*/sessions/{session}")
        )

    def _is_here(self, skill: Lesson) -> bool:
        """Whether the scripts are there as they were replayed: those of somebody else are theirs to check."""
        steps = tuple(skill.use.split("\n"))
        expected = render_skill(Procedure(name="", steps=steps, sessions=()))
        return all(
            compute_file_digest(self.root, f"{skill.path}/{each}")
            == hashlib.sha256(expected[each].encode()).hexdigest()
            for each in (RUN, CHECK)
        )

    def _check_replay(self, found: Procedure, path: str) -> None:
        """Raise UserError if something is at the path already, or the replay of a procedure fails."""
        if (self.root / path).exists():
            raise UserError(Fault.USAGE, f"{path!r} exists", "Remove it, or keep what is there.")
        if problem := self._try_steps(found):
            raise UserError(Fault.USAGE, f"{found.name} is not kept, since its replay failed: {problem}")

    def _try_steps(self, found: Procedure) -> str:
        if odd := next((each for each in found.steps if not is_safe_step(each, self.root)), ""):
            return f"`{odd}` does more than work in the project"
        texts = render_skill(found)
        return replay(self.root, self.home, texts[RUN], texts[CHECK])

    def _write(self, found: Procedure) -> bool:
        """Write a skill's files; return whether it is trusted: so it is if the skills here were, or there was none."""
        trusted = self._is_trusted()
        for name, text in render_skill(found).items():
            write_shared_file(self.root, f"{make_skill_path(found.name)}/{name}", text.encode())
        if trusted:
            self._grant()
        return trusted

    def _mark(self, skill: Lesson, *, retired: bool) -> None:
        """Let models be told of a skill no more, or again. One line of its file changes; trust stays as it was."""
        path = f"{skill.path}/{SKILL_FILE}"
        text = read_workspace_text(self.root, path, _MOST_BYTES)
        if not text:
            return
        trusted = self._is_trusted()
        write_shared_file(self.root, path, mark_retired(text, retired=retired).encode())
        if trusted:
            self._grant()

    def _is_trusted(self) -> bool:
        present = find_skills_to_trust(self.root)
        return not present or is_trusted(self.home, self.root, SKILLS_TRUST, present)

    def _grant(self) -> None:
        TrustStore(self.home.config).grant(self.root / SKILLS_TRUST, find_skills_to_trust(self.root))


def _find_procedure(found: Sequence[Procedure], name: str) -> Procedure:
    """Return the procedure of a name. Raises UserError if there is none."""
    for each in found:
        if each.name == name:
            return each
    raise UserError(Fault.USAGE, f"no procedure is named {name!r}", "List them: patchwright memory skills")


def _make_id(steps: Sequence[str]) -> str:
    return make_lesson_id("skill", *steps)
