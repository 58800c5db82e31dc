"""The monitors of a session as one: asked in their order, combined to one answer, none of them able to end it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field

from agent.context.ledger.session_facts import Facts
from agent.events import Compaction, Event, Prompt, Signal
from agent.model.protocol import Reply
from agent.monitor.answers import (
    GO_ON,
    ActionAnswer,
    Ask,
    FailureAnswer,
    GoOn,
    Refuse,
    ReplyAnswer,
    RequestAnswer,
    StepAnswer,
    StopTurn,
    TellModel,
    TellPerson,
)
from agent.monitor.monitor import Monitor, Turn
from agent.session.branch_history import History
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from tools.core.action_guard import Advice, BegunAction

_HOOKS = (
    "handle_event",
    "before_action",
    "before_request",
    "before_compaction",
    "before_step",
    "after_failure",
    "after_reply",
)


class Monitors:
    """A list of monitors; each hook asks only those that override it.

    append: logs an event

    Actions: the first refusal counts and ends the round; questions and texts for the model are joined. Requests:
    all texts are delivered, each by itself. Steps, failures and replies: the first answer other than "go on"
    counts. A monitor that raises counts as "go on" and is reported once; one of security refuses the action. Only
    a full disk passes, which ends the turn in any case.
    """

    def __init__(self, monitors: Iterable[Monitor], append: Callable[[Event], object]) -> None:
        self.monitors: list[Monitor] = []
        self._append = append
        self._asked: dict[str, list[Monitor]] = {hook: [] for hook in _HOOKS}
        self._reported: set[int] = set()
        self._stop: StopTurn | None = None
        for each in monitors:
            self.add_monitor(each)

    def add_monitor(self, monitor: Monitor) -> None:
        """Add one as the last to be asked. It is restored with the others, or not at all."""
        self.monitors.append(monitor)
        for hook, asked in self._asked.items():
            if getattr(type(monitor), hook) is not getattr(Monitor, hook):
                asked.append(monitor)

    def prepend_monitor(self, monitor: Monitor) -> None:
        """Add one as the first to be asked."""
        self.monitors.insert(0, monitor)
        for hook, asked in self._asked.items():
            if getattr(type(monitor), hook) is not getattr(Monitor, hook):
                asked.insert(0, monitor)

    def restore(self, history: History, facts: Facts) -> None:
        """Restore the state of a resumed session."""
        for monitor in self.monitors:
            try:
                monitor.restore(history, facts)
            except Exception as error:
                self._report_failure(monitor, error)

    def handle_event(self, event: Event) -> None:
        """Process an event as it is logged."""
        if isinstance(event, Prompt):
            self._stop = None
        for monitor in self._asked["handle_event"]:
            try:
                monitor.handle_event(event)
            except Exception as error:
                self._report_failure(monitor, error)

    async def check_action(self, begun: BegunAction) -> Advice:
        """See `Guard.check_action`."""
        found = _ActionAnswers()
        for monitor in self._asked["before_action"]:
            answer = await self._ask_about_action(monitor, begun)
            if answer is GO_ON:
                continue
            if isinstance(answer, StopTurn):
                self._stop = answer
                answer = Refuse(answer.end.detail or answer.end.text or "the turn ends here")
            if isinstance(answer, Refuse):
                return Advice(refusal=answer.reason)
            if isinstance(answer, TellModel | TellPerson):
                self._notify_person(answer)
            found.add_answer(answer)
        return found.advice

    async def before_request(self) -> Sequence[str] | StopTurn:
        """Return the texts for the model that are part of its next request, or the end of the turn."""
        texts: list[str] = []
        for monitor in self._asked["before_request"]:
            for answer in await self._ask_before_request(monitor):
                if isinstance(answer, StopTurn):
                    return answer
                self._notify_person(answer)
                if isinstance(answer, TellModel):
                    texts.append(answer.text)
        return texts

    async def before_compaction(self, event: Compaction) -> None:
        """Let the monitors prepare for a compaction."""
        for monitor in self._asked["before_compaction"]:
            try:
                await monitor.before_compaction(event)
            except Exception as error:
                self._report_failure(monitor, error)

    def before_step(self, turn: Turn) -> GoOn | StopTurn:
        """Decide whether the next step is taken."""
        if self._stop is not None:
            stop, self._stop = self._stop, None
            return stop
        for monitor in self._asked["before_step"]:
            answer: StepAnswer = GO_ON
            try:
                answer = monitor.before_step(turn)
            except Exception as error:
                self._report_failure(monitor, error)
            if isinstance(answer, StopTurn):
                return answer
            if isinstance(answer, TellPerson):
                self._notify_person(answer)
        return GO_ON

    async def after_failure(self, turn: Turn, error: UserError) -> FailureAnswer:
        """Decide how to go on after a failed request. The note of a text is the loop's to log, with the text."""
        for monitor in self._asked["after_failure"]:
            answer: FailureAnswer = GO_ON
            try:
                answer = await monitor.after_failure(turn, error)
            except Exception as problem:
                self._report_failure(monitor, problem)
            if isinstance(answer, TellPerson):
                self._notify_person(answer)
            elif answer is not GO_ON:
                return answer
        return GO_ON

    def after_reply(self, reply: Reply) -> ReplyAnswer:
        """Decide how to go on after a reply. The note of a text is the loop's to log, with the text."""
        for monitor in self._asked["after_reply"]:
            answer: ReplyAnswer = GO_ON
            try:
                answer = monitor.after_reply(reply)
            except Exception as error:
                self._report_failure(monitor, error)
            if isinstance(answer, TellPerson):
                self._notify_person(answer)
            elif answer is not GO_ON:
                return answer
        return GO_ON

    async def _ask_about_action(self, monitor: Monitor, begun: BegunAction) -> ActionAnswer:
        try:
            answer = monitor.before_action(begun)
            return await answer if inspect.isawaitable(answer) else answer
        except Exception as error:
            self._report_failure(monitor, error)
            return Refuse(f"the guard {monitor.name} failed") if monitor.is_security else GO_ON

    async def _ask_before_request(self, monitor: Monitor) -> Sequence[RequestAnswer]:
        try:
            answers = monitor.before_request()
            return await answers if inspect.isawaitable(answers) else answers
        except Exception as error:
            self._report_failure(monitor, error)
            return ()

    def _report_failure(self, monitor: Monitor, error: Exception) -> None:
        """Report a monitor that raised, once. Raises the error of a full disk."""
        if isinstance(error, UserError) and error.fault is Fault.STORAGE_FULL:
            raise error
        if id(monitor) in self._reported:
            return
        self._reported.add(id(monitor))
        detail = f"{monitor.name} failed and is passed over: {type(error).__name__}: {error}"
        self._append(Signal(name="monitor", detail=detail))

    def _notify_person(self, answer: TellModel | TellPerson) -> None:
        if isinstance(answer, TellPerson):
            self._append(Signal(name=answer.name, detail=answer.text))
        elif answer.note:
            self._append(Signal(name="model", detail=answer.note))


@dataclass(slots=True)
class _ActionAnswers:
    """Answers to one action that do not refuse it, in the order of the monitors."""

    questions: list[Ask] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add_answer(self, answer: ActionAnswer) -> None:
        """Add the answer of one monitor."""
        if isinstance(answer, Ask):
            self.questions.append(answer)
        elif isinstance(answer, TellModel) and answer.text:
            self.notes.append(answer.text)

    @property
    def advice(self) -> Advice:
        return Advice(
            question="; ".join(each.question for each in self.questions),
            hint=" ".join(each.hint for each in self.questions if each.hint),
            note="\n".join(self.notes),
        )
