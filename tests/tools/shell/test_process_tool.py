"""Commands that stay, in every sandbox that works here: talked to, reached, bounded, and never left over."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox.policy.shell import judge_command_line
from tests.sandbox.boxes import CONFINED, living, make
from tests.support.bench import workspace
from tools.core.action import Observation, ToolFailure
from tools.core.workspace import Workspace
from tools.shell import background_commands
from tools.shell.process_tool import _effect, process
from tools.shell.shell_tool import shell

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

EVERYWHERE = (*CONFINED, "unconfined")
PATIENCE = 40.0

Call = Callable[..., Awaitable[Observation]]


@pytest.fixture(params=EVERYWHERE)
def at(request: pytest.FixtureRequest, tmp_path: Path) -> Workspace:
    return placed(tmp_path, request.param)


def placed(tmp_path: Path, name: str) -> Workspace:
    root = tmp_path / "shop"
    root.mkdir()
    made = workspace(root, tmp_path / "own")
    made.sandbox = make(name, root, tmp_path / "own")
    return made


def told(at: Workspace, story: Callable[[Call], Awaitable[None]]) -> None:
    """Tell a story of calls in one event loop; at its end the session ends."""

    async def all_of_it() -> None:
        async def call(action: str, **arguments: Any) -> Observation:
            return await process.run(action=action, **arguments, at=at)

        try:
            await story(call)
        finally:
            await at.background.close()

    asyncio.run(all_of_it())


async def until(said: Observation, look: Callable[[], Awaitable[Observation]], word: str) -> str:
    """What was said and all further output, until a word is in it: it may come in several pieces."""
    heads = output = ""
    async with asyncio.timeout(PATIENCE):
        while True:
            head, _, piece = said.text.partition("\n")
            heads += f"{head}\n"
            output += piece.removeprefix("(no new output)")
            if word in heads or word in output:
                return heads + output
            said = await look()


def test_a_program_is_talked_to_over_pipes(at: Workspace) -> None:
    async def story(call: Call) -> None:
        first = await call("start", command="while read -r x; do echo got $x; done; echo over", wait=0)
        assert first.text.startswith("p1 (running)")
        said = await call("send", id="p1", input="one\n", wait=0)
        await until(said, lambda: call("output", id="p1"), "got one")
        assert "got one" not in (await call("output", id="p1", wait=0)).text, "told once"
        said = await call("send", id="p1", input="\x04", wait=0)
        assert "over" in await until(said, lambda: call("output", id="p1"), "exit 0")
        assert (await call("send", id="p1", input="two\n")).failed

    told(at, story)


WAITS = """\
import sys, time
print(sys.stdin.isatty(), sys.stdout.isatty(), flush=True)
try:
    time.sleep(600)
except KeyboardInterrupt:
    print("stopped by hand")
