"""The prompt comes first: what is typed while the session is still being opened, and what can happen meanwhile."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from agent.exit_codes import Exit
from tests.support import cli
from tests.support.repo import Repo
from tests.support.talking import SIZES, at_rest, leave, logs, long_session, prompts, talk
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow

OPENING = "opening …"


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """The model's script: until it is written, the session cannot be opened."""
    path = tmp_path / "turns.json"
    os.mkfifo(path)
    return path


@pytest.fixture
def terminal(shop: Path, pipe: Path, request: pytest.FixtureRequest) -> Iterator[Terminal]:
    """The program, at the prompt, with its session not open yet. Its parameter: columns and rows."""
    argv = [*cli.PATCHWRIGHT, "--model", f"scripted:{pipe}"]
    columns, rows = getattr(request, "param", (80, 24))
    with Terminal(argv, cwd=shop, env=cli.environment(), columns=columns, rows=rows) as terminal:
        terminal.wait(OPENING)
        yield terminal


def play(pipe: Path, *turns: Mapping[str, Any]) -> None:
    """Let the session be opened."""
    pipe.write_text(json.dumps({"turns": turns}))


@pytest.mark.parametrize("terminal", SIZES, indirect=True)
def test_what_is_said_early_is_delivered_in_its_order(terminal: Terminal, pipe: Path, shop: Path) -> None:
    terminal.type("/help undo\rfirst\r")
    terminal.wait("queued: first")
    play(pipe, {"text": "One."})
    terminal.wait("One.")
    at_rest(terminal)
    seen = terminal.everything
    assert seen.index("❯ /help undo") < seen.index("❯ first") < seen.index("One.")
    assert OPENING not in terminal.text
    assert prompts(shop) == ["first"]
    leave(terminal)


def test_it_can_be_taken_back_and_edited(terminal: Terminal, pipe: Path, shop: Path) -> None:
    terminal.type("frist\r")
    terminal.wait("queued: frist")
    terminal.type("\x1b[A")
    terminal.wait("❯ frist")
    terminal.type("\x15first")
    play(pipe, {"text": "One."})
    at_rest_with(terminal, "❯ first")
    terminal.type("\r")
    terminal.wait("One.")
    assert prompts(shop) == ["first"]


def test_keys_that_need_a_session_do_no_harm(terminal: Terminal, pipe: Path) -> None:
    terminal.type("\x0f\x1b[Z/re")
    terminal.wait("❯ /re")
    terminal.type("\x15")
    play(pipe, {"text": "One."})
    at_rest(terminal)
    leave(terminal)


@pytest.mark.parametrize("key", ["\x1b", "\x03"])
def test_the_opening_of_a_long_session_is_stopped_and_begun_anew(key: str, shop: Path, pipe: Path) -> None:
    """Nothing that was typed is lost, and the session is read no further until something is sent."""
    name = long_session(shop, 2_000)
    argv = [*cli.PATCHWRIGHT, "resume", name, "--model", f"scripted:{pipe}"]
    with Terminal(argv, cwd=shop, env=cli.environment()) as terminal:
        terminal.wait(OPENING)
        terminal.type("sent\rtyped")
        terminal.wait("queued: sent")
        terminal.wait("❯ typed")
        terminal.type(key)
        terminal.wait("❯ sent\n  typed\n")
        held = pipe.rename(shop.parent / "held")
        play(pipe, {"text": "unused"})  # a file now, for those that come later
        with held.open("r+b", buffering=0) as waited_for:  # by the first one, if it had come so far
            waited_for.write(pipe.read_bytes())
        terminal.type(" again")
        terminal.wait(lambda: "typed again\n" in terminal.text and "\nnot open" in terminal.text)
        assert "queued" not in terminal.text
        terminal.type("\x03")  # there is nothing to stop: it clears the line
        terminal.wait(lambda: "❯ say what" in terminal.text and "\nnot open" in terminal.text)
        terminal.type("#late\r")
        terminal.wait("added to AGENTS.md: late")
        at_rest(terminal)
        assert "All of it is done." in terminal.everything
        leave(terminal)


@pytest.mark.parametrize("keys", ["\x04", "/quit\r", "\x03\x04"])
def test_one_can_leave_before_it_is_open(keys: str, terminal: Terminal) -> None:
    """What the opening waits for never comes."""
    terminal.type(keys)
    assert terminal.wait_for_end() == 0
    assert "go on later" not in terminal.everything


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_signal_meanwhile_ends_it_cleanly(terminal: Terminal, number: int) -> None:
    os.kill(terminal.pid, number)
    assert terminal.wait_for_end() == 0
    assert logs() == []


