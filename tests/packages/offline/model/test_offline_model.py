"""The offline model: a pure function of the messages, driven here through the real tools."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.context.projection.message_slots import StateMessage
from agent.model.protocol import (
    AssistantMessage,
    Message,
    Reply,
    Request,
    TextDelta,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from packages.offline.model.offline_messages import write_commit_message
from packages.offline.model.offline_model import OfflineModel, answer_request
from packages.offline.repair.repair_tools import localize, repair
from sandbox.errors import Fault, UserError
from tests.tools.workspaces import workspace
from tools.code.code_tool import code
from tools.core.action import Action, Observation, ToolFailure
from tools.core.registry import Tool
from tools.core.workspace import Workspace
from tools.edit.edit_tools import edit
from tools.session.finish import finish
from tools.session.plan import plan
from tools.testing import run_tests

TOOLS = (plan, run_tests, repair, localize, edit, finish)
COMMIT = ToolSpec(name="git_commit", description="", parameters={"type": "object", "properties": {}})
FIX = {
    "path": "cart.py",
    "line": 2,
    "function": "fee",
    "old": "    return 1",
    "new": "    return 2",
    "why": "`1` should be `2` in fee, line 2",
    "tests": ["test_cart.py::test_fee"],
}
FAILED = {
    "report": {"outcome": "failed", "passed": 1, "failed": 1, "failures": [{"id": "test_cart.py::test_fee"}]}
}
PASSED = {"report": {"outcome": "passed", "passed": 2, "failed": 0, "failures": []}}


def specs(tools: Sequence[Tool] = TOOLS) -> list[ToolSpec]:
    return [ToolSpec(name=t.name, description=t.description, parameters=t.parameters) for t in tools]


def ask(messages: Sequence[Message], tools: Sequence[ToolSpec] | None = None) -> Reply:
    return answer_request(Request(system="", messages=messages, tools=specs() if tools is None else tools))


def only(reply: Reply) -> Action:
    """The action of a reply, beside which the plan may be brought up to date."""
    (action,) = reply.actions[-1:]
    assert [each.tool for each in reply.actions[:-1]] in ([], ["plan"])
    return action


def after(
    *results: tuple[str, dict[str, Any], bool], tools: Sequence[ToolSpec] | None = None
) -> list[Message]:
    """The messages when the model's calls so far came out like this; each call must be of the named tool."""
    messages: list[Message] = [UserMessage(text="make the failing tests pass")]
    for tool, data, failed in results:
        reply = ask(messages, tools)
        assert only(reply).tool == tool
        messages.append(AssistantMessage(text=reply.text, actions=reply.actions))
        messages.append(ToolMessage(call=only(reply).id, name=tool, text=tool, data=data, failed=failed))
    return messages


PLANNED: tuple[str, dict[str, Any], bool] = ("plan", {}, False)
RAN_RED: tuple[str, dict[str, Any], bool] = ("run_tests", FAILED, False)
RAN_GREEN: tuple[str, dict[str, Any], bool] = ("run_tests", PASSED, False)
FOUND: tuple[str, dict[str, Any], bool] = ("repair", {"repair": {"outcome": "fixed", "fixes": [FIX]}}, False)
EDITED: tuple[str, dict[str, Any], bool] = ("edit", {}, False)


@pytest.mark.slow
def test_it_fixes_a_project_with_the_ordinary_tools(tmp_path: Path) -> None:
    at = workspace(
        tmp_path,
        {
            "cart.py": "def total(prices):\n    result = 0\n    for price in prices[1:]:\n"
            "        result += price\n    return result\n",
            "test_cart.py": "from cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n\n\n"
            "def test_one():\n    assert total([5]) == 5\n\n\ndef test_empty():\n    assert total([]) == 0\n",
        },
    )
    calls, end = asyncio.run(drive(at, "please fix the failing tests"))
    assert [call.tool for call in calls] == ["plan", "run_tests", "repair", "edit", "run_tests", "finish"]
    assert end.data["status"] == "done"
    assert "cart.py:3" in end.text
    assert "prices[1:]" not in (at.root / "cart.py").read_text("utf-8")