"""


@pytest.mark.parametrize("inherited", [signal.default_int_handler, signal.SIG_IGN], ids=["", "ignored"])
def test_a_program_with_a_terminal_heeds_ctrl_c(
    at: Workspace, inherited: Callable[..., Any] | signal.Handlers, request: pytest.FixtureRequest
) -> None:
    before = signal.signal(signal.SIGINT, inherited)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))

    async def story(call: Call) -> None:
        (at.root / "wait.py").write_text(WAITS)
        said = await call("start", command=f"exec {sys.executable} wait.py", tty=True, wait=0)
        await until(said, lambda: call("output", id="p1"), "True True")
        said = await call("send", id="p1", input="\x03", wait=0)
        await until(said, lambda: call("output", id="p1"), "stopped by hand")

    told(at, story)


@pytest.mark.parametrize("name", ["bubblewrap", "bubblewrap-user", "unconfined"])
def test_a_server_is_waited_for_and_reached_by_other_commands(tmp_path: Path, name: str) -> None:
    at = placed(tmp_path, name)
    (at.root / "page").write_text("the page\n")
    (at.root / "serve.py").write_text(
        "import http.server as h, sys\ns = h.HTTPServer(('127.0.0.1', int(sys.argv[1])), h.SimpleHTTPRequestHandler)\n"
        "open('port', 'w').write(str(s.server_port))\ns.serve_forever()\n"
    )
    port = free_port() if name == "unconfined" else 8123
    fetch = f"import urllib.request as u; print(u.urlopen('http://127.0.0.1:{port}/page').read())"

    async def story(call: Call) -> None:
        started = await call("start", command=f"{sys.executable} serve.py {port}", port=port)
        assert f"running, port {port}" in started.text
        command = f'{sys.executable} -c "{fetch}"'
        assert "the page" in (await shell.run(command=command, at=at)).text
        second = await call("start", command=command, wait=PATIENCE)
        assert "the page" in await until(second, lambda: call("output", id="p2"), "exit 0")
        assert "p1 (running" in (await call("output")).text
        await call("stop", id="p1")
        assert (await shell.run(command=command, at=at)).failed

    told(at, story)


def free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def test_nothing_is_left_when_it_is_stopped_or_the_session_ends(at: Workspace, tmp_path: Path) -> None:
    word = f"3{os.getpid()}"
    line = f"sleep {word}.1 & setsid sleep {word}.2 & (sleep {word}.3 &) ; echo up; sleep {word}.4"

    async def story(call: Call) -> None:
        for name in ("p1", "p2"):
            said = await call("start", command=line, wait=0)
            await until(said, lambda name=name: call("output", id=name), "up")
        assert living(f"sleep\0{word}")
        stopped = await call("stop", id="p1")
        assert "ended: stopped" in stopped.text

    told(at, story)
    assert living(f"sleep\0{word}") == []


def test_it_cannot_write_where_no_command_can(tmp_path: Path) -> None:
    for name in CONFINED:
        at = placed(tmp_path / name, name) if (tmp_path / name).mkdir() is None else None
        assert at is not None
        outside = tmp_path / name / "outside"

        async def story(call: Call, outside: Path = outside) -> None:
            await call("start", command=f"touch {outside} inside; echo tried", wait=PATIENCE)

        told(at, story)
        assert not outside.exists()


def test_one_that_is_forgotten_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = placed(tmp_path, "unconfined")
    monkeypatch.setattr(background_commands, "IDLE", 0.05)

    async def story(call: Call) -> None:
        await call("start", command="sleep 600", wait=0)
        async with asyncio.timeout(PATIENCE):
            while at.background.running_commands:
                await asyncio.sleep(0.02)
        assert "nothing happened" in (await call("output")).text

    told(at, story)


def test_too_many_wrong_names_and_long_output_are_answered(tmp_path: Path) -> None:
    at = placed(tmp_path, "unconfined")

    async def story(call: Call) -> None:
        with pytest.raises(ToolFailure, match="no process 'p9'"):
            await call("output", id="p9")
        with pytest.raises(ToolFailure, match="the command is empty"):
            await call("start", command=" ")
        for _ in range(background_commands.MOST):
            await call("start", command="cat", wait=0)
        with pytest.raises(ToolFailure, match="stop one first"):
            await call("start", command="cat", wait=0)
        await call("stop", id="p1")
        long = await call("start", command="seq 1 40000; exit 3", wait=0)
        async with asyncio.timeout(PATIENCE):
            while (seq := at.background.get("p9")) is not None and seq.alive:
                await asyncio.sleep(0.02)
        text = await until(long, lambda: call("output", id="p9"), "exit 3")
        assert "cut" in text
        assert len(text) < 40_000

    told(at, story)


def test_what_is_started_and_sent_is_judged_like_a_command(tmp_path: Path) -> None:
    at = placed(tmp_path, "unconfined")
    assert _effect({"action": "start", "command": "rm -rf /"}, at).argv == ("bash", "-c", "rm -rf /")
    assert _effect({"action": "send", "input": "git push\n"}, at).argv == ("bash", "-c", "git push\n")
    assert _effect({"action": "output", "command": "x"}, at).kind == "none"
    assert _effect({"action": "stop"}, at).kind == "none"


@pytest.mark.parametrize(
    "pieces", [["rm -r", "f ~\n"], ["echo x\nrm ", "-rf ~\r"], ["rm -r", " \\\n", "-f ~\n"]]
)
def test_a_line_that_is_sent_in_pieces_is_judged_whole(tmp_path: Path, pieces: list[str]) -> None:
    at = placed(tmp_path, "unconfined")

    async def story(call: Call) -> None:
        await call("start", command="cat", wait=0)
        for piece in pieces[:-1]:
            await call("send", id="p1", input=piece, wait=0)
        line = _effect({"action": "send", "id": "p1", "input": pieces[-1]}, at).argv[2]
        found = judge_command_line(line, root=at.root)
        assert "destructive" in {effect.kind for segment in found.segments for effect in segment.effects}
        await call("send", id="p1", input=pieces[-1], wait=0)
        assert _effect({"action": "send", "id": "p1", "input": "ls\n"}, at).argv[2] == "ls\n"

    told(at, story)


def test_what_it_makes_under_a_guarded_name_is_moved_away(at: Workspace) -> None:
    async def story(call: Call) -> None:
        said = await call("start", command="echo export X=1 > .envrc; echo tried", wait=PATIENCE)
        await until(said, lambda: call("output", id="p1"), "ended: exit 0")
        assert not (at.root / ".envrc").exists()

    told(at, story)


def test_a_git_folder_that_it_makes_during_a_call_is_disabled(at: Workspace) -> None:
    async def story(call: Call) -> None:
        said = await call("start", command="git init -q src/evil; echo tried; sleep 600", wait=PATIENCE)
        assert "'src/evil/.git' became a git folder" in said.text
        assert not (at.root / "src" / "evil" / ".git" / "HEAD").exists()
        assert (at.root / "src" / "evil" / ".git" / "config").exists()
        said = await call("output", id="p1", wait=0)
        assert "git folder" not in said.text

    (at.root / "src").mkdir(exist_ok=True)
    told(at, story)


@pytest.mark.parametrize("name", ["bubblewrap", "unconfined"])
def test_what_it_makes_there_between_two_calls_is_told_at_the_next(tmp_path: Path, name: str) -> None:
    at = placed(tmp_path, name)
    made = at.root / ".envrc"

    async def story(call: Call) -> None:
        await call(
            "start", command="until test -e go; do sleep 0.05; done; echo 1 > .envrc; sleep 600", wait=0
        )
        (at.root / "go").touch()
        async with asyncio.timeout(PATIENCE):
            while not made.exists():
                await asyncio.sleep(0.02)
        with pytest.raises(ToolFailure):
            await call("output", id="p9")
        assert "'.envrc' was made since the last call" in (await call("output", id="p1", wait=0)).text
        assert made.exists(), "it may be the user's"
        assert ".envrc" not in (await call("output", id="p1", wait=0)).text, "told once"

    told(at, story)


def test_an_input_that_is_not_read_does_not_keep_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = placed(tmp_path, "unconfined")
    monkeypatch.setattr(background_commands, "SEND_SECONDS", 0.1)

    async def story(call: Call) -> None:
        await call("start", command="sleep 600", wait=0)
        said = await call("send", id="p1", input="x" * (4 << 20))
        assert said.failed
        assert said.text.startswith("p1 did not take all of the input: p1 (running)")

    told(at, story)
