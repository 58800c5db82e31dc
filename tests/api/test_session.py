"""Sessions of a program: real processes of the program, a scripted model, the interface's own callbacks."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import patchwright
from patchwright.api.events import Action, Delta, End, Event, Message, Observation
from tests.support.cli import PATCHWRIGHT, call, environment, git, script

pytestmark = pytest.mark.slow


@dataclass
class Risk:
    level: str
    files: list[str]


Play = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    git(root, "init", "-q")
    (root / "cart.py").write_text("x = 1\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "Start")
    return root


@asynccontextmanager
async def opened(shop: Path, turns: Sequence[Any], **options: Any) -> AsyncIterator[patchwright.Session]:
    model = script(shop.parent, turns)
    async with patchwright.session(shop, model=model, env=environment(), **options) as session:
        yield session


def test_functions_are_called_answers_have_a_shape_and_replies_come_in_pieces(shop: Path) -> None:
    seen: list[str] = []

    def look_up(word: str) -> dict[str, int]:
        """Look a word up."""
        seen.append(word)
        return {"pages": 3}

    async def fail(word: str) -> str:
        raise LookupError(word)

    turns = [
        {"calls": [call("look_up", word="cart"), call("fail", word="x"), call("look_up", wrong=1)]},
        {
            "text": '```json\n{"level": "low", "files": ["cart.py"]}\n```',
            "expect": ['{"pages": 3}', "LookupError: x", "nothing was done"],
        },
        {"text": "The second."},
    ]

    async def story() -> None:
        async with opened(shop, turns, tools=[look_up, fail], deltas=True) as session:
            assert session.id
            turn = await session.run("how risky?", schema=Risk)
            assert turn.is_done
            assert turn.answer == Risk("low", ["cart.py"])
            assert turn.steps == 2
            with pytest.raises(patchwright.PatchwrightError, match="not a JSON schema"):
                await session.run("x", schema={"type": "nonsense"})
            events: list[Event] = [each async for each in session.stream("and now?")]
            assert "".join(each.text for each in events if isinstance(each, Delta)) == "The second."
            [message] = [each for each in events if isinstance(each, Message)]
            assert message.text == "The second."
            assert isinstance(events[-1], End)

    asyncio.run(story())
    assert seen == ["cart"]


def test_the_program_decides_what_the_policy_asks_about(shop: Path) -> None:
    @patchwright.tool(asks=True)
    def post(text: str) -> str:
        return "posted"

    asked: list[patchwright.Question] = []

    async def approve(question: patchwright.Question) -> bool | str:
        asked.append(question)
        if question.tool == "post":
            return True
        if "two" in question.argv[-1]:
            return "two is too many"
        return 1 / 0 > 1

    turns = [
        {"calls": [call("post", text="hi"), call("shell", command="bash ./make one")]},
        {"calls": [call("shell", command="bash ./make two")], "expect": ["posted", "ZeroDivisionError"]},
        {"text": "Enough.", "expect": ["two is too many"]},
    ]
    (shop / "make").write_text('touch "$1"\n')

    async def story() -> None:
        options = {"tools": [post], "approve": approve, "arguments": ["--sandbox", "unconfined"]}
        async with opened(shop, turns, **options) as session:
            assert (await session.run("go")).summary == "Enough."

    asyncio.run(story())
    assert [each.tool for each in asked] == ["post", "shell", "shell"]
    assert sorted(each.name for each in shop.iterdir()) == [".git", "cart.py", "make"]


def test_without_approval_nothing_is_allowed_and_questions_of_the_model_are_answered(shop: Path) -> None:
    asked: list[patchwright.UserQuestion] = []

    def answer(question: patchwright.UserQuestion) -> str:
        asked.append(question)
        return "2"

    question = {"question": "Which?", "options": ["red: like blood", "blue"]}
    turns = [
        {"calls": [call("shell", command="bash ./make one"), call("ask_user", questions=[question])]},
        {"text": "Blue.", "expect": ["the program does not allow it", "blue"]},
    ]
    (shop / "make").write_text('touch "$1"\n')

    async def story() -> None:
        async with opened(shop, turns, answer=answer, arguments=["--sandbox", "unconfined"]) as session:
            assert (await session.run("go")).summary == "Blue."

    asyncio.run(story())
    assert [(each.text, list(each.options)) for each in asked] == [("Which?", ["red: like blood", "blue"])]
    assert not (shop / "one").exists()


def test_a_turn_is_left_stopped_steered_and_the_session_resumed(shop: Path) -> None:
    turns = [
        {"calls": [call("shell", command="sleep 300")]},
        {"calls": [call("shell", command="sleep 300")], "expect": ["begin anew"]},
        {"text": "Both were stopped.", "expect": ["hurry"]},
        {"text": "Resumed.", "expect": ["go on"]},
    ]

    async def story() -> None:
        async with opened(shop, turns) as session:
            async for event in session.stream("wait"):
                if isinstance(event, Action):
                    break  # nobody follows the turn any more
            with pytest.raises(patchwright.PatchwrightError, match="a turn is running"):
                await session.run("a second one")
            await session.stop()
            events = session.stream("begin anew")
            async for event in events:
                if isinstance(event, Action):
                    await session.steer("hurry")
                    await session.interrupt()
                if isinstance(event, End):
                    assert event.summary == "Both were stopped."
        async with opened(shop, turns[3:], resume=session.id) as resumed:
            assert resumed.id == session.id
            assert (await resumed.run("go on")).summary == "Resumed."

    asyncio.run(story())


def test_a_call_that_is_interrupted_is_cancelled_in_the_program(shop: Path) -> None:
    ended: list[str] = []
    begun = asyncio.Event()

    async def wait(seconds: int) -> str:
        begun.set()
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        return "slept"

    turns = [{"calls": [call("wait", seconds=300)]}, {"text": "So be it."}]

    async def story() -> None:
        async with opened(shop, turns, tools=[wait]) as session:
            async for event in session.stream("wait"):
                if isinstance(event, Action):
                    await begun.wait()
                    await session.interrupt()
                if isinstance(event, Observation):
                    assert event.failed
        assert ended == ["cancelled"]

    asyncio.run(story())


def test_what_goes_wrong_is_said_in_a_line_and_leaves_no_process(shop: Path) -> None:
    def read(path: str) -> str:
        return "mine"

    async def story() -> None:
        options: list[tuple[dict[str, Any], str]] = [
            ({"mode": "nonsense"}, "nonsense"),
            ({"resume": "20200101-000000-0000"}, "20200101-000000-0000"),
            ({"tools": [read]}, "a tool of this name already: read"),
        ]
        for wrong, said in options:
            with pytest.raises(patchwright.PatchwrightError, match=said) as found:
                async with opened(shop, [], **wrong):
                    raise AssertionError("it was opened")
            assert "Traceback" not in str(found.value)
        with pytest.raises(patchwright.PatchwrightError, match="No such file"):
            async with opened(shop / "nowhere", []):
                pass
        turns = [{"calls": [call("shell", command="sleep 300")]}]
        async with opened(shop, turns) as session:
            pid = session._process._process.pid
            with pytest.raises(patchwright.PatchwrightError, match="exit code -9"):
                await end_process(session, pid)
            with pytest.raises(patchwright.PatchwrightError):
                await session.run("still there?")
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)

    asyncio.run(story())


async def end_process(session: patchwright.Session, pid: int) -> None:
    async for event in session.stream("wait"):
        if isinstance(event, Action):
            os.kill(pid, signal.SIGKILL)


PROGRAM = """
import sys
before = [*sys.path]
import patchwright
import agent, cli, sandbox, tools
assert sys.path == before
assert (agent.NAME, cli.NAME, sandbox.NAME, tools.NAME) == ("agent", "cli", "sandbox", "tools")
import asyncio