@pytest.mark.slow
def test_where_all_tests_pass_it_says_what_the_words_of_a_described_bug_speak_of(tmp_path: Path) -> None:
    at = workspace(
        tmp_path,
        {
            "cart.py": "def total(prices):\n    return sum(prices[1:])\n",
            "mail.py": "def send_receipt(address):\n    return address\n",
            "test_cart.py": "from cart import total\n\n\ndef test_total():\n    assert total([]) == 0\n",
        },
    )
    told = "there is a bug: the receipt that we send goes to the wrong address"
    calls, end = asyncio.run(drive(at, told, (*TOOLS, code)))
    assert [call.tool for call in calls] == ["plan", "run_tests", "code", "finish"]
    assert end.data["status"] == "nothing to do"
    assert "mail.py:1: send_receipt" in end.text
    calls, _ = asyncio.run(drive(at, "fix the bug", (*TOOLS, code)))
    assert [call.tool for call in calls] == ["plan", "run_tests", "finish"], "it describes nothing"


@pytest.mark.slow
def test_what_a_described_bug_speaks_of_is_suspected_first(tmp_path: Path) -> None:
    """The failing test runs both functions alike, and no change mends it, so that the suspects are told."""
    at = workspace(
        tmp_path,
        {
            "weights.py": "def weigh(order):\n    return order\n",
            "letters.py": "def postage(order):\n    return order\n",
            "test_shop.py": "from letters import postage\nfrom weights import weigh\n\n\ndef test_it():\n"
            "    assert [(weigh(n), postage(n)) for n in (1, 2)] == ['a', 'b']\n",
        },
    )
    for said, first, second in (
        ("fix the bug: what it costs to send a letter, the postage, is wrong", "letters.py:2", "weights.py:2"),
        ("fix the bug: the scales weigh every heavy parcel wrong, as a customer says", "weights.py:2", "letters.py:2"),
    ):  # fmt: skip
        calls, end = asyncio.run(drive(at, said, (*TOOLS, code)))
        assert calls[2].arguments["hint"] == said
        assert 0 < end.text.index(first) < end.text.index(second)


async def drive(
    at: Workspace, prompt: str, offered: Sequence[Tool] = TOOLS
) -> tuple[list[Action], Observation]:
    """The loop at its smallest: ask, do, answer."""
    tools = {tool.name: tool for tool in offered}
    messages: list[Message] = [UserMessage(text=prompt)]
    calls: list[Action] = []
    while True:
        *deltas, reply = [
            d
            async for d in OfflineModel().stream(Request(system="", messages=messages, tools=specs(offered)))
        ]
        assert isinstance(reply, Reply)
        assert "".join(d.text for d in deltas if isinstance(d, TextDelta)) == reply.text
        action = only(reply)
        calls.append(action)
        messages.append(AssistantMessage(text=reply.text, actions=reply.actions))
        tool = tools[action.tool]
        try:
            seen = await tool.run(**tool.validate(action.arguments), at=at)
        except ToolFailure as failure:
            seen = Observation(text=str(failure), data=failure.data, failed=True)
        if tool.ends:
            return calls, seen
        messages.append(
            ToolMessage(call=action.id, name=tool.name, text=seen.text, failed=seen.failed, data=seen.data)
        )


def test_the_same_messages_get_the_same_reply() -> None:
    messages = after(PLANNED, RAN_RED, FOUND)
    assert ask(messages) == ask(list(messages))
    assert only(ask(messages)).arguments == {"path": "cart.py", "old": FIX["old"], "new": FIX["new"]}


def test_failing_tests_are_named_to_the_search() -> None:
    assert only(ask(after(PLANNED, RAN_RED))).arguments == {"targets": ["test_cart.py::test_fee"]}, "no hint"


def test_what_the_harness_adds_at_the_end_is_no_description_of_a_bug() -> None:
    state = StateMessage(
        text="[state of the work]\nplan: run the tests to see what fails, then locate the faults"
    )
    asked = only(ask([*after(PLANNED, RAN_RED), state]))
    assert (asked.tool, asked.arguments) == ("repair", {"targets": ["test_cart.py::test_fee"]})


def test_passing_tests_leave_nothing_to_do() -> None:
    action = only(ask(after(PLANNED, RAN_GREEN)))
    assert (action.tool, action.arguments["status"]) == ("finish", "nothing to do")
    assert "write one that fails because of it" in action.arguments["summary"], "how to go on"


def test_it_commits_only_when_all_tests_pass() -> None:
    offered = [*specs(), COMMIT]
    green = after(PLANNED, RAN_RED, FOUND, EDITED, RAN_GREEN, tools=offered)
    commit = only(ask(green, offered))
    assert commit.tool == "git_commit"
    assert commit.arguments["message"].startswith("Fix fee\n\n- cart.py: `1` should be `2`")
    red = after(PLANNED, RAN_RED, FOUND, EDITED, RAN_RED, tools=offered)
    ended = only(ask(red, offered))
    assert (ended.tool, ended.arguments["status"]) == ("finish", "not achieved")
    assert "test_cart.py::test_fee" in ended.arguments["summary"]


