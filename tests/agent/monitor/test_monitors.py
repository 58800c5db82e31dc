"""Monitors as one: the strictest answer counts, texts reach the model, and one that fails ends no session."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.events import DecisionEvent, Event, ObservationEvent, Signal, Steer
from agent.model.protocol import Reply
from agent.monitor.answers import (
    GO_ON,
    ActionAnswer,
    Ask,
    Refuse,
    ReplyAnswer,
    RequestAnswer,
    StopTurn,
    TellModel,
    TellPerson,
    TurnEnd,
)
from agent.monitor.monitor import Monitor
from sandbox.errors import Fault, UserError
from sandbox.policy.decision import Approval, Decision
from sandbox.policy.effects import Effect
from tests.support.bench import Bench, bench
from tests.support.cli import call
from tools.core.action_guard import BegunAction
from tools.fs.file_tools import write
from tools.shell.shell_tool import shell


class Answering(Monitor):
    """Gives one answer to every action, an error included."""

    def __init__(self, answer: ActionAnswer | Exception) -> None:
        self.answer = answer
        self.asked: list[BegunAction] = []

    def before_action(self, begun: BegunAction) -> ActionAnswer:
        self.asked.append(begun)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Guarding(Answering):
    is_security = True


class Waiting(Answering):
    async def before_action(self, begun: BegunAction) -> ActionAnswer:  # type: ignore[override]
        return self.answer  # type: ignore[return-value]


class Person:
    """An approver with a ready answer."""

    def __init__(self, verdict: Any) -> None:
        self.verdict = verdict
        self.questions: list[str] = []

    async def ask(self, tool: str, effect: Effect, question: Decision) -> Decision:
        self.questions.append(question.reason)
        return Decision(verdict=self.verdict, reason="so said the person")


WRITE = {"calls": [call("write", path="a.txt", content="x")]}


def start(tmp_path: Path, *monitors: Monitor, turns: Sequence[Any] = (), **options: Any) -> Bench:
    it = bench(tmp_path, [*(turns or [WRITE, {"text": "Done."}])], [write, shell], **options)
    for each in monitors:
        it.runtime.loop.monitors.add_monitor(each)
    return it


def observations(it: Bench) -> list[str]:
    return [each.text for each in it.events if isinstance(each, ObservationEvent)]


def signals(it: Bench) -> list[tuple[str, str]]:
    return [(each.name, each.detail) for each in it.events if isinstance(each, Signal)]


def test_texts_for_the_model_are_joined_and_each_action_is_seen_with_its_parsed_command(
    tmp_path: Path,
) -> None:
    first, second = Answering(TellModel(text="[one]", note="seen")), Waiting(TellModel(text="[two]"))
    turns = [{"calls": [call("shell", command="echo hi > b.txt")]}, {"text": "Done."}]
    it = start(tmp_path, first, second, turns=turns)
    it.turn("go")
    assert observations(it)[0].endswith("[one]\n[two]")
    assert signals(it) == [("model", "seen")]
    command = first.asked[0].command
    assert command is not None
    assert [effect.kind for segment in command.segments for effect in segment.effects] == ["none", "write"]


def test_a_refusal_outweighs_every_other_answer(tmp_path: Path) -> None:
    person = Person("allow")
    monitors = [
        Answering(TellModel(text="[note]")),
        Answering(Ask(question="really?")),
        Answering(Refuse("no")),
    ]
    it = start(tmp_path, *monitors, approval=Approval.ASK, approver=person)
    it.turn("go")
    assert observations(it) == ["write: not done: no"]
    assert not person.questions
    assert not (it.runtime.workspace.root / "a.txt").exists()


@pytest.mark.parametrize("verdict", ["allow", "deny"])
def test_questions_are_one_question_to_the_person(tmp_path: Path, verdict: str) -> None:
    person = Person(verdict)
    monitors = [Answering(Ask(question="first?", hint="do less")), Waiting(Ask(question="second?"))]
    it = start(tmp_path, *monitors, approval=Approval.AUTO, approver=person)
    it.turn("go")
    assert person.questions == ["first?; second?"]
    decided = [(each.verdict, each.by) for each in it.events if isinstance(each, DecisionEvent)]
    assert decided == [(verdict, "person")]
    assert (it.runtime.workspace.root / "a.txt").exists() == (verdict == "allow")


@pytest.mark.parametrize("approver", [None, Person("allow")])
def test_a_question_that_nobody_answers_is_a_refusal_with_a_hint(tmp_path: Path, approver: Any) -> None:
    it = start(
        tmp_path,
        Answering(Ask(question="really?", hint="do less")),
        approval=Approval.NEVER,
        approver=approver,
    )
    it.turn("go")
    assert observations(it) == ["write: denied: really?, and nobody can be asked. Instead: do less"]


def test_a_notice_for_the_person_is_a_signal_and_the_action_runs(tmp_path: Path) -> None:
    it = start(tmp_path, Answering(TellPerson(text="look", name="watch")))
    it.turn("go")
    assert signals(it) == [("watch", "look")]
    assert (it.runtime.workspace.root / "a.txt").exists()


def test_a_turn_stopped_before_an_action_ends_after_the_batch_and_the_next_one_runs(tmp_path: Path) -> None:
    stopping = Answering(StopTurn(TurnEnd(reason="limit", detail="enough")))
    it = start(tmp_path, stopping, turns=[WRITE, WRITE, {"text": "Done."}])
    assert (it.turn("go").outcome, observations(it)) == ("limit", ["write: not done: enough"])
    stopping.answer = GO_ON
    assert it.turn("again").outcome != "limit"


@pytest.mark.parametrize("guards", [False, True])
def test_a_monitor_that_raises_is_reported_once_and_only_one_of_security_refuses(
    tmp_path: Path, guards: bool
) -> None:
    broken = (Guarding if guards else Answering)(ValueError("oops"))
    it = start(tmp_path, broken, turns=[WRITE, WRITE, {"text": "Done."}])
    it.turn("go")
    name = type(broken).__name__
    assert signals(it) == [("monitor", f"{name} failed and is passed over: ValueError: oops")]
    assert (it.runtime.workspace.root / "a.txt").exists() is not guards
    if guards:
        assert observations(it) == [f"write: not done: the guard {name} failed"] * 2


class Broken(Monitor):
    """Fails everywhere else."""

    def handle_event(self, event: Event) -> None:
        raise KeyError("event")

    async def before_request(self) -> Sequence[RequestAnswer]:
        raise KeyError("request")

    def after_reply(self, reply: Reply) -> ReplyAnswer:
        raise KeyError("reply")

    def before_step(self, turn: Any) -> Any:
        raise KeyError("step")


class Speaking(Monitor):
    """Says something before each request and after the first reply."""

    said = False

    def before_request(self) -> Sequence[RequestAnswer]:
        return [TellModel(text="[mind the gap]"), TellPerson(text="gap")]

    def after_reply(self, reply: Reply) -> ReplyAnswer:
        answer = GO_ON if self.said else TellModel(text="[again]", note="once more")
        self.said = True
        return answer


def test_the_others_are_asked_although_one_fails_everywhere(tmp_path: Path) -> None:
    turns = [{"text": "Done."}, {"text": "Really.", "expect": ["[mind the gap]", "[again]"]}]
    it = start(tmp_path, Broken(), Speaking(), turns=turns)
    assert it.turn("go").summary == "Really."
    assert [each.text for each in it.events if isinstance(each, Steer)] == [
        "[mind the gap]",
        "[again]",
        "[mind the gap]",
    ]
    assert [name for name, _ in signals(it)] == ["monitor", "monitor", "model", "monitor"]


def test_a_full_disk_is_no_failure_of_a_monitor(tmp_path: Path) -> None:
    full = UserError(Fault.STORAGE_FULL, "the disk is full", "")
    it = start(tmp_path, Answering(full))
    assert it.turn("go").summary == "the disk is full"