async def main():
    async with patchwright.session("shop", model=sys.argv[1]) as session:
        print((await session.run("go")).summary)
    ours = [name for name in sys.modules if name.split(".")[0] in ("agent", "cli", "sandbox", "tools")]
    assert sorted(ours) == ["agent", "cli", "sandbox", "tools"], ours
    assert "pydantic" not in sys.modules

asyncio.run(main())
"""


def test_a_program_keeps_its_own_packages_of_our_names(shop: Path) -> None:
    beside = shop.parent
    for name in ("agent", "cli", "sandbox", "tools"):
        (beside / name).mkdir()
        (beside / name / "__init__.py").write_text(f"NAME = {name!r}\n")
    (beside / "program.py").write_text(PROGRAM)
    model = script(beside, [{"text": "Gone."}])
    env = {name: value for name, value in environment().items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "program.py", model],
        cwd=beside,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("Gone.\n", 0), done.stderr


LINES = ("--input", "stream-json", "--output", "stream-json")


def test_tools_that_are_none_are_refused_by_the_session(shop: Path) -> None:
    good = {"name": "a", "parameters": {"type": "object", "properties": {}}}
    wrong = [
        "tools",
        [1],
        [{**good, "name": "with space"}],
        [{**good, "parameters": {"type": "object"}}],
        [{**good, "parameters": {"type": "nonsense", "properties": {}}}],
        [{**good, "parameters": {"type": "object", "properties": {"a": {"$ref": "#/x"}}}}],
    ]
    lines = [{"kind": "configure", "tools": each} for each in wrong]
    lines += [
        {"kind": "tool-result", "id": "t1"},
        {"kind": "answer", "id": "u1"},
        {"kind": "configure", "tools": [good]},
    ]
    done = subprocess.run(
        [*PATCHWRIGHT, "run", "--model", script(shop.parent, []), "--no-commit", *LINES],
        input="".join(f"{json.dumps(each)}\n" for each in lines),
        cwd=shop, env=environment(), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    kinds = [json.loads(line)["kind"] for line in done.stdout.splitlines()]
    assert kinds.count("input-error") == len(lines) - 1
    assert kinds.count("configured") == 1
