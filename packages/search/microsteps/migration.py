"""A migration: one instruction for many files, each decided by votes and checked before the next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from agent.children.children import Children
from agent.events import BY_STRATEGY, MessageEvent, UsageRecord
from agent.exit_codes import Exit
from agent.monitor.answers import TurnEnd
from agent.turn.runtime import Runtime
from packages.search.microsteps.election import Election
from packages.search.microsteps.estimate import (
    SMALLEST_K,
    SampledStep,
    choose_sample,
    choose_sample_votes,
    estimate_votes,
)
from packages.search.microsteps.forecast import Forecast
from packages.search.microsteps.ledger import Ledger, StepRecord
from packages.search.microsteps.script import Transformation, choose_examples, read_script
from packages.search.microsteps.step_actions import create_step_actions, set_whole_check
from packages.search.microsteps.voters import LimitReached, Voters
from sandbox.errors import Fault, UserError
from sandbox.fs.text_file import BinaryFile, decode_text
from sandbox.lazy_dataclass import dataclass

NAME = "migrate"

MOST_COMPARED = 5
"""Files on which a script is compared with the votes before it is used."""

WORTH_SCRIPT = 4
"""Files from which on a script is asked for: fewer cost less by votes."""


@dataclass(slots=True, kw_only=True)
class Migration:
    """A migration as the work of one turn. Implements `TurnWork`.

    files: paths; check: command after each step, "" for none; k: given by the user; uses_script: a script may be used
    approve: shows the forecast and returns whether to begin; tell: shows one line of progress
    forecast: as it was shown; None where the ledger had one that was approved
    """

    runtime: Runtime
    ledger: Ledger
    instruction: str
    files: Sequence[str]
    check: str
    k: int | None
    uses_script: bool
    approve: Callable[[Forecast], bool]
    tell: Callable[[str], None]
    takes_advice: bool = False
    forecast: Forecast | None = None
    _voters: Voters = field(init=False)
    _transformation: Transformation | None = None
    _k: int = SMALLEST_K

    @property
    def settings(self) -> Mapping[str, Any]:
        """See `TurnWork.settings`."""
        return {"name": NAME, "check": self.check, "files": len(self.files)}

    @property
    def has_work(self) -> bool:
        """Whether a file has no outcome yet, or another content than the ledger knows. Blocking."""
        return any(self._is_waiting(path, content) for path, content in self._read_files().items())

    def summarize(self) -> dict[str, Any]:
        """Return the result as JSON-able fields."""
        steps = {path: self.ledger.steps.get(path) or StepRecord() for path in self.files}
        failed = [(path, step.reason) for path, step in steps.items() if step.outcome == "failed"]
        return {
            "files": len(steps),
            "changed": [path for path, step in steps.items() if step.outcome == "changed"],
            "unchanged": sum(step.outcome == "unchanged" for step in steps.values()),
            "failed": [{"path": path, "reason": reason} for path, reason in failed],
            "left": sum(step.outcome is None for step in steps.values()),
            "by_script": sum(step.by == "script" and step.outcome == "changed" for step in steps.values()),
            "votes": sum(len(step.votes) for step in steps.values()),
            "malformed": sum(step.votes.count(None) for step in steps.values()),
            "usage": dict(self.ledger.usage),
            "estimate": self.ledger.facts.get("forecast"),
        }

    def find_earlier_exit(self) -> Exit:
        """Return the exit code where all steps were taken before."""
        failed = any(step.outcome == "failed" for step in self.ledger.steps.values())
        return Exit.NOT_ACHIEVED if failed else Exit.NOTHING_TO_DO

    async def run(self) -> TurnEnd:
        """See `TurnWork.run`; steps that the ledger has are not taken again."""
        self.runtime.purse.add_usage(_convert_usage(self.ledger.usage))
        self.runtime.toolbox.add(accepted=create_step_actions(self.ledger.read_content))
        children = Children(self.runtime)
        self._voters = Voters(
            runtime=self.runtime, children=children, ledger=self.ledger, instruction=self.instruction
        )
        try:
            return await self._take_steps()
        except LimitReached as limit:
            return TurnEnd(reason="limit", detail=str(limit))
        finally:
            await children.close()

    async def _take_steps(self) -> TurnEnd:
        contents = await asyncio.to_thread(self._read_files)
        await self._choose_k(contents)
        paths = await self._prepare_script(contents)
        for number, path in enumerate(paths, 1):
            step = await self._take_step(path)
            if step is not None:
                self.tell(f"{number}/{len(paths)} {path}: {_describe_step(step)}")
        return await self._finish()

    def _read_files(self) -> dict[str, bytes]:
        """Return the files that are text; others are failed steps."""
        found = {}
        for path in self.files:
            try:
                content = self.runtime.workspace.files.read(path)
                decode_text(content)
            except (OSError, ValueError, BinaryFile) as error:
                self.ledger.add("step", path=path, before="")
                self.ledger.add("done", path=path, outcome="failed", reason=f"it cannot be read: {error}")
            else:
                found[path] = content
        return found

    async def _choose_k(self, contents: Mapping[str, bytes]) -> None:
        """Sample votes, choose k and have the forecast approved; all this once for a migration."""
        if (known := self.ledger.facts.get("approved")) is not None:
            self._k = int(known)
            return
        waiting = [path for path in contents if self._is_waiting(path, contents[path])]
        if not waiting:
            return
        sizes = [len(contents[path]) for path in waiting]
        sampled = [waiting[position] for position in choose_sample(sizes)]
        votes = choose_sample_votes(len(waiting)) if self.k is None else 1
        elections = []
        for path in sampled:
            record = self.ledger.get_step(path, contents[path])
            await self._voters.collect_votes(path, contents[path], votes - len(record.votes))
            elections.append(_replay_votes(record, _NEVER))
        sample = [SampledStep.from_election(each) for each in elections]
        estimate = estimate_votes(sample, len(waiting), self.k)
        mean = sum(sizes) / len(sizes)
        forecast = Forecast.from_votes(
            estimate,
            self.ledger.usage,
            sample,
            size_ratio=mean / max(sum(len(contents[path]) for path in sampled) / len(sampled), 1),
        )
        self.forecast = forecast
        self.ledger.set_fact("forecast", forecast.as_data())
        if not await asyncio.to_thread(self.approve, forecast):
            raise UserError(
                Fault.DENIED,
                "the migration was not begun, no file was changed",
                "To begin it: --yes. The votes of the sample are kept.",
            )
        self._k = estimate.k
        self.ledger.set_fact("approved", estimate.k)

    async def _prepare_script(self, contents: Mapping[str, bytes]) -> list[str]:
        """Ask for a script where one may be used; return the files in the order of their steps."""
        paths = list(contents)
        waiting = [path for path in paths if self._is_waiting(path, contents[path])]
        if not (self.uses_script and self.check) or len(contents) < WORTH_SCRIPT or not waiting:
            return paths
        positions = choose_sample([len(contents[path]) for path in paths])[:MOST_COMPARED]
        compared = [paths[position] for position in positions]
        if "script" not in self.ledger.facts:
            examples = choose_examples([(path, contents[path]) for path in compared])
            reply = await self._voters.ask_for_script(examples) if examples else ""
            self.ledger.set_fact("script", read_script(reply))
        if script := self.ledger.facts["script"]:
            originals = {path: self._read_original(path, contents[path]) for path in paths}
            made = await Transformation.from_script(self.runtime, script, originals)
            for path in compared:
                step = await self._take_step(path)
                if step is not None and step.outcome != "failed":
                    made.compare(path, originals[path], self._read_result(path, originals[path]))
            if made.problem:
                self.ledger.set_fact("script", "")
                self.tell(f"the script is not used: {made.problem}")
            else:
                self._transformation = made
                self.tell(
                    f"a script makes the same changes as the votes in {len(compared)} files: it is used"
                )
        return paths

    def _is_waiting(self, path: str, content: bytes) -> bool:
        """Whether the step has no outcome yet for the file as it is."""
        return self.ledger.get_step(path, content).outcome is None

    def _read_original(self, path: str, content: bytes) -> bytes:
        """Return the file's content before its step."""
        step = self.ledger.get_step(path, content)
        return self.ledger.read_content(step.before) if step.decided else content

    def _read_result(self, path: str, original: bytes) -> bytes:
        step = self.ledger.steps[path]
        return self.ledger.read_content(step.decided) if step.decided else original

    async def _take_step(self, path: str) -> StepRecord | None:
        """Decide one file, change it and check it; None where that was done before."""
        content = await asyncio.to_thread(self.runtime.workspace.files.read, path)
        step = self.ledger.get_step(path, content)
        if step.outcome is not None:
            return None
        if not step.decided and not await self._decide(path, content, step):
            return self.ledger.steps[path]
        if await self._apply(path, step):
            self.ledger.add("done", path=path, outcome="changed")
        elif step.by == "script":  # where the script fails, the votes decide
            self.ledger.add("step", path=path, before=step.before)
            if self._transformation is not None:
                self._transformation.contents.pop(path, None)
            return await self._take_step(path)
        return self.ledger.steps[path]

    async def _decide(self, path: str, content: bytes, step: StepRecord) -> bool:
        """Choose the file's new content; False where nothing is to be written."""
        wanted, by = self._get_scripted(path, content), "script"
        if wanted is None:
            by = "votes"
            election = _replay_votes(step, self._k)
            while election.winner is None and not election.is_hopeless:
                await self._voters.collect_votes(path, content, election.missing)
                election = _replay_votes(step, self._k)
            if election.winner is None:
                reason = f"no answer is ahead by {self._k} ({election.describe()})"
                self.ledger.add("done", path=path, outcome="failed", reason=reason)
                return False
            wanted = self.ledger.read_content(step.choose_content(election.winner))
        if wanted == content:
            self.ledger.add("done", path=path, outcome="unchanged")
            return False
        self.ledger.save_content(content)
        self.ledger.add("decided", path=path, content=self.ledger.save_content(wanted), by=by)
        return True

    def _get_scripted(self, path: str, content: bytes) -> bytes | None:
        """Return what the script makes of the file; None where votes decide, as where it changes nothing."""
        made = self._transformation.contents.get(path) if self._transformation is not None else None
        return made if made != content else None

    async def _apply(self, path: str, step: StepRecord) -> bool:
        """Write a decided step and run the check. Where that fails, the file gets its old content back."""
        done = await self.runtime.run_harness_action(
            "set_file", {"path": path, "content": step.decided, "before": step.before}
        )
        reason = done.text if done.failed else ""
        if not reason and self.check:
            checked = await self.runtime.run_harness_action(
                "check_step", {"path": path, "command": self.check}
            )
            reason = f"the check fails: {checked.text}" if checked.failed else ""
        if not reason:
            return True
        if not done.failed:
            await self.runtime.run_harness_action("set_file", {"path": path, "content": step.before})
        if step.by != "script":
            self.ledger.add("done", path=path, outcome="failed", reason=reason)
        return False

    async def _finish(self) -> TurnEnd:
        steps = [self.ledger.steps[path] for path in self.files]
        changed = [path for path in self.files if self.ledger.steps[path].outcome == "changed"]
        set_whole_check(self.runtime.workspace, self.check, changed)
        failed = [path for path in self.files if self.ledger.steps[path].outcome == "failed"]
        status = "not achieved" if failed else "done" if changed else "nothing to do"
        text = f"{self.instruction}\n\n{len(changed)} of {len(steps)} files changed"
        text += f", {len(failed)} not: {', '.join(failed[:10])}" if failed else ""
        await self.runtime.run_harness_action("finish", {"summary": "", "status": status})
        self.runtime.session.append(MessageEvent(text=text, model=f"{BY_STRATEGY}{NAME}"))
        return TurnEnd(reason="ended", text=text, is_checked=True)


_NEVER = 1_000_000
"""A lead that no answer has: all votes are counted."""


def _replay_votes(step: StepRecord, k: int) -> Election:
    election = Election(k)
    for key in step.votes:
        if election.winner is None:
            election.add_vote(key)
    return election


def _describe_step(step: StepRecord) -> str:
    if step.outcome == "failed":
        return f"not changed, {step.reason.splitlines()[0]}"
    by = "by the script" if step.by == "script" else f"votes {_replay_votes(step, _NEVER).describe()}"
    return f"{step.outcome}, {by}"


def _convert_usage(usage: Mapping[str, float]) -> UsageRecord:
    return UsageRecord(
        input=int(usage.get("input", 0)),
        cached=int(usage.get("cached", 0)),
        output=int(usage.get("output", 0)),
        cost=usage.get("cost") or None,
    )
