"""Runs without a terminal: started, listed, asked, steered, looked at, stopped, killed and resumed."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from agent.events import End, MessageEvent, Steer
from agent.model.protocol import ReasoningDelta, TextDelta
from agent.session.log import read_events
from agent.session.session_pruning import is_open
from agent.turn.runtime import Runtime
from cli.detached.detached_run import DetachedRun
from cli.detached.mailbox import post_message, read_question, take_messages
from cli.detached.reply_stream import ReplyReader, ReplyWriter
from cli.detached.run_record import read_record
from tests.support.child_sessions import settings_for
from tests.support.cli import PATCHWRIGHT, call, environment, run, script
from tests.support.loopback import Loopback, Trouble
from tests.support.sessions import play_session
from tests.support.talking import logs, make_shop, wait_until
from tests.support.terminal import Terminal

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

HELD = "curl -s 127.0.0.1:1; while [ ! -e go ]; do sleep 0.05; done"
"""A command that runs until the test lets it end."""

OPEN = ("--sandbox", "unconfined", "--tests", "true")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make_shop(tmp_path / "shop")


def start(shop: Path, turns: list[dict[str, Any]], *options: str) -> Path:
    """Start a run; returns the folder of its session."""
    model = script(shop.parent, turns)
    env = {"PATCHWRIGHT_APPROVAL": "ask"}
    done = run("run", "mend it", "--background", "--model", model, *OPEN, *options, cwd=shop, env=env)
    assert (done.code, done.err) == (0, "")
    [log] = logs()
    assert done.out.strip() == log.parent.name
    return log.parent


def states(shop: Path, *options: str) -> list[tuple[str, str]]:
    listed = run("ps", "--json", *options, cwd=shop)
    return [(each["state"], each["question"]) for each in map(json.loads, listed.out.splitlines())]


def test_a_person_at_a_terminal_is_told_what_can_be_done_with_the_run(shop: Path) -> None:
    model = script(shop.parent, [{"text": "Done."}])
    argv = [*PATCHWRIGHT, "run", "look at it", "--background", "--model", model, *OPEN]
    with Terminal(argv, cwd=shop, env=environment(), columns=120) as terminal:
        assert terminal.wait_for_end() == 0
        said = terminal.everything
    assert said.splitlines()[0] == logs()[0].parent.name
    assert "patchwright attach" in said


def test_a_run_whose_session_was_deleted_ends(shop: Path) -> None:
    session = start(shop, [{"calls": [call("ask_user", question="Which one?")]}, {"text": "Done."}])
    wait_until(lambda: read_question(session) is not None)
    record = read_record(session)
    assert record is not None
    shutil.rmtree(session)
    wait_until(lambda: not is_alive(record.pid))


def is_alive(process: int) -> bool:
    try:
        return "(zombie)" not in Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return False


def test_the_only_run_of_a_project_needs_no_id(shop: Path) -> None:
    refused = run("logs", cwd=shop)
    assert (refused.code, "no run is at work in this project" in refused.err) == (2, True)
    session = start(shop, [{"calls": [call("ask_user", question="Which one?")]}, {"text": "Done."}])
    wait_until(lambda: read_question(session) is not None)
    assert "mend it" in run("logs", cwd=shop).out
    assert run("stop", cwd=shop.parent).code == 2
    assert run("stop", cwd=shop).code == 0
    assert not is_open(session)
    assert "mend it" in run("logs", cwd=shop).out
    assert run("wait", cwd=shop).code == 130
    assert run("stop", cwd=shop).code == 2


def test_of_several_runs_one_has_to_be_named(shop: Path) -> None:
    model = script(shop.parent, [{"calls": [call("ask_user", question="Which one?")]}, {"text": "Done."}])
    env = {"PATCHWRIGHT_APPROVAL": "ask"}
    for _ in range(2):
        assert run("run", "mend it", "--background", "--model", model, *OPEN, cwd=shop, env=env).code == 0
    wait_until(lambda: all(read_question(each.parent) is not None for each in logs()))
    refused = run("stop", cwd=shop)
    assert refused.code == 2
    assert all(each.parent.name in refused.err for each in logs())
    for each in logs():
        assert run("stop", each.parent.name, cwd=shop).code == 0


def test_a_question_waits_and_is_answered_by_command(shop: Path) -> None:
    turns = [
        {"calls": [call("ask_user", question="Which one?", options=["cart: the first", "order"])]},
        {"calls": [call("shell", command="curl -s example.org; touch asked")], "expect": ["order"]},
        {"text": "Done."},
    ]
    session = start(shop, turns)
    name = session.name
    wait_until(lambda: read_question(session) is not None)
    assert states(shop) == [("waiting", "Which one?")]
    assert "? Which one?" in run("ps", cwd=shop).out
    assert "? Which one?" in run("ps", "--all", cwd=shop.parent).out
    shown = run("answer", name, cwd=shop)
    assert shown.out.splitlines() == ["Which one?", "1. cart (the first)", "2. order"]
    assert run("answer", name, "2", cwd=shop).code == 0
    wait_until(lambda: (question := read_question(session)) is not None and question.kind == "approval")
    assert states(shop)[0][1].startswith("Allow shell? curl")
    assert "n = No" in run("answer", name[-4:], cwd=shop).out
    assert run("answer", name, "not now", cwd=shop).code == 0
    ended = run("wait", name, cwd=shop)
    assert (ended.code, is_open(session)) == (5, False)
    assert not (shop / "asked").exists()
    assert states(shop) == []
    assert states(shop, "--ended") == [("ended", "")]
    told = run("logs", name, cwd=shop).out
    assert "> mend it" in told
    assert "the user refused it and says: not now" in told
    refused = run("answer", name, "y", cwd=shop)
    assert (refused.code, "waits with no question" in refused.err) == (2, True)


def test_a_terminal_is_attached_steers_answers_and_leaves(shop: Path) -> None:
    turns = [
        {"calls": [call("shell", command=HELD)]},
        {"calls": [call("read", path="cart.py")], "expect": ["mind the order"]},
        {"calls": [call("ask_user", question="Is it enough?")]},
        {"text": "It adds up.", "expect": ["quite enough"]},
    ]
    session = start(shop, turns)
    argv = [*PATCHWRIGHT, "attach", session.name]
    wait_until(lambda: read_question(session) is not None)
    with Terminal(argv, cwd=shop, env=environment(), columns=100) as terminal:
        terminal.wait("Allow shell?")
        terminal.type("y")
        terminal.wait(lambda: "Allow shell?" not in terminal.text and read_question(session) is None)
        terminal.type("mind the order\r")
        terminal.wait("queued: mind the order")
        terminal.type("\x04")
        assert terminal.wait_for_end() == 0
    assert is_open(session)
    wait_until(lambda: not os.listdir(session / "mailbox"))  # the run has it: it looks four times a second
    (shop / "go").touch()
    wait_until(lambda: (asked := read_question(session)) is not None and asked.title == "Is it enough?")
    assert any(isinstance(event, Steer) and event.by == "person" for event in read_events(session))
    with Terminal(argv, cwd=shop, env=environment(), columns=100) as terminal:
        terminal.wait("Is it enough?")
        terminal.wait(lambda: "Type the answer" in terminal.text)
        terminal.type("quite enough\r")
        terminal.wait("Allow run_tests?")
        terminal.type("y")
        assert terminal.wait_for_end() == 0
        assert "It adds up." in terminal.everything
        assert f"patchwright resume {session.name}" in terminal.everything
    over = run("attach", session.name, cwd=shop)
    assert (over.code, "does not run" in over.err) == (2, True)


def test_an_attached_terminal_shows_an_answer_while_it_is_written(shop: Path) -> None:
    with Loopback([{"text": "One two three."}], troubles=[Trouble(idle=120, at=3)]) as server:
        model = ("--model", "openai/some", "--api-base", server.url)
        env = {"PATCHWRIGHT_APPROVAL": "ask", "OPENAI_API_KEY": "sk-of-a-test"}
        done = run("run", "count", "--background", *model, *OPEN, cwd=shop, env=env)
        assert (done.code, done.err) == (0, "")
        [log] = logs()
        with Terminal([*PATCHWRIGHT, "attach", log.parent.name], cwd=shop, env=environment()) as terminal:
            terminal.wait("One")
            assert "three" not in terminal.everything
            assert not any(isinstance(event, MessageEvent) for event in read_events(log.parent))
            terminal.type("\x03")
            terminal.wait("Stopping this step")
            terminal.type("\x03")
            assert terminal.wait_for_end() == 130


def test_deltas_are_read_in_the_order_of_the_messages_and_completed_from_the_log(tmp_path: Path) -> None:
    writer = ReplyWriter(tmp_path)
    first, second = MessageEvent(id="e2", text="One two three."), MessageEvent(id="e5", text="Four five.")
    with ReplyReader(tmp_path) as reader:
        assert list(reader.read_deltas()) == []
        writer.handle_delta(ReasoningDelta(text="hm"))
        writer.handle_delta(TextDelta(text="One "))
        assert list(reader.read_deltas()) == [ReasoningDelta(text="hm"), TextDelta(text="One ")]
        writer.handle_delta(TextDelta(text="two "))
        writer.handle_event(first)  # gone before the reader looked again
        writer.handle_delta(TextDelta(text="Four "))
        assert list(reader.read_deltas()) == [TextDelta(text="two ")]  # not of the next one
        assert list(reader.complete_reply(first)) == [TextDelta(text="three.")]
        assert list(reader.read_deltas()) == [TextDelta(text="Four ")]
        writer.handle_event(second)
        assert list(reader.complete_reply(second)) == [TextDelta(text="five.")]
        assert list(reader.read_deltas()) == []
        writer.handle_delta(TextDelta(text="Six "))
        assert list(reader.read_deltas()) == [TextDelta(text="Six ")]
        writer.handle_event(End(outcome="interrupted"))
        assert list(reader.complete_reply(End(outcome="interrupted"))) == []
        writer.handle_delta(TextDelta(text="Seven"))
        assert list(reader.read_deltas()) == [TextDelta(text="Seven")]
        writer.handle_event(MessageEvent(id="e9", text="Seven"))
    with ReplyReader(tmp_path) as late:  # no delta was seen: the whole message is in the log
        assert list(late.complete_reply(second)) == []
    assert not (tmp_path / "reply.jsonl").exists()


def test_a_line_that_a_full_disk_cut_short_costs_only_itself(tmp_path: Path) -> None:
    writer = ReplyWriter(tmp_path)
    with ReplyReader(tmp_path) as reader:
        writer.handle_delta(TextDelta(text="One "))
        with (tmp_path / "reply.jsonl").open("ab") as file:
            file.write(b'{"text": "two')  # without its end; the next line follows on it
        writer.handle_delta(TextDelta(text="three "))
        writer.handle_delta(TextDelta(text="four."))
        assert list(reader.read_deltas()) == [TextDelta(text="One "), TextDelta(text="four.")]
        assert list(reader.complete_reply(MessageEvent(id="e2", text="One two three four."))) == []


def test_the_rest_of_a_killed_run_is_not_shown(tmp_path: Path) -> None:
    ReplyWriter(tmp_path).handle_delta(TextDelta(text="of before"))
    ReplyWriter(tmp_path)
    with ReplyReader(tmp_path) as reader:
        assert list(reader.read_deltas()) == []


def test_a_killed_run_is_shown_as_died_and_resumed_in_the_background(shop: Path) -> None:
    turns = [{"calls": [call("read", path="cart.py")]}, {"text": "", "delay": 60}]
    session = start(shop, turns)
    wait_until(lambda: (session / "log.jsonl").read_text().count('"kind":"observation"') == 1)
    record = read_record(session)
    assert record is not None
    os.kill(record.pid, signal.SIGKILL)
    died = run("wait", session.name, cwd=shop)
    assert (died.code, "the run died" in died.err) == (130, True)
    assert states(shop) == [("died", "")]
    assert "died (resume)" in run("ps", cwd=shop).out
    model = script(shop.parent, [{"text": "Nothing to mend."}], "more.json")
    again = run("resume", session.name, "--background", "--model", model, "--tests", "true", cwd=shop)
    assert (again.code, again.out.strip()) == (0, session.name)
    followed = run("logs", "-f", session.name, cwd=shop)
    assert "Nothing to mend." in followed.out
    assert run("wait", session.name, cwd=shop).code == 0
    assert states(shop) == []


def test_a_run_is_stopped_with_a_complete_log(shop: Path) -> None:
    session = start(shop, [{"text": "", "delay": 60}])
    waited = run("wait", session.name, "--timeout", "0", cwd=shop)
    assert waited.code == 4
    assert run("stop", session.name, cwd=shop).code == 0
    assert run("wait", session.name, cwd=shop).code == 130
    [last] = [json.loads(line) for line in (session / "log.jsonl").read_text().splitlines()[-1:]]
    assert (last["kind"], last["outcome"]) == ("end", "interrupted")
    assert states(shop, "--ended") == [("ended", "")]
    assert run("stop", session.name, cwd=shop).code == 2


def test_what_cannot_start_says_why_here(shop: Path) -> None:
    failed = run("run", "mend it", "--background", "--model", "nowhere/x", cwd=shop)
    assert (failed.code, failed.out, "unknown model" in failed.err) == (6, "", True)
    missing = run("logs", "nothing", cwd=shop)
    assert (missing.code, "no session 'nothing'" in missing.err) == (2, True)


def test_piped_text_reaches_the_run(shop: Path) -> None:
    model = script(shop.parent, [{"text": "Read.", "expect": ["a piped line"]}])
    started = run("run", "read it", "--background", "--model", model, cwd=shop, stdin="a piped line\n")
    assert run("wait", started.out.strip(), cwd=shop).code in (0, 10)


def test_a_mailbox_keeps_the_order_and_drops_what_is_no_message(tmp_path: Path) -> None:
    assert take_messages(tmp_path) == []
    for number in range(3):
        post_message(tmp_path, {"kind": "steer", "text": str(number)})
    (tmp_path / "mailbox" / "0.json").write_text("{")
    assert [each["text"] for each in take_messages(tmp_path)] == ["0", "1", "2"]
    assert list((tmp_path / "mailbox").iterdir()) == []


def test_the_terminal_that_started_a_run_is_called_as_the_user_wants(tmp_path: Path) -> None:
    control, terminal = os.openpty()
    os.set_blocking(control, False)
    settings = settings_for(script(tmp_path, [{"text": "Done."}]))

    async def story(runtime: Runtime) -> list[bytes]:
        seen = []
        for notify in ("bell", "osc9", "off"):
            DetachedRun(runtime=runtime, terminal=os.ttyname(terminal), notify=notify).alert(
                "a question waits"
            )
            try:
                seen.append(os.read(control, 200))
            except BlockingIOError:
                seen.append(b"")
        DetachedRun(runtime=runtime, terminal=str(tmp_path / "gone"), notify="bell").alert("nobody")
        return seen

    bell, osc9, off = play_session(make_shop(tmp_path / "shop"), settings, story)
    assert bell == b"\a"
    assert osc9.startswith(b"\x1b]9;Patchwright 2")
    assert osc9.endswith(b": a question waits\a")
    assert off == b""
    os.close(control)
    os.close(terminal)
