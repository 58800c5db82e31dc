"""Pickers and the clipboard on a real terminal: models, themes, background commands, copies, pasted images."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from agent.events import End, MessageEvent, Prompt, SessionStart
from agent.session.log import Session
from cli.tui.commands.screen.copy_command import build_copy_sequence
from tests.support import cli
from tests.support.cli import call
from tests.support.golden import compare
from tests.support.talking import ask, at_rest, cleared, leave, logs, talk
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

ANSWER = """\
Two ways:

```python
total = sum(prices)
```

or, with a hidden \u202e character:

```sh
make total
```
"""


class Ollama(BaseHTTPRequestHandler):
    """A server with one model whose window it tells."""

    def do_GET(self) -> None:
        self._answer({"data": [{"id": "tiny:1b", "owned_by": "library"}]})

    def do_POST(self) -> None:
        self._answer({"parameters": "num_ctx 8192"})

    def _answer(self, content: object) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Tests print nothing."""


@pytest.fixture
def ollama() -> Iterator[str]:
    """The address of a server on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Ollama)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def put_program(folder: Path, name: str, script: str) -> str:
    """Install a program of the desktop; returns a PATH that begins with its folder."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


@pytest.mark.parametrize(("columns", "rows"), [(50, 20), (80, 24), (160, 50)])
def test_a_model_is_chosen_from_those_that_can_be_used(
    columns: int, rows: int, shop: Path, ollama: str
) -> None:
    env = {"OLLAMA_HOST": ollama, "ANTHROPIC_API_KEY": "sk-ant-nothing"}
    with talk(shop, [{"text": "Ok."}], columns=columns, rows=rows, **env) as terminal:
        at_rest(terminal)
        terminal.type("/model\r")
        terminal.wait("Which model? Now: scripted:")
        terminal.type("tiny")
        terminal.wait("› ollama/tiny:1b")
        if columns > 50:
            assert "8.2k window" in terminal.text
            assert "server on port" in terminal.text
        terminal.type("\x15claude-sonnet-5")
        terminal.wait("› anthropic/claude-sonnet-5")
        terminal.wait("$2 in, $10 out     key in ANTHROPIC_API_KEY" if columns > 100 else "5 of 2")
        assert "sk-ant" not in terminal.everything
        assert max(map(len, terminal.text.split("\n"))) <= columns
        terminal.type("\x15tiny\r")
        terminal.wait("model: ollama/tiny:1b")
        at_rest(terminal)
        terminal.type("/model\r")
        terminal.wait("› ollama/tiny:1b")  # what is in use is selected at first
        cleared(terminal, "\x1b")
        leave(terminal)
    assert not list(Home.from_environment().config.glob("*"))  # nothing is stored


@pytest.mark.parametrize("columns", [40, 80])
def test_what_a_row_has_no_room_for_is_read_below_it(shop: Path, columns: int) -> None:
    prompt = "mend the total of the cart so that " + " and ".join(f"price{number}" for number in range(8))
    with talk(shop, [{"text": "First."}], columns=columns, rows=30) as terminal:
        at_rest(terminal)
        ask(terminal, prompt, "First.")
        terminal.type("\x1b\x1b")
        terminal.wait("1 of 1")
        shown = terminal.text.rpartition("Go back to before which prompt?")[2]
        assert prompt in " ".join(shown.replace("│", " ").split())
        terminal.type("\x1b")
        at_rest(terminal)
        leave(terminal)


def test_one_without_any_model_can_choose_one(shop: Path, ollama: str) -> None:
    env = cli.environment({"OLLAMA_HOST": ollama})
    with Terminal([*cli.PATCHWRIGHT, "--model", "offline"], cwd=shop, env=env) as terminal:
        at_rest(terminal)
        terminal.type("/model\r")
        terminal.wait("› offline")
        terminal.wait("ollama/tiny:1b")
        terminal.type("tiny\r")
        terminal.wait("model: ollama/tiny:1b")
        at_rest(terminal)
        leave(terminal)


