"""The monitor that takes the lead of a turn when its model gets nowhere, and goes on from proposal to proposal.

It asks for one replacement at a time, verifies each by the tests, takes back those that do not help, and offers
the changes that the offline engine finds meanwhile. All of it are ordinary actions and replies of the loop.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from agent.events import LEAD, End, Event, ObservationEvent, Prompt, Signal
from agent.model.protocol import LoopingReply, Model, Reply
from agent.monitor.answers import (
    GO_ON,
    FailureAnswer,
    GoOn,
    RequestAnswer,
    StepAnswer,
    StopTurn,
    TellModel,
    TurnEnd,
)
from agent.monitor.monitor import Monitor
from agent.session_settings import LeadSettings
from packages.offline.lead.edit_words import describe_fix, describe_no_fix, describe_proposal, list_edits
from packages.offline.lead.engine_search import (
    BESIDE,
    ENGINE_HEAD,
    ENGINE_SECONDS,
    FILLING_SECONDS,
    EngineSearch,
    may_fall_back,
    write_sure_edits,
)
from packages.offline.lead.idle_replies import IdleReplies
from packages.offline.lead.lead_clock import LeadClock
from packages.offline.lead.lead_decision import LeadDecision
from sandbox.errors import UserError
from tools.core.action import Action

if TYPE_CHECKING:
    from agent.monitor.monitor import Turn
    from agent.turn.runtime import Runtime
    from packages.offline.lead.edit_words import Edit
    from packages.offline.lead.led_work import LedWork

CHOICES = 2
"""Questions with candidates of the engine, before the first of them is written where that is allowed unasked."""

FORMS = 3
"""Forms of the question for a function anew (`function_questions`): each is asked before one is asked again."""

WARMER = 0.8
"""Temperature after a proposal that was made before, or was none: the likeliest reply did not help."""


class Lead(Monitor):
    """Leads the turns of one session."""

    def __init__(self, runtime: Runtime, settings: LeadSettings) -> None:
        self._runtime = runtime
        self._settings = settings
        self._replies = IdleReplies(
            lambda name: runtime.toolbox.get(name) is not None,
            lambda: runtime.profile.profile.name != "generic",
        )
        self._clock = LeadClock(purse=runtime.purse)
        self._decision = LeadDecision(
            runtime=runtime, settings=settings, replies=self._replies, clock=self._clock
        )
        self._engine = EngineSearch(partial(runtime.run_harness_action, "repair"))
        self._reset()

    def _reset(self) -> None:
        self._work: LedWork | None = None
        self._is_first = True
        self._own: Model | None = None
        self._is_beside = False
        self._rounds = 0
        self._unwritten: set[str] = set()
        self._edits_of: dict[str, Edit] = {}
        self._kept: list[Edit] = []
        self._decision.has_given_up = False
        self._numbers = 0
        self._choices = 0
        self._warm = False

    def handle_event(self, event: Event) -> None:
        self._replies.handle_event(event)
        if isinstance(event, Prompt):
            self._release()
            self._decision.prompt = event.text
        elif isinstance(event, End):
            self._release()
        elif isinstance(event, ObservationEvent) and event.call.startswith("lead-") and event.failed:
            self._unwritten.add(event.call)

    def before_step(self, turn: Turn) -> StepAnswer:
        self._replies.close_reply()
        return GO_ON

    async def before_request(self) -> Sequence[RequestAnswer]:
        if self._work is not None:
            return await self._go_on(self._work)
        await self._collect_beside()
        if end := await self._write_sure_change():
            return [end]
        is_led = self._decision.has_to_lead() or await self._decision.is_better_led()
        work = await self._take_lead() if is_led else None
        if not is_led and self._is_first and self._decision.is_small and self._decision.is_about_tests():
            await self._start_beside()
        self._is_first = False
        if end := await self._write_sure_change():
            return [end]
        if work is None:
            return ()
        if not self._engine.is_running and not (work.candidates or work.suspects):
            await self._find_suspects(work)
        if not self._engine.is_running and not (work.candidates or work.suspects):
            return [await self._finish(work)]  # no function to ask for, as in other languages than Python
        return [TellModel(text=work.build_question())]

    def after_reply(self, reply: Reply) -> GoOn | TellModel:
        """A reply without a proposal ends no turn that the harness leads, nor does an empty one before that."""
        if reply.actions or reply.stop == "refusal":
            return GO_ON
        if self._work is not None:
            return TellModel(text=self._work.note or "Your reply had no proposal.")
        if self._is_beside and not reply.text and (self._engine.has_found or not self._clock.has_time):
            return TellModel(text="The offline engine was faster.")
        if not reply.text.strip() or reply.stop == "length":
            return self._answer_last_straw()
        return self._answer_talk() if self._decision.is_weak and self._is_unfinished() else GO_ON

    async def after_failure(self, turn: Turn, error: UserError) -> FailureAnswer:
        if not isinstance(error, LoopingReply):
            return GO_ON
        if self._work is not None:
            self._work.note, self._warm = "Your last reply repeated itself and was stopped.", True
            return TellModel(text=self._work.note)
        return self._answer_last_straw()

    def _is_unfinished(self) -> bool:
        """Whether the tests are to pass, and nothing was changed, or they fail after a small model's change.

        A larger model that has changed something and says that it is done was told of the failures already.
        """
        if (
            self._decision.has_given_up
            or self._settings.when == "never"
            or not self._decision.is_about_tests()
        ):
            return False
        if not self._runtime.conclusion.has_changes:
            return True
        report = self._runtime.conclusion.evidence.get_current_report()
        return self._decision.is_small and (report or {}).get("outcome") == "failed"

    def _answer_talk(self) -> TellModel:
        """Ask again after words in place of a change; the last time the harness leads."""
        self._replies.close_reply()
        if self._decision.has_to_lead():
            return TellModel(text="Your reply was of no use.")
        text = "The tests do not pass yet, and words change no file. Call edit with your change."
        return TellModel(text=text, note="words, and no change: asking again")

    def _answer_last_straw(self) -> GoOn | TellModel:
        """Go on to the request with which the harness leads, if this reply was the last that led nowhere."""
        self._replies.close_reply()
        return TellModel(text="Your reply was of no use.") if self._decision.has_to_lead() else GO_ON

    # ── begin ──────────────────────────────────────────────────────────────────────────────────────

    async def _take_lead(self) -> LedWork | None:
        """Run the tests and localise; return the work, None if there is nothing to lead."""
        from packages.offline.infill.filler import has_filler
        from packages.offline.lead.led_work import LedWork

        self._engine.cancel()  # it would be read while other actions run
        self._unwrap()
        began = time.monotonic()
        report = await self._run_tests()
        self._clock.tests = time.monotonic() - began
        if report.get("outcome") != "failed":
            self._decision.has_given_up = True
            return None
        detail = f"{self._decision.explain()}: the harness leads, and asks for one change at a time"
        self._runtime.session.append(Signal(name=LEAD, detail=detail))
        runtime = self._runtime
        work = LedWork(
            workspace=runtime.workspace,
            task=self._decision.prompt,
            report=report,
            asks_anew=self._decision.is_too_weak,
        )
        self._work = work
        fills = await has_filler(runtime.workspace, runtime.loop.model)
        most, share = (FILLING_SECONDS, 0.7) if fills else (ENGINE_SECONDS, 0.5)
        budget = max(5.0, min(most, self._clock.reply_seconds * share))
        if not fills:
            await self._find_suspects(work)
        self._engine.start(budget, self._decision.prompt)
        # A server with one place for requests would be asked twice at once: fillings come first.
        head = ENGINE_HEAD if self._decision.is_small else 0.0
        if await self._engine.wait(max(budget, self._clock.reply_seconds) if fills else head):
            await self._collect_candidates(work)
            if fills and not self._engine.sure:
                await self._find_suspects(work)
        from packages.offline.lead.led_model import LedModel

        self._own = runtime.loop.model
        runtime.loop.model = LedModel(
            self._own, work, self._propose, self._get_warmth, lambda: self._clock.reply_seconds
        )
        return work

    async def _find_suspects(self, work: LedWork) -> None:
        """Have the engine's suspects in the work, or those of a ranking where it has not ended."""
        from packages.offline.lead.suspects import find_suspects

        places = self._engine.places
        if not places:
            found = await self._runtime.run_harness_action("localize", {})
            places = found.data.get("suspects") or found.data.get("repair", {}).get("suspects") or ()
        work.suspects = find_suspects(self._runtime.workspace, places)[: self._settings.rounds]

    async def _start_beside(self) -> None:
        """Let the engine search before a small model's first request, and on beside it if that is not enough."""
        if self._decision.has_given_up or self._settings.when == "never":
            return
        left = self._clock.reply_seconds
        self._engine.start(max(1.0, min(ENGINE_SECONDS, left * BESIDE)), self._decision.prompt)
        if await self._engine.wait(min(ENGINE_HEAD, left / 4)):
            await self._engine.collect()
            return
        from packages.offline.lead.beside_model import ModelBesideEngine

        self._own, self._is_beside = self._runtime.loop.model, True
        self._runtime.loop.model = ModelBesideEngine(
            self._own, self._engine, lambda: self._clock.reply_seconds
        )

    async def _collect_beside(self) -> None:
        """Collect what was found beside the model, once the search has ended or there is nothing else to wait for."""
        if not self._is_beside:
            return
        is_idle = self._replies.count > 0 or not self._clock.has_time
        # A search keeps to the turn's time by itself.
        if await self._engine.wait(self._clock.seconds_left if is_idle else 0):
            await self._engine.collect()
            self._unwrap()

    def _unwrap(self) -> None:
        """Give the turn back to its own model, if another stands in its place."""
        if self._own is not None:
            self._runtime.loop.model = self._own
        self._own, self._is_beside = None, False

    async def _write_sure_change(self) -> StopTurn | None:
        """Return the end of the turn by what the engine is sure of, written; None where it is sure of nothing."""
        edits = self._take_sure_edits()
        if not edits:
            return None
        text = await write_sure_edits(edits, self._run_edit, self._run_tests)
        if not text:
            return None
        self._release()
        return StopTurn(TurnEnd(reason="answer", text=text))

    def _take_sure_edits(self) -> Sequence[Edit]:
        """Return what the engine is sure of, once."""
        edits, self._engine.sure = self._engine.sure, ()
        return edits if self._settings.fallback != "never" else ()

    def _get_warmth(self) -> float | None:
        if self._work is not None and self._work.asks_anew:  # the next question has another form
            return WARMER if self._rounds > FORMS else None
        return WARMER if self._warm else None

    # ── proposals ──────────────────────────────────────────────────────────────────────────────────

    async def _propose(self, text: str) -> tuple[Action, ...]:
        """Return the actions of a reply, once the engine has ended: it reads the files that they change."""
        work = self._work
        assert work is not None
        await self._collect_candidates(work)
        work.note = ""
        self._choices += bool(work.candidates)
        work.edits = self._take_sure_edits() or work.propose(text)
        self._warm = not work.edits
        self._edits_of, self._unwritten = {}, set()
        for edit in work.edits:
            self._numbers += 1
            number = f"{self._numbers}-{len(self._runtime.projection.slots)}"
            self._edits_of[f"lead-{self._runtime.session.id}-{number}"] = edit
        return tuple(
            Action(id=call, tool="edit", arguments=dict(edit)) for call, edit in self._edits_of.items()
        )

    async def _collect_candidates(self, work: LedWork) -> None:
        if (found := await self._engine.collect()) is not None:
            work.candidates = found

    async def _go_on(self, work: LedWork) -> Sequence[RequestAnswer]:
        """Verify what was proposed; return the next question, or the end of the turn."""
        self._rounds += 1
        edits, work.edits = work.edits, ()
        if edits:
            passes = await self._verify(work, edits)
            self._report(list_edits(edits), "all tests pass" if passes else work.note)
            if passes:
                return [StopTurn(TurnEnd(reason="answer", text=describe_fix(self._kept)))]
            work.at += 1
        else:
            self._report("", work.note or "it has no change")
        chosen = self._settings.fallback == "always" and self._choices >= CHOICES
        if self._rounds >= self._settings.rounds or chosen or not self._clock.has_time:
            return [await self._finish(work)]
        return [TellModel(text=work.build_question())]

    async def _verify(self, work: LedWork, edits: Sequence[Edit]) -> bool:
        """Run the tests on applied edits and take them back unless they help; return whether all tests pass."""
        written = [edit for call, edit in self._edits_of.items() if call not in self._unwritten]
        if not written:
            work.note = "Your last change could not be written."
            return False
        after = await self._run_tests()
        if after.get("outcome") == "passed":
            self._kept += written
            return True
        if work.is_better(after):
            self._kept += written
            work.report = after
            work.note = "Your last change helped, and is kept. This is left."
            return False
        for edit in reversed(written):
            await self._run_edit({"path": edit["path"], "old": edit["new"], "new": edit["old"]})
        message = next((str(each.get("message", "")) for each in after.get("failures") or ()), "")
        work.note = f"Your last change did not help and was taken back: {message[:300]}".rstrip(": ")
        return False

    def _report(self, change: str, outcome: str) -> None:
        """Log what became of a proposal, for the person: the questions and replies are not shown."""
        detail = f"proposal {self._rounds}: {describe_proposal(change, outcome)}"
        self._runtime.session.append(Signal(name=LEAD, detail=detail))

    # ── end ────────────────────────────────────────────────────────────────────────────────────────

    async def _finish(self, work: LedWork) -> StopTurn:
        """End the turn without the model's success: by a change of the engine where that is allowed."""
        await self._collect_candidates(work)
        rounds, kept = self._rounds, self._kept
        if kept and (await self._run_tests()).get("outcome") == "passed":
            text = describe_fix(self._kept)
            self._release()
            return StopTurn(TurnEnd(reason="answer", text=text))
        self._release()
        self._decision.has_given_up = True
        if work.candidates and await may_fall_back(
            self._settings.fallback, self._runtime.loop.gateway.approver
        ):
            edits = list(work.candidates[0])
            for edit in edits:
                await self._run_edit(edit)
            if (await self._run_tests()).get("outcome") == "passed":
                text = describe_fix(edits, "The model found no change. The offline engine did:\n")
                return StopTurn(TurnEnd(reason="answer", text=text))
            for edit in reversed(edits):
                await self._run_edit({"path": edit["path"], "old": edit["new"], "new": edit["old"]})
        text = describe_no_fix(rounds, kept, work.candidates)
        return StopTurn(TurnEnd(reason="empty", text=text))

    def _release(self) -> None:
        """Give the turn back to its own model."""
        self._engine.cancel()
        self._unwrap()
        self._reset()

    async def _run_tests(self) -> dict[str, Any]:
        return dict((await self._runtime.run_harness_action("run_tests", {})).data.get("report") or {})

    async def _run_edit(self, edit: Edit) -> None:
        with suppress(KeyError):
            await self._runtime.run_harness_action("edit", dict(edit))


def build_lead(runtime: Runtime) -> Sequence[Monitor]:
    """Return the monitors that lead turns of a session: jobs of a small model, and the lead where its tools are."""
    from packages.offline.jobs.small_jobs import SmallJobs

    needed = ("run_tests", "edit", "localize", "repair")
    if any(runtime.toolbox.get(each) is None for each in needed):
        return (SmallJobs(runtime),)
    return (SmallJobs(runtime), Lead(runtime, runtime.settings.lead))
