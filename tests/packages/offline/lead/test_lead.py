"""Turns that the harness leads: models that never call a tool mend a function, or end honestly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.budget.limits import MaxTime
from agent.budget.purse import Purse
from agent.events import ActionEvent, AskedAction, End, Event, MessageEvent, ObservationEvent, Signal
from agent.model.protocol import Delta, Reply, Request, TextDelta
from agent.model.scripted.scripted_model import split_into_pieces
from agent.session_request import SessionRequest
from agent.session_settings import LeadSettings
from agent.turn.lead_monitors import attach_lead
from cli.output.lines.event_lines import LineView
from packages.offline.lead import lead_monitor
from packages.offline.lead.idle_replies import IdleReplies
from packages.offline.lead.lead_clock import LeadClock
from packages.offline.model import offline_messages
from sandbox.policy.decision import Decision
from sandbox.policy.effects import Effect
from tests.support.child_sessions import settings_for
from tests.support.repo import Repo
from tools.core.action import Action

pytestmark = pytest.mark.slow

CART = """\
class Cart:
    def __init__(self, prices):
        self.prices = prices

    def total(self):
        rate = 1 - self.discount()
        return sum(self.prices) + rate

    def discount(self):
        return 0.1 if len(self.prices) > 2 else 0
"""
TESTS = """\
from cart import Cart

def test_total():
    assert Cart([10, 20]).total() == 30

def test_discount():
    assert Cart([10, 10, 10]).total() == 27
