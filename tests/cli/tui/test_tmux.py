"""In tmux, a terminal that nobody here wrote: what stays in its scrollback, windows that change and that vanish."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from cli.tui.screen.working_line import SPINNER
from tests.support import cli
from tests.support.cli import call, script
from tests.support.talking import log_of, logs, wait_until
from tests.support.terminal import PATIENCE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed here"),
]


class Tmux:
    """A server of its own with one window."""

    def __init__(self, cwd: Path, argv: list[str], columns: int, rows: int) -> None:
        self._name = f"patchwright-{uuid4().hex[:8]}"
        size = ("-x", f"{columns}", "-y", f"{rows}")
        self.do("-f", "/dev/null", "new-session", "-d", *size, "-c", str(cwd), shlex.join(argv))

    def do(self, *arguments: str) -> str:
        """One command of tmux; what it prints."""
        done = subprocess.run(
            ["tmux", "-L", self._name, *arguments],
            env=cli.environment({"TERM": "xterm-256color"}),
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout

    def type(self, *keys: str) -> None:
        """Keys by tmux's names, or text."""
        self.do("send-keys", *keys)

    @property
    def text(self) -> str:
        """What is seen."""
        return self.do("capture-pane", "-p").rstrip()

    @property
    def everything(self) -> str:
        """The scrollback and what is seen; wrapped lines are joined."""
        return self.do("capture-pane", "-p", "-J", "-S", "-").rstrip()

    def wait(self, seen: str) -> None:
        """Until a text is seen."""
        until = time.monotonic() + PATIENCE
        while seen not in self.text:
            assert time.monotonic() < until, f"waited for {seen!r} and saw:\n{self.everything}"
            time.sleep(0.05)

    def settle(self) -> str:
        """Everything, once two looks see the same: one alone may be in the middle of a redraw."""
        until, before = time.monotonic() + PATIENCE, ""
        while before != (before := self.everything):
            assert time.monotonic() < until, f"it is redrawn all the time:\n{before}"
            time.sleep(1.2)  # the prompt looks after the size twice a second
        return before

    def close(self) -> None:
        """End the server; the program gets SIGHUP."""
        self.do("kill-server")


@pytest.fixture
def tmux(shop: Path) -> Iterator[Tmux]:
    """The program, ready, with an answer of 80 lines that waits for a file and a command that waits."""
    lines = "\n".join(f"- line {number} of the answer" for number in range(80))
    turns = [
        {"calls": [call("shell", command="touch waiting; until test -e go; do sleep 0.05; done")]},
        {"text": f"{lines}\n\nThat was all."},
        {"calls": [call("shell", command="touch started; sleep 60")]},
    ]
    model = script(shop.parent, turns)
    terminal = Tmux(shop, [*cli.PATCHWRIGHT, "--tests", "true", "--model", model], 80, 24)
    try:
        terminal.wait("⇧⇥")
        yield terminal
    finally:
        terminal.close()


def test_an_answer_stands_once_in_the_scrollback_though_the_window_changes(tmux: Tmux, shop: Path) -> None:
    tmux.type(
        "👩‍👩‍👧🇩🇪👍🏽❤️.", "Left", "x"
    )  # the cursor stands where it is reckoned to, however those are drawn
    tmux.wait("❯ 👩👩👧ＤＥ👍  ❤x.")
    wait_until(lambda: tmux.do("display", "-p", "#{cursor_x}").strip() == "18")
    tmux.type("C-c", "go", "Enter")
    wait_until(lambda: (shop / "waiting").exists())
    tmux.do("resize-window", "-x", "40", "-y", "18")
    (shop / "go").touch()
    tmux.wait("That was all.")
    tmux.do("resize-window", "-x", "100", "-y", "30")
    tmux.wait("✔ done")
    wait_until(lambda: "❯ say what to do" in tmux.text)
    whole = tmux.settle()
    assert whole.count("That was all.") == 1, whole
    seen = re.findall(r"• line (\d+) of the answer", whole)
    assert seen == [str(number) for number in range(80)]
    assert not set(SPINNER) & set(whole), "what was redrawn has left nothing behind"


