"""A turn in which a person takes another attempt: its change replaces the one that is in the files."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agent.children.places import open_git
from agent.events import BY_STRATEGY, ChoiceEvent, End, MessageEvent, ObservationEvent, Verification
from agent.monitor.answers import TurnEnd
from agent.session_settings import TAKEN
from agent.strategy.person.attempt_tree import AttemptNode, AttemptTree
from agent.strategy.person.patch_exchange import NothingToTake, build_exchange
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.decision import Mode

if TYPE_CHECKING:
    from agent.turn.runtime import Runtime


@dataclass(slots=True)
class TakenAttempt:
    """The work of such a turn. Implements `TurnWork`.

    patch: reference of the artifact with the exchange; tests: whether they are run at the end
    """

    runtime: Runtime
    number: int
    child: str
    report: str
    patch: str
    tests: bool = True
    takes_advice: bool = False

    @classmethod
    def from_settings(cls, runtime: Runtime, settings: Mapping[str, Any]) -> TakenAttempt:
        """Return the work that a kill cut off, from the settings in its prompt's event. Raises UserError"""
        from agent.strategy.logged_work import create_log_error

        given: dict[str, Any] = {"attempt": 0, "child": "", "report": "", "patch": "", "tests": True}
        for name, usual in given.items():
            value = settings.get(name, usual)
            if type(value) is not type(usual):
                raise create_log_error(name, value)
            given[name] = value
        return cls(
            runtime=runtime,
            number=given["attempt"],
            child=given["child"],
            report=given["report"],
            patch=given["patch"],
            tests=given["tests"],
        )

    @property
    def settings(self) -> Mapping[str, Any]:
        """See `TurnWork.settings`."""
        return {
            "name": TAKEN,
            "attempt": self.number,
            "child": self.child,
            "report": self.report,
            "patch": self.patch,
            "tests": self.tests,
        }

    async def run(self) -> TurnEnd:
        """See `TurnWork.run`."""
        from tools.git.apply_attempt import bring_back

        session, suite = self.runtime.session, self.runtime.conclusion.suite
        suite.has_chosen_tests = True
        if not self.tests:
            self.runtime.conclusion.verifiers.clear()
            suite.verification = Verification(outcome="not-needed", detail="no tests were wanted")
        if not self._was_applied():
            reason = "you took it in place of the one before"
            session.append(
                ChoiceEvent(
                    attempt=self.number, child=self.child, order=[self.number], reason=reason, by="person"
                )
            )
            self.runtime.toolbox.add(accepted=[bring_back])
            applied = await self.runtime.run_harness_action("bring_back", {"patch": self.patch})
            if applied.failed:
                return await self._finish(f"The attempt could not be taken: {applied.text}", "not achieved")
        return await self._finish(self.report or f"Attempt {self.number} is in the files.", "done")

    def _was_applied(self) -> bool:
        history = self.runtime.session.replayed
        since = history.read_events_from(f"e{history.find_newest_place('prompt')}")
        return any(
            isinstance(each, ObservationEvent) and each.tool == "bring_back" and not each.failed
            for each in since
        )

    async def _finish(self, text: str, status: str) -> TurnEnd:
        await self.runtime.run_harness_action("finish", {"summary": "", "status": status})
        self.runtime.session.append(MessageEvent(text=text, model=f"{BY_STRATEGY}{TAKEN}"))
        return TurnEnd(reason="ended", text=text)


async def prepare_taken_attempt(
    runtime: Runtime, tree: AttemptTree, number: int, *, tests: bool = True
) -> TakenAttempt:
    """Return the work that takes an attempt; nothing is changed yet.

    Raises UserError if there is no such attempt, or nothing in it to take; ExchangeRefused if the files changed.
    """
    node = tree.get_node(number)
    check_taken(node)
    check_turn_has_ended(tree, runtime.session.id)
    if runtime.policy.mode is Mode.READ_ONLY:
        raise UserError(
            Fault.USAGE, "an attempt cannot be taken in read-only mode", "Change it: --mode workspace"
        )
    artifacts = runtime.workspace.artifacts

    def read(ref: str) -> bytes:
        patch = artifacts.read(ref) if ref else b""
        if patch is None:
            raise UserError(
                Fault.USAGE, f"the patch {ref!r} of that attempt is gone from the session's folder"
            )
        return patch

    assert node.candidate is not None
    wanted, present = read(node.candidate.patch), read(tree.applied_patch)
    if runtime.environment is None:
        raise UserError(Fault.USAGE, "a session without settings takes no attempt", "Start it as usual.")
    git = await asyncio.to_thread(open_git, runtime.workspace.root, runtime.environment.home)
    exchange = await asyncio.to_thread(build_exchange, git, present, wanted)
    if not exchange:
        raise NothingToTake(
            Fault.USAGE, f"attempt {number} is in the files already", "See the others: patchwright attempts"
        )
    return TakenAttempt(
        runtime=runtime,
        number=number,
        child=node.child,
        report=node.candidate.report,
        patch=artifacts.save(exchange),
        tests=tests,
    )


async def take_attempt(work: TakenAttempt, tree: AttemptTree) -> End:
    """Take a prepared attempt in a turn of its own: it is verified, committed and undone like any other."""
    verifiers = work.runtime.conclusion.verifiers
    kept = list(verifiers)
    try:
        return await work.runtime.run_turn(f"Use attempt {work.number} of: {tree.prompt}", work)
    finally:
        verifiers[:] = kept


def check_turn_has_ended(tree: AttemptTree, session: str) -> None:
    """Raise UserError if a turn that a kill cut off would be given up by the turn that takes an attempt."""
    if tree.is_cut_off:
        raise UserError(
            Fault.USAGE,
            f"the last turn of session {session!r} was cut off, and taking an attempt would give it up",
            f"Let it end first: patchwright resume {session}",
        )


def check_taken(node: AttemptNode) -> None:
    """Raise UserError or NothingToTake unless an attempt has a change that can be taken."""
    if node.candidate is None:
        raise UserError(
            Fault.USAGE,
            f"attempt {node.number} has not ended",
            "Wait for it, or take another: patchwright attempts",
        )
    if not node.candidate.patch:
        raise NothingToTake(
            Fault.USAGE, f"attempt {node.number} changed nothing", "See the others: patchwright attempts"
        )