OTHER = {**FIX, "why": "`fee` should be `rate` in fee, line 2", "confidence": 0.2}
DOUBTED = {"repair": {"fixes": [{**FIX, "confidence": 0.3}], "alternatives": [[OTHER]]}}


def test_what_may_only_fit_the_tests_is_proposed_beside_others_and_not_written() -> None:
    offered = [*specs(), COMMIT]
    ended = only(ask(after(PLANNED, RAN_RED, ("repair", DOUBTED, False), tools=offered), offered))
    assert ended.tool == "propose"
    said = ended.arguments["summary"]
    assert "changed nothing" in said
    assert (
        "cart.py:2: `1` should be `2` in fee, line 2 (confidence 0.30)\n\n```diff\n-    return 1\n+    return 2\n```"
        in said
    )
    assert "`fee` should be `rate`" not in said, "it is counted, and seen on request"
    assert "1 more change passes the same tests" in said
    assert "--apply" in said


def test_sure_changes_before_a_doubtful_one_are_written() -> None:
    both = {"repair": {"fixes": [FIX, {**FIX, "path": "order.py", "confidence": 0.3}]}}
    red = after(PLANNED, RAN_RED, ("repair", both, False), EDITED, RAN_RED)
    ended = only(ask(red))
    assert ended.tool == "propose"
    assert "I found 1 more change" in ended.arguments["summary"]
    assert "order.py:2" in ended.arguments["summary"]


def test_of_an_accepted_proposal_only_what_was_not_written_is_written() -> None:
    doubtful = {**FIX, "path": "order.py", "confidence": 0.3}
    both = {"repair": {"fixes": [FIX, doubtful]}}
    messages = after(PLANNED, RAN_RED, ("repair", both, False), EDITED, RAN_RED)
    last = ask(messages)
    messages += [
        AssistantMessage(text=last.text, actions=last.actions),
        ToolMessage(call=only(last).id, name="propose", text=""),
        UserMessage(text="apply it"),
    ]
    for tool, data in (("plan", {}), ("run_tests", FAILED)):
        reply = ask(messages)
        messages += [
            AssistantMessage(text=reply.text, actions=reply.actions),
            ToolMessage(call=only(reply).id, name=tool, text=tool, data=data),
        ]
    written = only(ask(messages))
    assert (written.tool, written.arguments["path"]) == ("edit", "order.py")


def test_a_doubtful_change_is_written_when_that_is_asked_for() -> None:
    messages = after(PLANNED, RAN_RED, ("repair", DOUBTED, False))
    request = Request(system="", messages=messages, tools=specs())
    assert only(answer_request(request, apply_doubtful=True)).tool == "edit"


def test_a_proposal_can_be_accepted_right_after_it_and_not_later() -> None:
    messages = after(PLANNED, RAN_RED, ("repair", DOUBTED, False))
    last = ask(messages)
    messages += [
        AssistantMessage(text=last.text, actions=last.actions),
        ToolMessage(call=only(last).id, name="propose", text=""),
    ]
    said = [UserMessage(text="yes, and what else?"), UserMessage(text="apply it")]
    assert ask([*messages, UserMessage(text="fix the tests again")]).actions[0].tool == "plan"
    with pytest.raises(UserError):
        ask([*messages, said[0]])
    accepted = [*messages, said[1]]
    for tool, data in (("plan", {}), ("run_tests", FAILED), ("edit", {}), ("run_tests", PASSED)):
        reply = ask(accepted)
        assert only(reply).tool == tool
        accepted += [
            AssistantMessage(text=reply.text, actions=reply.actions),
            ToolMessage(call=only(reply).id, name=tool, text=tool, data=data),
        ]
    assert only(ask(accepted)).tool == "finish"
    with pytest.raises(UserError):
        ask([*accepted, AssistantMessage(text="done"), said[1]])


def test_changes_that_break_another_test_are_taken_back() -> None:
    worse = {"report": {**FAILED["report"], "failures": [{"id": "test_cart.py::test_other"}]}}
    messages = after(PLANNED, RAN_RED, FOUND, EDITED, ("run_tests", worse, False))
    back = only(ask(messages))
    assert back.arguments == {"path": "cart.py", "old": FIX["new"], "new": FIX["old"]}
    done = after(PLANNED, RAN_RED, FOUND, EDITED, ("run_tests", worse, False), EDITED)
    ended = only(ask(done))
    assert ended.arguments["status"] == "not achieved"
    assert "test_other" in ended.arguments["summary"]
    assert "as they were" in ended.arguments["summary"]