def test_a_list_that_fills_the_window_leaves_nothing_behind(tmux: Tmux, shop: Path) -> None:
    """Erased at once, all of a window would go into the scrollback of tmux."""
    (shop / "go").touch()
    tmux.type("go", "Enter")
    tmux.wait("✔ done")
    wait_until(lambda: "❯ say what to do" in tmux.text)
    tmux.do("resize-window", "-x", "24", "-y", "4")
    tmux.type("Escape", "Escape")
    tmux.wait("1 of 1 · type to narro…")
    tmux.do("resize-window", "-x", "34")
    tmux.wait("1 of 1 · type to narrow · ↑↓ mov…")
    time.sleep(0.6)  # the prompt that waits below looks after the size twice a second
    tmux.type("g")
    tmux.wait("/ g\n1 of 1 · type to narrow · ↑↓ mov…")
    tmux.type("Escape")
    wait_until(lambda: tmux.text.split("\n")[-1].startswith("❯ say what") and "rewind" not in tmux.text)
    assert "1 of 1" not in tmux.everything
    assert "Go back" not in tmux.everything
    assert tmux.everything.count("✔ done") == 1


def test_a_window_that_is_killed_loses_nothing(tmux: Tmux, shop: Path) -> None:
    (shop / "go").touch()
    tmux.type("go", "Enter")
    tmux.wait("✔ done")
    tmux.type("again", "Enter")
    wait_until(lambda: (shop / "started").exists())
    tmux.close()
    [log] = logs()
    wait_until(lambda: json.loads(log.read_text().splitlines()[-1])["kind"] == "end")
    kinds = [event["kind"] for event in log_of(shop)]
    assert kinds.count("prompt") == kinds.count("end") == 2
    assert kinds.count("action") == kinds.count("observation") >= 1


def test_a_copied_answer_is_in_the_buffer_of_tmux(shop: Path) -> None:
    model = script(shop.parent, [{"text": "Run `make total`: ✔"}])
    terminal = Tmux(shop, [*cli.PATCHWRIGHT, "--model", model], 80, 24)
    try:
        terminal.do("set", "-g", "set-clipboard", "on")
        terminal.wait("⇧⇥")
        terminal.type("go", "Enter")
        terminal.wait("✔ done")
        terminal.type("/copy", "Enter")
        terminal.wait("copied the answer: 1 line")
        wait_until(lambda: terminal.do("show-buffer") == "Run `make total`: ✔")
        assert "Ptmux" not in terminal.everything
        assert "52;c" not in terminal.everything
    finally:
        terminal.close()


@pytest.mark.parametrize(("theme", "added"), [("", "22"), ("light", "194"), ("dark", "22"), ("mono", "")])
def test_a_diff_has_backgrounds_by_the_theme_of_the_environment(shop: Path, theme: str, added: str) -> None:
    """tmux does not tell its background."""
    edit = {"calls": [call("edit", path="cart.py", old=" - 1", new="")]}
    model = script(shop.parent, [edit, {"text": "Edited."}])
    started = [
        "env",
        f"PATCHWRIGHT_TERMINAL__THEME={theme}",
        *cli.PATCHWRIGHT,
        "--tests",
        "true",
        "--model",
        model,
    ]
    terminal = Tmux(shop, started, 80, 24)
    try:
        terminal.wait("⇧⇥")
        terminal.type("go", "Enter")
        terminal.wait("✔ done")
        rows = terminal.do("capture-pane", "-p", "-e").split("\n")
        [row] = [row for row in rows if "sum(item.price" in re.sub(r"\x1b\[[\d;]*m", "", row) and "+" in row]
        assert (f"48;5;{added}" in row) if added else ("48;" not in row), row
    finally:
        terminal.close()


CODE = [
    "def total(items, discount=0.0, taxes=(), shipping=0.0, rounded=True, currency='EUR', checked=False):",
    "    net = sum(item.price for item in items) - discount  # a line that no window of these is wide enough for",
    "",
    "    return net",
]
WORDS = ["src/", "  cart.py", "  order.py   # 3 orders"]


@pytest.mark.parametrize(("columns", "rows"), [(40, 20), (80, 24), (120, 40)])
def test_code_of_an_answer_is_copied_as_it_was_written(shop: Path, columns: int, rows: int) -> None:
    """Nothing stands beside it, nothing fills its rows, and a line that the window wraps is one line."""
    fences = [("python", CODE), ("", WORDS), ("diff", ["-    return net", f"+    return {'net + ' * 25}0"])]
    text = "\n\n".join("\n".join([f"```{language}", *lines, "```"]) for language, lines in fences)
    model = script(shop.parent, [{"text": f"Like this:\n\n{text}\n\nThat was all."}])
    terminal = Tmux(shop, [*cli.PATCHWRIGHT, "--model", model], columns, rows)
    try:
        wait_until(lambda: "❯ say what to do" in terminal.text)
        terminal.type("show it", "Enter")
        wait_until(lambda: "That was all." in terminal.everything and "❯ say what to do" in terminal.text)
        copied = terminal.everything.split("\n")  # with the blanks that a selection would hold
    finally:
        terminal.close()
    for _, lines in fences:
        place = copied.index(lines[0])
        assert copied[place : place + len(lines)] == lines