"""
RIGHT = "```python\ndef total(self):\n    rate = 1 - self.discount()\n    return sum(self.prices) * rate\n```"
WRONG = "```python\ndef total(self):\n    return sum(self.prices)\n```"
WORSE = "```python\ndef total(self):\n    return None\n```"
PROMPT = "fix the failing tests"


@pytest.fixture
def sure_shop(tmp_path: Path) -> Repo:
    """A fault that the offline engine is sure of."""
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", CART)
    repo.write("test_cart.py", TESTS)
    repo.commit_all()
    return repo


@pytest.fixture
def shop(sure_shop: Repo, monkeypatch: pytest.MonkeyPatch) -> Repo:
    """The same fault, and an engine that doubts every change."""
    monkeypatch.setattr(offline_messages, "LOW", 1.1)
    return sure_shop


class Talker:
    """A model that gives its replies one after the other, whatever it is asked; the last one again and again."""

    name = "openai/talker"
    window = 8_192

    def __init__(self, replies: Sequence[str], name: str = name) -> None:
        self.name = name
        self._replies = list(replies)
        self.asked: list[str] = []
        self.read: list[str] = []

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        self.asked.append(request.messages[-1].text)
        self.read.append(request.system)
        if not self._replies:
            await asyncio.Event().wait()  # it never answers
        text = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        for piece in split_into_pieces(text):
            yield TextDelta(text=piece)
        yield Reply(text=text)

    async def close(self) -> None: ...


class Person:
    """A user who gives one answer to all questions."""

    def __init__(self, verdict: Literal["allow", "deny"]) -> None:
        self._verdict = verdict
        self.asked: list[str] = []

    async def ask(self, tool: str, effect: Effect, question: Decision) -> Decision:
        self.asked.append(question.reason)
        return Decision(verdict=self._verdict, reason="said the user")


def play(
    shop: Repo,
    replies: Sequence[str] | Talker,
    prompt: str = PROMPT,
    person: Person | None = None,
    **lead: Any,
) -> tuple[End, list[Event], list[str]]:
    model = replies if isinstance(replies, Talker) else Talker(replies)
    settings = replace(settings_for(model.name), lead=LeadSettings(**lead), commit="turn")

    async def run() -> tuple[End, list[Event], list[str]]:
        request = SessionRequest(working=shop.root, model=lambda tell: model, env={}, approver=person)
        runtime = assemble_runtime(settings, request, Home.from_environment())
        attach_lead(runtime)
        events: list[Event] = []
        runtime.session.subscribe(events.append)
        end = await runtime.run_turn(prompt)
        await runtime.close()
        return end, events, model.asked

    return asyncio.run(run())


def signals(events: Sequence[Event]) -> str:
    return "\n".join(each.detail for each in events if isinstance(each, Signal))


def test_a_model_that_only_talks_is_led_to_the_fix(shop: Repo) -> None:
    end, events, asked = play(shop, ["You should fix the total function."] * 3 + [RIGHT])
    [question] = [each for each in asked if "This test fails: test_cart.py::test_" in each]
    assert "Cart.total in cart.py\n```python\ndef total(self):" in question
    assert (end.outcome, end.files) == ("done", ["cart.py"])
    assert end.commit
    assert "3 replies led nowhere: the harness leads" in signals(events)
    assert "sum(self.prices) * rate" in shop.read("cart.py")
    edits = [each for each in events if isinstance(each, ActionEvent) and each.tool == "edit"]
    assert len(edits) == 1, "one ordinary action, which undo knows"
    assert sum(isinstance(each, MessageEvent) for each in events) == 4


def test_proposals_that_do_not_help_are_taken_back(shop: Repo) -> None:
    end, _, asked = play(shop, [WORSE, RIGHT], when="always")
    assert end.outcome == "done"
    assert "did not help and was taken back" in asked[-1]
    assert "return None" not in shop.read("cart.py")


def test_what_helps_in_part_is_kept(shop: Repo) -> None:
    end, _, asked = play(shop, [WRONG, RIGHT], when="always")
    assert end.outcome == "done"
    assert "helped, and is kept" in asked[-1]


def test_a_number_chooses_a_candidate_of_the_engine(shop: Repo) -> None:
    end, events, asked = play(shop, ["I do not know.", "1"], when="always")
    assert "These changes pass the tests:\n1. cart.py: " in asked[-1]
    assert end.outcome == "done"
    assert "* rate" in shop.read("cart.py")
    assert any(isinstance(each, ActionEvent) and each.tool == "repair" for each in events)


def test_a_model_that_finds_nothing_ends_honestly(shop: Repo) -> None:
    end, _, _ = play(shop, ["Let me think about it."], when="always", rounds=3, fallback="never")
    assert end.outcome == "tests-fail"
    assert "found no change in 3 proposals" in end.summary
    assert "--model offline" in end.summary
    assert shop.read("cart.py") == CART


def test_the_engine_steps_in_where_the_user_allows_it(shop: Repo) -> None:
    end, _, _ = play(shop, ["Let me think about it."], when="always", rounds=2, fallback="always")
    assert end.outcome == "done"
    assert "The offline engine did" in end.summary


@pytest.mark.parametrize(("verdict", "outcome"), [("allow", "done"), ("deny", "tests-fail")])
def test_where_somebody_can_be_asked_they_decide_on_the_change_of_the_engine(
    verdict: Literal["allow", "deny"], outcome: str, shop: Repo
) -> None:
    person = Person(verdict)
    end, _, _ = play(shop, ["Let me think about it."], person=person, when="always", rounds=1)
    assert end.outcome == outcome
    assert person.asked == [
        "the model got nowhere; the offline engine has a change with which the tests pass"
    ]
    assert ("* rate" in shop.read("cart.py")) is (verdict == "allow")


@pytest.mark.parametrize("lead", [{}, {"when": "always"}])
def test_what_the_engine_is_sure_of_is_written_before_a_small_model_is_asked(
    sure_shop: Repo, lead: Any
) -> None:
    end, events, asked = play(sure_shop, ["```python\ndef total(self):\n    return 30\n```"], **lead)
    assert (end.outcome, end.files) == ("done", ["cart.py"])
    assert end.commit
    assert "The offline engine found the fault" in end.summary
    assert "* rate" in sure_shop.read("cart.py")
    assert asked == [], "no token of the model"
    assert sum(isinstance(each, ActionEvent) and each.tool == "edit" for each in events) == 1


def test_what_the_engine_finds_beside_the_model_is_not_given_up_for_a_worse_change(sure_shop: Repo) -> None:
    model = Talker(["```python\ndef total(self):\n    return 30 if len(self.prices) == 2 else 27\n```"])
    model.window = 128_000  # not small: the engine begins with its first question
    end, _, asked = play(sure_shop, model, when="always")
    assert end.outcome == "done"
    assert len(asked) == 1
    assert "* rate" in sure_shop.read("cart.py")


class Vandal(Talker):
    """A model that spoils the code by its first call, and says that it is done."""

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        self.asked.append(request.messages[-1].text)
        if len(self.asked) > 1:
            yield Reply(text="All tests pass.")
            return
        broken = {"path": "cart.py", "old": "return sum(self.prices) + rate", "new": "return 30"}
        yield Reply(text="", actions=(Action(id="v1", tool="edit", arguments=broken),), stop="actions")


@pytest.mark.parametrize("model", [Talker([]), Talker(["I see no fault."]), Vandal([])])
def test_what_the_engine_finds_survives_a_slow_an_idle_and_a_hostile_model(
    model: Talker, sure_shop: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lead_monitor, "ENGINE_HEAD", 0.0)
    end, events, asked = play(sure_shop, model)
    assert end.outcome == "done", signals(events)
    assert end.commit
    assert len(asked) == 1, "it was asked while the engine searched"
    assert "The offline engine found the fault" in end.summary
    assert "* rate" in sure_shop.read("cart.py")
    assert sum(isinstance(each, ActionEvent) and each.tool == "edit" for each in events) == 1


def test_where_the_engine_is_sure_of_nothing_the_model_goes_on(
    shop: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lead_monitor, "ENGINE_HEAD", 0.0)
    end, events, asked = play(shop, Vandal([]))
    assert end.outcome == "tests-fail", signals(events)
    assert len(asked) > 1
    assert "return 30" in shop.read("cart.py")


def test_the_user_can_keep_the_engine_out(sure_shop: Repo) -> None:
    end, _, asked = play(sure_shop, [RIGHT], when="always", fallback="never")
    assert end.outcome == "done"
    assert len(asked) == 1
    end, events, asked = play(sure_shop, ["It is right."], prompt=PROMPT, when="never")
    assert asked
    assert not any(isinstance(each, ActionEvent) and each.tool == "repair" for each in events)


def test_a_larger_model_loses_no_step_and_no_token(sure_shop: Repo) -> None:
    model = Talker(["I will not change anything."])
    model.window = 128_000
    _, events, asked = play(sure_shop, model)
    plain = Talker(["I will not change anything."])
    plain.window = 128_000
    sure_shop.git("checkout", "-q", ".")
    _, other, bare = play(sure_shop, plain, when="never")
    assert asked == bare
    assert [type(each) for each in events] == [type(each) for each in other]


def test_questions_and_other_work_are_not_led(shop: Repo) -> None:
    end, events, _ = play(shop, ["It adds prices."], prompt="What does cart.py do?", when="always")
    assert "leads" not in signals(events)
    assert end.summary.partition("\n")[0] == "It adds prices.", "a question is a job of its own"


def test_looping_and_empty_replies_count(shop: Repo) -> None:
    loop = "I will look at the code again to find the error in it. " * 80
    end, events, _ = play(shop, [loop, "", loop, RIGHT])
    assert end.outcome == "done", signals(events)


LEAP = "def is_leap(year):\n    return year % 4 == 0 and year % 100 != 0\n"
LEAP_TESTS = (
    "from leap import is_leap\n\ndef test_leap():\n    assert is_leap(2000)\n    assert not is_leap(1900)\n"
)
MENDED = "def is_leap(year):\n    return year % 400 == 0 or year % 4 == 0 and year % 100 != 0"


def test_the_smallest_models_are_led_from_the_start_and_write_what_they_would_copy(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "leap")
    repo.write("leap.py", LEAP)
    repo.write("test_leap.py", LEAP_TESTS)
    repo.commit_all()
    copied, rambling = f"```python\n{LEAP}```", "\nThis is right because " * 3
    model = Talker([copied, f"```python\n{MENDED}\n```{rambling}"], "openai/tiny-135m")
    end, events, asked = play(repo, model)
    assert (end.outcome, end.files) == ("done", ["leap.py"])
    assert "a model below a billion parameters: the harness leads" in signals(events)
    assert "% 100" in asked[0]
    assert "Write the Python function `is_leap`" in asked[1]
    assert "% 100" not in asked[1]
    assert model.read[0] != model.read[1]
    last = [each for each in events if isinstance(each, MessageEvent)][-1]
    assert "because" not in last.text, "its reply ends with the block"


def test_a_model_that_does_not_answer_in_time_leaves_it_to_the_engine(
    shop: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LeadClock, "reply_seconds", property(lambda self: 0.05))
    end, _, asked = play(shop, Talker([]), when="always", fallback="always")
    assert end.outcome == "done"
    assert "The offline engine did" in end.summary
    assert len(asked) == 1


def test_the_clock_keeps_time_for_the_end_of_the_turn() -> None:
    purse = Purse([MaxTime(100)])
    purse.begin_turn()
    clock = LeadClock(purse=purse, tests=10.0)
    assert 60 < clock.reply_seconds < 66
    assert clock.has_time
    assert not clock.is_third_gone
    purse.tally.start_time -= 60
    later = LeadClock(purse=purse, tests=10.0)
    assert not later.has_time
    assert later.is_third_gone
    assert LeadClock(purse=Purse()).has_time


def judge(*steps: tuple[str, dict[str, Any], bool], is_weak: bool) -> int:
    """Return how many replies in a row led nowhere, each with one call that failed or did not."""
    replies = IdleReplies(lambda name: name in ("read", "edit", "shell"), lambda: is_weak)
    for number, (tool, arguments, failed) in enumerate(steps):
        problem = "cut" if arguments.get("problem") else ""
        asked = AskedAction(id=f"c{number}", tool=tool, arguments=arguments, problem=problem)
        replies.handle_event(MessageEvent(text="", actions=[asked]))
        replies.handle_event(ObservationEvent(call=asked.id, tool=tool, text="", failed=failed))
    return replies.close_reply()


@pytest.mark.parametrize(
    ("step", "weak", "strong"),
    [
        (("read", {"path": "a"}, False), 2, 2),
        (("edit", {"path": "a"}, True), 3, 2),
        (("edit", {"problem": True}, True), 3, 3),
        (("open_it", {"path": "a"}, True), 3, 3),
        (("shell", {"command": "false"}, True), 2, 2),
    ],
)
def test_the_same_call_again_a_malformed_and_of_small_models_a_refused_one_lead_nowhere(
    step: tuple[str, dict[str, Any], bool], weak: int, strong: int
) -> None:
    assert judge(step, step, step, is_weak=True) == weak
    assert judge(step, step, step, is_weak=False) == strong


def test_commands_that_fail_one_after_the_other_are_work() -> None:
    steps = [("shell", {"command": f"false {number}"}, True) for number in range(5)]
    assert judge(*steps, is_weak=True) == judge(*steps, is_weak=False) == 0


def test_a_reply_of_which_one_edit_cannot_be_written_is_judged_by_the_files(shop: Repo) -> None:
    """What was written stays only if it helps, and the end says what the files say."""
    twice = f"{RIGHT}\n\n```python\ndef discount(self):\n    return 0.1 if len(self.prices) > 2 else 0\n```"
    end, events, _ = play(shop, [f"{twice}\n{RIGHT}"], when="always", rounds=3, fallback="never")
    assert (end.outcome, bool(end.commit)) == ("done", True), signals(events)
    assert "found no change" not in end.summary


def test_what_is_kept_in_part_is_named_where_the_rest_was_not_found(shop: Repo) -> None:
    end, _, _ = play(shop, [WRONG, "I do not know."], when="always", rounds=3, fallback="never")
    assert (end.outcome, end.commit) == ("tests-fail", "")
    assert "are in your files" in end.summary
    assert "return sum(self.prices)" in shop.read("cart.py")


def test_a_led_turn_is_shown_as_proposals(shop: Repo) -> None:
    _, events, asked = play(shop, [WORSE, "I do not know.", RIGHT], when="always")
    written: list[str] = []
    view = LineView(written.append, colour=False, width=100)
    for each in events:
        view.show_event(each)
    shown = "".join(written)
    assert len(asked) == 3
    assert "Task:" not in shown
    assert "I do not know." not in shown
    assert shown.count("the harness leads") == 1
    rows = [line for line in shown.splitlines() if "proposal " in line]
    assert [line.partition("proposal ")[2][0] for line in rows] == ["1", "2", "3"]
    assert "taken back" in rows[0]
    assert "no change: had no code block" in rows[1]
    assert "all tests pass" in rows[2]