def test_an_edit_that_fails_takes_the_earlier_ones_back() -> None:
    two = {"repair": {"outcome": "fixed", "fixes": [FIX, {**FIX, "path": "order.py"}]}}
    messages = after(PLANNED, RAN_RED, ("repair", two, False), EDITED, ("edit", {}, True))
    back = only(ask(messages))
    assert (back.tool, back.arguments["path"], back.arguments["old"]) == ("edit", "cart.py", FIX["new"])
    done = after(PLANNED, RAN_RED, ("repair", two, False), EDITED, ("edit", {}, True), EDITED)
    assert only(ask(done)).arguments["status"] == "not achieved"


def test_taking_back_is_not_mistaken_for_a_change_that_was_left() -> None:
    """The second of three edits fails: one is taken back, and that is all."""
    three = {
        "repair": {"outcome": "fixed", "fixes": [{**FIX, "path": name} for name in ("a.py", "b.py", "c.py")]}
    }
    steps = [PLANNED, RAN_RED, ("repair", three, False), EDITED, ("edit", {}, True)]
    back = only(ask(after(*steps)))
    assert (back.arguments["path"], back.arguments["old"]) == ("a.py", FIX["new"])
    ended = only(ask(after(*steps, EDITED)))
    assert ended.tool == "finish"
    assert "as they were" in ended.arguments["summary"]


def test_what_was_not_found_is_said_with_the_tools_own_words() -> None:
    nothing = ("repair", {"repair": {"outcome": "not-found", "fixes": []}}, True)
    ended = only(ask(after(PLANNED, RAN_RED, nothing)))
    assert ended.arguments["status"] == "not achieved"
    assert "did not find a fix" in ended.arguments["summary"]


def test_failures_that_only_the_users_own_command_shows_are_told_as_such() -> None:
    nothing = ("repair", {"repair": {"outcome": "all-pass", "fixes": []}}, True)
    ended = only(ask(after(PLANNED, RAN_RED, nothing)))
    assert ended.arguments["status"] == "not achieved"
    assert "without the variables and options of a command that you named" in ended.arguments["summary"]


def test_a_missing_tool_is_not_called_done() -> None:
    without = [spec for spec in specs() if spec.name != "repair"]
    ended = only(ask(after(PLANNED, RAN_RED, tools=without), without))
    assert (ended.tool, ended.arguments["status"]) == ("finish", "not achieved")
    assert "'repair'" in ended.arguments["summary"]


def test_a_session_that_may_only_read_is_shown_the_changes() -> None:
    without = [spec for spec in specs() if spec.name != "edit"]
    ended = only(ask(after(PLANNED, RAN_RED, FOUND, tools=without), without))
    assert (ended.tool, ended.arguments["status"]) == ("finish", "not achieved")
    said = ended.arguments["summary"]
    assert "may only read" in said
    assert "cart.py:2: `1` should be `2` in fee, line 2\n\n```diff\n-    return 1\n+    return 2\n```" in said
    assert "'edit'" not in said


@pytest.mark.parametrize("prompt", ["add a dark mode", "the tests fail"])
def test_what_it_cannot_do_it_says_with_how_to_set_up_a_model(prompt: str) -> None:
    with pytest.raises(UserError, match="needs a model") as raised:
        ask([UserMessage(text=prompt)])
    assert raised.value.fault is Fault.CONFIGURATION
    for words in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "--api-base", "--model"):
        assert words in raised.value.hint


def test_a_second_prompt_begins_anew() -> None:
    messages = after(PLANNED, RAN_GREEN)
    last = ask(messages)
    messages += [
        AssistantMessage(text=last.text, actions=last.actions),
        ToolMessage(call=only(last).id, name="finish", text=""),
        UserMessage(text="fix the tests again"),
    ]
    assert only(ask(messages)).tool == "plan"


def test_a_steering_text_does_not_restart_the_work() -> None:
    messages = [*after(PLANNED, RAN_RED), UserMessage(text="hurry up")]
    assert only(ask(messages)).tool == "repair"


def test_commit_subjects_stay_short() -> None:
    many = [
        {**FIX, "function": f"a_function_with_a_rather_long_name_{n}", "path": f"f{n}.py"} for n in range(9)
    ]
    subject = write_commit_message(many).split("\n")[0]
    assert subject == "Fix 9 bugs in f0.py, f1.py, f2.py and 6 more"
    assert len(subject) <= 72