def test_what_is_typed_after_escape_arrives_whole(shop: Path) -> None:
    terminal = Tmux(shop, [*cli.PATCHWRIGHT, "--model", script(shop.parent, [{"text": "Sent."}])], 80, 24)
    try:
        terminal.do("set", "-g", "escape-time", "0")
        terminal.wait("⇧⇥")
        for typed in ("/diff", "#note", "!make", "@cart", "fix it", "2 carts"):
            for delay in (0, 0.02, 0.05, 0.1, 0.2, 0.4):
                terminal.type("Escape")
                time.sleep(delay)
                terminal.type("-l", typed)
                terminal.wait(f"❯ {typed}")
                terminal.type("C-c")  # beside the prompt it closes a list of completions
                terminal.type("C-c")
                terminal.wait("❯ say what to do")
    finally:
        terminal.close()
    assert not log_prompts()


MEANT = (
    "the price with the tax of the country that the parcel is sent to, which is what shops there have to show"
)


def test_a_question_is_whole_in_each_size_of_the_window_and_leaves_no_edges(shop: Path) -> None:
    """All of its answers are read; what remains of it, once it is answered, is no box that a narrow window breaks."""
    tax = {"question": "Gross or net?", "options": [f"gross: {MEANT}", "net: without any tax"]}
    above = "\n".join(
        f"- line {number}" for number in range(60)
    )  # tmux keeps the empty rows of a window below
    turns = [
        {"text": f"{above}\n\nAsk."},
        {"calls": [call("ask_user", questions=[tax])]},
        {"text": "So it is."},
    ]
    terminal = Tmux(shop, [*cli.PATCHWRIGHT, "--model", script(shop.parent, turns)], 100, 40)
    try:
        terminal.wait("⇧⇥")
        terminal.type("go", "Enter")
        terminal.wait("✔ done")
        terminal.type("which total?", "Enter")
        terminal.wait("Gross or net?")
        for columns, rows in ((100, 40), (80, 40), (120, 45), (70, 45), (90, 30)):
            terminal.do("resize-window", "-x", f"{columns}", "-y", f"{rows}")
            seen = terminal.settle()
            for part in ("Gross or net?", "╭", "╮", "╰", "╯"):
                assert seen.count(part) == 1, seen
            is_whole = MEANT in " ".join(seen.replace("│", " ").split())
            assert is_whole, seen
        terminal.type("Down", "Enter")
        terminal.wait("So it is.")
        terminal.do("resize-window", "-x", "45")
        seen = terminal.settle()
        assert "│ Gross or net?\n╰─ ❯ net\n" in seen
        assert "╮" not in seen
    finally:
        terminal.close()


def log_prompts() -> list[str]:
    """The prompts of all sessions."""
    events = [json.loads(line) for log in logs() for line in log.read_text().splitlines()]
    return [event["text"] for event in events if event["kind"] == "prompt"]


def test_a_prompt_that_is_stopped_before_anything_was_done_comes_back(shop: Path) -> None:
    turns = [
        {"text": "Too late.", "delay": 60},
        {"calls": [call("shell", command="true")]},
        {"text": "Too late.", "delay": 60},
    ]
    terminal = Tmux(shop, [*cli.PATCHWRIGHT, "--model", script(shop.parent, turns)], 80, 24)
    try:
        terminal.wait("⇧⇥")
        terminal.type("mend the total", "Enter")
        terminal.wait("esc to stop")
        terminal.type("Escape")
        terminal.wait("! interrupted")
        wait_until(lambda: terminal.text.split("\n")[-3] == "❯ mend the total")
        terminal.type(" of carts")
        terminal.wait("❯ mend the total of carts")
        assert [event["text"] for event in log_of(shop) if event["kind"] == "prompt"] == ["mend the total"]
    finally:
        terminal.close()