def test_a_background_command_is_listed_and_stopped(shop: Path) -> None:
    turns = [
        {"calls": [call("process", action="start", command="sleep 600")]},
        {"text": "It runs."},
    ]
    with talk(shop, turns) as terminal:
        at_rest(terminal)
        ask(terminal, "/processes", "no command runs in the background")
        ask(terminal, "start it", "It runs.")
        terminal.type("/processes\r")
        terminal.wait("› p1  sleep 600")
        terminal.wait("running")
        terminal.type("\r")
        terminal.wait("let it run")
        terminal.type("stop\r")
        terminal.wait("stopped p1: sleep 600")
        at_rest(terminal)
        ask(terminal, "/processes stop p1", "p1 does not run: ended: the user stopped it")
        ask(terminal, "/processes stop p2", "there is no background command 'p2'")
        leave(terminal)


def test_an_answer_and_its_code_are_copied(shop: Path) -> None:
    with talk(shop, [{"text": ANSWER}]) as terminal:
        at_rest(terminal)
        ask(terminal, "/copy", "there is no answer yet")
        ask(terminal, "how?", "make total")
        for command, copied in (
            ("/copy", ANSWER.strip().replace("\u202e", "<U+202E>")),
            ("/copy code", "make total"),
            ("/copy 2", "total = sum(prices)"),
        ):
            ask(terminal, command, "copied the ")
            sent = re.findall(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07", terminal.raw)
            assert base64.b64decode(sent[-1]).decode() == copied
        ask(terminal, "/copy 3", "there are 2 code blocks")
        ask(terminal, "/copy none", "/copy does not know 'none'")
        leave(terminal)


def test_tabs_of_code_reach_the_terminal_as_tabs(shop: Path) -> None:
    """Terminals that keep them copy them; the columns are the same as while it streams."""
    with talk(shop, [{"text": "So:\n\n```make\ntotal: cart.py\n\tpytest -q\n```\n\nDone so."}]) as terminal:
        at_rest(terminal)
        ask(terminal, "how?", "Done so.")
        assert "\n        pytest -q\n" in terminal.everything
        printed = re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", terminal.raw)
        assert b"\tpytest -q\r" in printed
        leave(terminal)


def test_what_is_too_long_for_a_terminal_is_told(shop: Path) -> None:
    session = Session.create(Home.from_environment().get_project_folder(shop.resolve()) / "sessions")
    session.append(
        SessionStart(session=session.id, project=str(shop), model="scripted", mode="workspace", version="0")
    )
    session.append(Prompt(text="all of it"))
    session.append(MessageEvent(text="\n".join(["x" * 99] * 800)))
    session.append(End(outcome="done", steps=1))
    session.close()
    argv = [*cli.PATCHWRIGHT, "resume", session.id, "--model", "offline"]
    with Terminal(argv, cwd=shop, env=cli.environment()) as terminal:
        at_rest(terminal)
        ask(terminal, "/copy", "79,999 bytes are too much for a terminal's clipboard")
        leave(terminal)


def test_in_tmux_the_sequence_reaches_both_terminals() -> None:
    sent = build_copy_sequence("é", {"TMUX": "/tmp/tmux-0/default,1,0"})
    inner = f"\x1b]52;c;{base64.b64encode('é'.encode()).decode()}\x07"
    assert sent == inner + "\x1bPtmux;\x1b" + inner + "\x1b\\"
    assert build_copy_sequence("é", {}) == inner


def test_a_terminal_without_a_clipboard_leaves_it_to_the_desktop(shop: Path, tmp_path: Path) -> None:
    path = put_program(tmp_path / "bin", "wl-copy", f"cat > {tmp_path}/copied")
    planted = shop / "bin"
    put_program(planted, "wl-copy", f"touch {tmp_path}/planted")
    env = {"PATH": f"{planted}:{path}", "WAYLAND_DISPLAY": "wayland-0", "VTE_VERSION": "7600"}
    with talk(shop, [{"text": "All right."}], **env) as terminal:
        at_rest(terminal)
        ask(terminal, "go", "All right.")
        ask(terminal, "/copy", "copied the answer: 1 line")
        leave(terminal)
    assert (tmp_path / "copied").read_text() == "All right."
    assert not (tmp_path / "planted").exists()


def test_an_image_of_the_clipboard_is_attached(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "image.png").write_bytes(PNG)
    path = put_program(tmp_path / "bin", "wl-paste", f"cat {tmp_path}/image.png")
    env = {"PATH": path, "WAYLAND_DISPLAY": "wayland-0"}
    with talk(shop, [{"text": "A picture."}], columns=160, **env) as terminal:
        at_rest(terminal)
        terminal.type("see \x16")
        terminal.wait(lambda: "paste-" in terminal.text)
        terminal.type("\r")
        terminal.wait("A picture.")
        at_rest(terminal)
        (tmp_path / "image.png").write_bytes(b"no image")
        terminal.type("\x16")
        terminal.wait("the clipboard holds no image")
        leave(terminal)
    [prompt] = [json.loads(line) for line in logs()[0].read_text().splitlines() if '"kind":"prompt"' in line]
    assert len(prompt["images"]) == 1


def test_without_a_program_one_line_says_which(shop: Path, tmp_path: Path) -> None:
    env = {"DISPLAY": ":7", "WAYLAND_DISPLAY": "", "PATH": f"{tmp_path}/none:/usr/sbin"}
    if shutil.which("xclip", path=env["PATH"]):
        pytest.skip("xclip is installed")
    with talk(shop, [], columns=160, **env) as terminal:
        at_rest(terminal)
        terminal.type("\x16")
        terminal.wait("images cannot be pasted: install xclip. Or name a file in the prompt: @shot.png")
        leave(terminal)


def test_a_folded_paste_is_seen_before_it_is_sent(shop: Path) -> None:
    with talk(shop, [{"text": "Read."}]) as terminal:
        at_rest(terminal)
        terminal.paste("\n".join(f"row {number}" for number in range(20)))
        terminal.wait("[pasted 20 lines]")
        terminal.type("\x18\x16")
        terminal.wait("row 19")
        terminal.type(" and more\r")
        terminal.wait("Read.")
        at_rest(terminal)
        leave(terminal)
    assert '"row 18\\nrow 19 and more' in logs()[0].read_text().replace("row 17\\n", '"')


COLOURS = {"dark": b"\x1b[95mreturn", "light": b"\x1b[35mreturn", "mono": b"\x1b[1mreturn"}


@pytest.mark.parametrize(("columns", "rows"), [(50, 20), (80, 24), (160, 50)])
def test_a_theme_applies_to_what_is_drawn_next(columns: int, rows: int, shop: Path) -> None:
    config = Home.from_environment().config
    answer = {"text": "Ok.\n\n```python\nreturn None\n```\n"}
    with talk(shop, [answer] * 3, columns=columns, rows=rows) as terminal:
        at_rest(terminal)
        for theme, shown in COLOURS.items():
            ask(terminal, f"/theme {theme}", f"theme: {theme}, in this session")
            begin = len(terminal.raw)
            ask(terminal, "go", "return None")
            assert shown in terminal.raw[begin:]
            terminal.type("/theme\r")
            terminal.wait(f"› {theme}")
            terminal.wait("5 of 5")
            compare(format_cells(terminal, from_row="Which theme?"), f"theme-{theme}-{columns}x{rows}")
            cleared(terminal, "\x1b")
        assert not config.exists()
        ask(terminal, "/theme pink", "no theme 'pink'")
        ask(terminal, "/theme dark --save", "stored in")
        leave(terminal)
    assert 'theme = "dark"' in (config / "settings.toml").read_text()


def format_cells(terminal: Terminal, from_row: str) -> str:
    """The rows of the screen from one that begins with a text, each part with its colours and the like."""
    screen = terminal.screen
    rows = []
    for number in range(screen.lines):
        row = [screen.buffer[number][column] for column in range(screen.columns)]
        if rows or "".join(each.data for each in row).startswith(from_row):
            rows.append(
                "".join(_format_run(style, cells) for style, cells in groupby(row, _describe_style)).rstrip()
            )
    return "\n".join(rows).rstrip() + "\n"


def _describe_style(cell: Any) -> str:
    named = [cell.fg] if cell.fg != "default" else []
    return ",".join([*named, *(each for each in ("bold", "reverse") if getattr(cell, each))])


def _format_run(style: str, cells: Iterator[Any]) -> str:
    text = "".join(each.data for each in cells)
    return f"‹{style}›{text}‹›" if style and text.strip() else text
