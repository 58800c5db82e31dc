"""The monitors of a session as one: asked in their order, combined to one answer, none of them able to end it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

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
    StopTurn,
    TellModel,
    TellPerson,
)
from agent.monitor.monitor import Monitor, Turn
from agent.session.branch_history import History
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from tools.core.action_guard import Advice, BegunAction

_Answer = TypeVar("_Answer")
_Default = TypeVar("_Default")
_Given = TypeVarTuple("_Given")

_HOOKS = (
    "handle_event",
    "before_action",
    "before_request",
    "before_compaction",
    "before_step",
    "after_failure",
    "after_reply",
)


@dataclass(slots=True, kw_only=True)
class LateMonitors:
    """Monitors of a session without a history, built when a reply, a failure or an action is first to be judged.

    is_due: whether they have something to say before the first request, and are built then
    """

    build: Callable[[], Iterable[Monitor]]
    is_due: Callable[[], bool] = lambda: False


class Monitors:
    """A list of monitors; each hook asks only those that override it.

    append: logs an event

    Actions: the first refusal counts and ends the round; questions and texts for the model are joined. Requests:
    all texts are delivered, each by itself. Steps, failures and replies: the first answer other than "go on"
    counts. A monitor that raises counts as "go on" and is reported once; one of security refuses the action. Only
    a full disk passes, which ends the turn in any case.
    """

    def __init__(self, monitors: Iterable[Monitor | LateMonitors], append: Callable[[Event], object]) -> None:
        self._all: list[Monitor | LateMonitors] = list(monitors)
        self._early_events: list[Event] = []
        self._append = append
        self._asked: dict[str, list[Monitor]] = {}
        self._reported: set[int] = set()
        self._stop: StopTurn | None = None
        self._list_asked()

    @property
    def monitors(self) -> Sequence[Monitor]:
        """All of them, in the order in which they are asked."""
        self._build_late()
        return self._built

    def add_monitor(self, monitor: Monitor) -> None:
        """Add one as the last to be asked. It is restored with the others, or not at all."""
        self._all.append(monitor)
        self._list_asked()

    def prepend_monitor(self, monitor: Monitor | LateMonitors) -> None:
        """Add one as the first to be asked."""
        self._all.insert(0, monitor)
        self._list_asked()

    def restore(self, history: History, facts: Facts) -> None:
        """Restore the state of a resumed session."""
        for monitor in self._built:
            self._ask(monitor, None, monitor.restore, history, facts)

    def handle_event(self, event: Event) -> None:
        """Process an event as it is logged."""
        if isinstance(event, Prompt):
            self._stop = None
        if self._late:
            self._early_events.append(event)
        for monitor in self._asked["handle_event"]:
            self._ask(monitor, None, monitor.handle_event, event)

    async def check_action(self, begun: BegunAction) -> Advice:
        """See `Guard.check_action`."""
        from tools.core.action_guard import Advice

        self._build_late()
        questions: list[Ask] = []
        notes: list[str] = []
        for monitor in self._asked["before_action"]:
            failed = Refuse(f"the guard {monitor.name} failed") if monitor.is_security else GO_ON
            answer: ActionAnswer = await self._ask_later(monitor, failed, monitor.before_action, begun)
            if answer is GO_ON:
                continue
            if isinstance(answer, StopTurn):
                self._stop = answer
                answer = Refuse(answer.end.detail or answer.end.text or "the turn ends here")
            if isinstance(answer, Refuse):
                return Advice(refusal=answer.reason)
            if isinstance(answer, TellModel | TellPerson):
                self._notify_person(answer)
            if isinstance(answer, Ask):
                questions.append(answer)
            elif isinstance(answer, TellModel) and answer.text:
                notes.append(answer.text)
        return Advice(
            question="; ".join(each.question for each in questions),
            hint=" ".join(each.hint for each in questions if each.hint),
            note="\n".join(notes),
        )

    async def before_request(self) -> Sequence[str] | StopTurn:
        """Return the texts for the model that are part of its next request, or the end of the turn."""
        if any(each.is_due() for each in self._late):
            self._build_late()
        texts: list[str] = []
        for monitor in self._asked["before_request"]:
            answers: Sequence[RequestAnswer] = await self._ask_later(monitor, (), monitor.before_request)
            for answer in answers:
                if isinstance(answer, StopTurn):
                    return answer
                self._notify_person(answer)
                if isinstance(answer, TellModel):
                    texts.append(answer.text)
        return texts

    async def before_compaction(self, event: Compaction) -> None:
        """Let the monitors prepare for a compaction."""
        self._build_late()
        for monitor in self._asked["before_compaction"]:
            await self._ask_later(monitor, None, monitor.before_compaction, event)

    def before_step(self, turn: Turn) -> GoOn | StopTurn:
        """Decide whether the next step is taken."""
        if self._stop is not None:
            stop, self._stop = self._stop, None
            return stop
        for monitor in self._asked["before_step"]:
            answer = self._ask(monitor, GO_ON, monitor.before_step, turn)
            if isinstance(answer, StopTurn):
                return answer
            if isinstance(answer, TellPerson):
                self._notify_person(answer)
        return GO_ON

    async def after_failure(self, turn: Turn, error: UserError) -> FailureAnswer:
        """Decide how to go on after a failed request. The note of a text is the loop's to log, with the text."""
        self._build_late()
        for monitor in self._asked["after_failure"]:
            answer: FailureAnswer = await self._ask_later(monitor, GO_ON, monitor.after_failure, turn, error)
            if isinstance(answer, TellPerson):
                self._notify_person(answer)
            elif answer is not GO_ON:
                return answer
        return GO_ON

    def after_reply(self, reply: Reply) -> ReplyAnswer:
        """Decide how to go on after a reply. The note of a text is the loop's to log, with the text."""
        self._build_late()
        for monitor in self._asked["after_reply"]:
            answer = self._ask(monitor, GO_ON, monitor.after_reply, reply)
            if isinstance(answer, TellPerson):
                self._notify_person(answer)
            elif answer is not GO_ON:
                return answer
        return GO_ON

    @property
    def _built(self) -> list[Monitor]:
        return [each for each in self._all if not isinstance(each, LateMonitors)]

    @property
    def _late(self) -> list[LateMonitors]:
        return [each for each in self._all if isinstance(each, LateMonitors)]

    def _list_asked(self) -> None:
        """Note by hook which monitors override it."""
        built = self._built
        self._asked = {
            hook: [each for each in built if getattr(type(each), hook) is not getattr(Monitor, hook)]
            for hook in _HOOKS
        }

    def _build_late(self) -> None:
        """Build the monitors that are left, and let them follow what was logged so far."""
        if not self._late:
            return
        known = set(map(id, self._built))
        self._all = [
            monitor
            for each in self._all
            for monitor in (each.build() if isinstance(each, LateMonitors) else (each,))
        ]
        self._list_asked()
        events, self._early_events = self._early_events, []
        late = [each for each in self._asked["handle_event"] if id(each) not in known]
        for event in events:
            for monitor in late:
                self._ask(monitor, None, monitor.handle_event, event)

    def _ask(
        self, monitor: Monitor, default: _Default, hook: Callable[[*_Given], _Answer], *given: *_Given
    ) -> _Answer | _Default:
        """Return the answer of a hook, the default if it raises."""
        try:
            return hook(*given)
        except Exception as error:
            self._report_failure(monitor, error)
            return default

    async def _ask_later(
        self, monitor: Monitor, default: Any, hook: Callable[[*_Given], Any], *given: *_Given
    ) -> Any:
        """Return the answer of a hook that may be asynchronous, the default if it raises."""
        try:
            answer = hook(*given)
            return await answer if inspect.isawaitable(answer) else answer
        except Exception as error:
            self._report_failure(monitor, error)
            return default

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