def test_what_keeps_it_from_opening_is_told_and_the_prompt_is_gone(terminal: Terminal, pipe: Path) -> None:
    pipe.write_text("{")
    assert terminal.wait_for_end() == Exit.CONFIGURATION
    assert "turns.json" in terminal.text
    assert OPENING not in terminal.text
    assert "Traceback" not in terminal.everything


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ('[terminal]\ntheme = "pink"\n', "terminal.theme"),
        ("[terminal]\nplain = 3\nkeys = 4\n", "terminal."),
        ("model = \n", "not valid TOML"),
        ('[terminal.keys]\nsend = ["wheel"]\n', "there is no key 'wheel'"),
    ],
)
def test_a_mistake_in_the_settings_is_told_as_ever(settings: str, said: str, shop: Path) -> None:
    config = Home.from_environment().config
    config.mkdir(parents=True)
    (config / "settings.toml").write_text(settings)
    argv = [*cli.PATCHWRIGHT, "--model", "offline"]
    with Terminal(argv, cwd=shop, env=cli.environment(), columns=160) as terminal:
        assert terminal.wait_for_end() == Exit.CONFIGURATION
        assert said in terminal.text
        assert "Traceback" not in terminal.everything


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_an_error_that_ends_it_is_broken_between_words(shop: Path, columns: int) -> None:
    argv = [*cli.PATCHWRIGHT, "--model", "openai/local", "--api-base", "localhost:99"]
    with Terminal(argv, cwd=shop, env=cli.environment(), columns=columns) as terminal:
        assert terminal.wait_for_end() == 6
        rows = terminal.everything.split("\n")
        told = " ".join(row.strip() for row in rows)
        assert "'localhost:99/chat/completions' does not say how to reach it" in told
        assert "Write http:// or https:// before it" in told


def test_nothing_of_the_session_is_imported_before_the_prompt_stands(shop: Path) -> None:
    argv = [
        sys.executable,
        "-X",
        "importtime",
        "-m",
        "patchwright",
        "--model",
        "openai/x",
        "--api-base",
        "http://127.0.0.1:9",
    ]
    with Terminal(argv, cwd=shop, env=cli.environment(), columns=160) as terminal:
        terminal.wait(lambda: OPENING.encode() in terminal.raw)
        before = terminal.raw.partition(OPENING.encode())[0].decode()
        terminal.wait(lambda: "⇧⇥".encode() in terminal.raw)
        after = terminal.raw.decode("utf-8", "replace")
    names = imported(before)
    assert "prompt_toolkit.application" in names
    heavy = {
        "agent.turn.runtime",
        "agent.turn.loop",
        "agent.events",
        "cli.invocation",
        "cli.tui.conversation.chat",
        "cli.settings.layers",
    }
    assert not heavy & names
    assert not {name.partition(".")[0] for name in names} & {
        "pydantic",
        "rich",
        "tools",
        "sqlite3",
        "tree_sitter",
    }
    assert heavy <= imported(after)


def test_the_bare_command_needs_no_parser_of_command_lines(shop: Path) -> None:
    env = {**cli.environment(), "PATCHWRIGHT_MODEL": "offline"}
    argv = [sys.executable, "-X", "importtime", "-m", "patchwright"]
    with Terminal(argv, cwd=shop, env=env, columns=160) as terminal:
        terminal.wait(lambda: "⇧⇥".encode() in terminal.raw)
        assert not {"typer", "click"} & imported(terminal.raw.decode("utf-8", "replace"))
        terminal.type("\x04")
        assert terminal.wait_for_end() == 0


@pytest.mark.parametrize("settings", ["model = \n", "modle = 3\n"])
def test_the_bare_command_tells_a_mistake_as_ever(settings: str, shop: Path) -> None:
    config = Home.from_environment().config
    config.mkdir(parents=True)
    (config / "settings.toml").write_text(settings)
    with Terminal(cli.PATCHWRIGHT, cwd=shop, env=cli.environment(), columns=160) as terminal:
        assert terminal.wait_for_end() == Exit.CONFIGURATION
        assert "settings.toml" in terminal.text
        assert "Traceback" not in terminal.everything


def imported(account: str) -> set[str]:
    return set(re.findall(r"import time:\s+\d+ \|\s+\d+ \|\s+(\S+)", account))


def at_rest_with(terminal: Terminal, prompt: str) -> None:
    terminal.wait(lambda: prompt in terminal.text and OPENING not in terminal.text)


@pytest.mark.parametrize(("columns", "rows"), [(40, 20), (80, 24), (120, 40)])
def test_a_long_path_is_not_broken_in_the_middle_of_a_name(tmp_path: Path, columns: int, rows: int) -> None:
    root = tmp_path.joinpath("a_rather_long_folder_name", "with_another_long_one", "and_more", "project")
    root.mkdir(parents=True)
    Repo(root).commit_all()
    with talk(root, [], columns=columns, rows=rows) as terminal:
        at_rest(terminal)
        shown = next(line for line in terminal.text.splitlines() if "project" in line)
        path = shown.removesuffix(" · /help").removesuffix(" ·").rpartition(" ")[2]
        assert str(root).endswith(path.removeprefix("…/"))
        assert path.endswith("/and_more/project")
        leave(terminal)
