"""One round of `patchwright improve` as the work of a turn: evaluate, cluster, propose, try, keep or revert.

Source: A Self-Improving Coding Agent (arXiv 2504.15228). What decides is out of reach of a proposal: tests, suite and
limits are never edited, and the suite runs where it can write nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from agent.children.children import Children
from agent.children.spec import ChildResult, ChildSpec
from agent.context.system_prompt import read_prompt
from agent.monitor.answers import TurnEnd
from agent.session_settings import LimitSettings
from agent.turn.runtime import Runtime
from packages.evaluation.analysis import suite_cases
from packages.evaluation.analysis.suite_cases import Cluster, SuiteCases
from packages.improve.improvement.idea_archive import IdeaArchive
from packages.improve.optimize.model_proposals import FATAL
from packages.improve.optimize.optimization import end_turn, find_test_loss
from packages.search.microsteps.step_actions import create_step_actions
from sandbox.errors import Fault, UserError
from sandbox.fs.regular_file import SOURCE
from sandbox.fs.untrusted_file import read_workspace_file
from sandbox.lazy_dataclass import dataclass
from sandbox.process.command import Command, Completed
from tools.core.untrusted_output import enclose_in_tag
from tools.core.workspace import Workspace
from tools.lint.test_files import is_test_file
from tools.shell.environment import python_environment
from tools.testing.project_copies import TooLarge, create_copies
from tools.testing.suite_run import run_copy

NAME = "improve"

PROTECTED = (
    "test/*", "tests/*", "*/test/*", "*/tests/*", "test_*", "*/test_*", "*_test.*", "conftest.py", "*/conftest.py",
    ".patchwright/*", ".github/*", ".ci/*", "AGENTS.md", "pyproject.toml", "tox.ini", "setup.cfg", "pytest.ini",
    "[Mm]akefile", "GNUmakefile", "*.mk", "[Jj]ustfile", "noxfile.py", "package.json", "*.lock",
)  # fmt: skip
"""Files that no proposal may change: they say what is right, and what may be spent."""

MOST_TRIES = 2
"""Proposals for one cluster in a command."""

CONFIRMATIONS = 2
"""Runs of the suite with a change: a case is gained only if it passes in each."""

LIMITS = LimitSettings(max_steps=40, max_time=1200.0)
"""Limits of one proposal."""

SUITE_SECONDS = 1800.0


Contents = Mapping[str, tuple[bytes | None, bytes]]  # by path: what it held, None for none, and is to hold


@dataclass(slots=True, kw_only=True)
class Improvement:
    """One round. Implements `TurnWork`.

    suite: command that prints TAP; protected: further patterns of files that stay; archive: tried ideas
    tries: proposals without success in this command, by cluster: after two it is given up
    cluster, result, gained: of this round; "" and none where nothing fails that was not given up
    """

    runtime: Runtime
    suite: str
    protected: Sequence[str]
    archive: IdeaArchive
    tell: Callable[[str], None]
    tries: Counter[str] = field(default_factory=Counter)
    takes_advice: bool = False
    cluster: str = ""
    result: str = ""
    gained: list[str] = field(default_factory=list)
    is_kept: bool = False

    @property
    def settings(self) -> Mapping[str, Any]:
        """See `TurnWork.settings`."""
        return {"name": NAME, "suite": self.suite}

    async def run(self) -> TurnEnd:
        """See `TurnWork.run`."""
        at = self.runtime.workspace
        children = Children(self.runtime)
        contents: Contents = {}
        try:
            async with create_copies(at, 2) as copies:
                contents = await self._try_change(children, copies[0].at, copies[1].at)
        except TooLarge as problem:
            raise UserError(Fault.USAGE, str(problem)) from None
        finally:
            await children.close()
        return await self._finish(contents)

    async def _try_change(self, children: Children, base: Workspace, trial: Workspace) -> Contents:
        """Return the new contents of files, by path, where a change is kept."""
        before = await self._run_suite(base)
        if before.problem:
            raise UserError(Fault.USAGE, f"the suite says nothing: {before.problem}", self.suite)
        self._log("evaluated", passed=len(before.passed), failed=len(before.failed))
        clusters = suite_cases.cluster_failures(before)
        cluster = next((each for each in clusters if self.tries[each.key] < MOST_TRIES), None)
        if cluster is None:
            return {}
        self.cluster = cluster.key
        self._log("clustered", cluster=cluster.key, cases=list(cluster.names))
        proposal = await self._propose(children, cluster)
        contents, self.result = await self._judge(proposal, base, trial, before)
        self.is_kept = bool(contents)
        if not contents:
            self.tries[cluster.key] += 1
        idea = proposal.report.strip().partition("\n")[0][:300]
        self._log("idea", cluster=cluster.key, idea=idea, result=self.result, kept=self.is_kept)
        return contents

    async def _propose(self, children: Children, cluster: Cluster) -> ChildResult:
        """Let a child session change a worktree of the project."""
        earlier = [f"{idea}: {result}" for idea, result in self.archive.list_ideas(cluster.key)]
        parts = [
            f"The suite runs with: {self.suite}",
            enclose_in_tag("failing-cases", cluster.describe()),
            *([enclose_in_tag("tried-before", "\n".join(earlier))] if earlier else []),
        ]
        prompt, instructions = "\n\n".join(parts), read_prompt("improve_step.md")
        result = await children.run(
            ChildSpec(prompt=prompt, instructions=instructions, place="worktree", limits=LIMITS)
        )
        if (fault := FATAL.get(result.exit_code)) is not None:
            raise UserError(fault, result.report)
        return result

    async def _judge(
        self, proposal: ChildResult, base: Workspace, trial: Workspace, before: SuiteCases
    ) -> tuple[Contents, str]:
        """Return the contents to keep, none with the reason why not, and the result in words."""
        if not proposal.patch:
            return {}, "reverted: it changes nothing"
        listed = (await self._run_git(trial, proposal.patch, "--numstat", "-z")).stdout.text().split("\0")
        paths = [line.split("\t", 2)[2] for line in listed if line.count("\t") == 2]
        if refused := [each for each in paths if is_protected(each, self.suite, self.protected)]:
            return {}, f"refused: it changes {refused[0]}, which decides"
        applied = await self._run_git(trial, proposal.patch)
        if applied.ended != "exited" or applied.returncode:
            return {}, "reverted: its patch does not fit"
        if odd := [each for each in paths if not is_own_file(trial.root, each)]:
            return {}, f"refused: it deletes {odd[0]}, or makes it a link"
        seconds = self.runtime.workspace.settings.tests.timeout
        denied = [self.runtime.workspace.root / each for each in paths]
        old = await run_copy(base, seconds, denied=denied)
        new = await run_copy(trial, seconds, denied=denied)
        if loss := find_test_loss(old, new):
            return {}, f"reverted: {loss}"
        runs = [await self._run_suite(trial) for _ in range(CONFIRMATIONS)]
        self.gained, lost = suite_cases.describe_change(before, runs)
        if lost or not self.gained:
            return {}, f"reverted: {len(self.gained)} cases gained, {len(lost)} lost"
        told = f"kept: {len(self.gained)} of {len(before.failed)} failing cases gained, none lost"
        sides = [{each: read_workspace_file(at.root, each, SOURCE) for each in paths} for at in (base, trial)]
        added = [each for each in paths if sides[0][each] is None]
        if odd := [each for each in added if not is_text(sides[1][each] or b"")]:
            return {}, f"refused: it adds {odd[0]}, which is no text"
        return {each: (sides[0][each], sides[1][each] or b"") for each in paths}, told

    async def _run_suite(self, at: Workspace) -> SuiteCases:
        completed = await at.sandbox.run(
            Command(
                argv=("bash", "-c", self.suite),
                cwd=at.root,
                env={**python_environment(), "PYTHONPATH": str(at.root)},
                timeout=SUITE_SECONDS,
                stderr="separate",
                scope="read-only",
                readable=(at.root,),
            )
        )
        if completed.ended != "exited":
            return SuiteCases(failed={}, problem=completed.ended)
        return suite_cases.read_cases(completed.stdout.text())

    async def _run_git(self, trial: Workspace, patch: bytes, *options: str) -> Completed:
        """Run `git apply` in the copy; with options it only looks."""
        return await trial.sandbox.run(
            Command(
                argv=("git", "apply", *options, "-"),
                cwd=trial.root,
                stdin=patch,
                stderr="separate",
                scope="read-only",
                readable=(trial.root,),
                writable=() if options else (trial.root,),
            )
        )

    async def _finish(self, contents: Contents) -> TurnEnd:
        at, status = self.runtime.workspace, "nothing to do"
        text = self.result or "no case fails that was not given up"
        if contents:
            for path, (before, _) in contents.items():
                if read_workspace_file(at.root, path, SOURCE) != before:
                    raise UserError(Fault.USAGE, f"{path!r} was changed meanwhile", "Run it again.")
            stored = {path: content for path, (_, content) in contents.items()}
            self.runtime.toolbox.add(accepted=create_step_actions(stored.__getitem__))
            for path, (before, content) in contents.items():
                action = "write" if before is None else "set_file"  # the other sets files that there are
                text = content.decode() if before is None else path
                done = await self.runtime.run_harness_action(action, {"path": path, "content": text})
                if done.failed:
                    raise UserError(Fault.USAGE, done.text)
            text = f"Let {next(iter(contents))} solve {len(self.gained)} more cases of the suite\n\n" + (
                f"{', '.join(self.gained[:5])}\nThe tests pass as before, and no case is lost."
            )
            status = "done"
        return await end_turn(self.runtime, NAME, text, status)

    def _log(self, step: str, **facts: Any) -> None:
        self.archive.add_step(step, session=self.runtime.session.id, **facts)
        self.tell(f"{step}: " + ", ".join(f"{name} {value}" for name, value in facts.items()))


def is_protected(path: str, suite: str, protected: Sequence[str]) -> bool:
    """Return whether a proposal may not change a file: tests, settings, and what the suite's command names."""
    is_known = is_test_file(path) or any(fnmatch(path, pattern) for pattern in (*PROTECTED, *protected))
    return is_known or suite_cases.has_suite_file(suite, path)


def is_text(content: bytes) -> bool:
    """Return whether a file can be written as text, byte for byte."""
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False


def is_own_file(root: Path, path: str) -> bool:
    """Return whether the path is a file inside the root, and no link: what a link leads to would be read by us."""
    place = root / path
    is_inside = place.resolve() == root.resolve() / path
    return is_inside and place.is_file() and not place.is_symlink()
