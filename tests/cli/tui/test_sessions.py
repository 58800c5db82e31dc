"""Sessions in the terminal: going on, copies, names, all of one to scroll through, and documents of it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agent.events import MessageEvent
from cli.output.session_export import render_html
from tests.support.cli import call
from tests.support.talking import ask, at_rest, cleared, leave, logs, long_session, talk


def count_openings(text: str) -> int:
    """How often a session's first line is seen; the path in it may be so long that it is broken."""
    return " ".join(text.split()).count("· /help")


@pytest.mark.slow
def test_sessions_are_named_copied_left_and_opened_again(shop: Path) -> None:
    with talk(shop, [{"text": "First."}, {"text": "Second."}], columns=100, rows=30) as terminal:
        at_rest(terminal)
        ask(terminal, "one", "First.")
        ask(terminal, "/rename the first try", "this session is called")
        terminal.type("/fork a second try\r")
        terminal.wait("turn 2")
        at_rest(terminal)
        ask(terminal, "two", "Second.")
        terminal.type("/clear\r")
        terminal.wait(lambda: count_openings(terminal.text) >= 1 and count_openings(terminal.everything) == 3)
        at_rest(terminal)
        terminal.type("/resume\r")
        terminal.wait("Go on with which session?")
        terminal.wait("› a second try")
        terminal.wait("│ > one")
        terminal.type("\x1b")
        at_rest(terminal)
        terminal.type("/resume a sec")  # by its name, which stands beside the id that is put there
        terminal.wait("  a second try")
        assert "the first try" not in terminal.text.split("❯ /resume a sec")[1]
        terminal.type("\t")
        terminal.wait(f"❯ /resume {logs()[1].parent.name}")
        terminal.type("\x15/resume\r")
        terminal.wait("› a second try")
        terminal.type("first")
        terminal.wait("› the first try")
        terminal.type("\r")
        terminal.wait(lambda: count_openings(terminal.everything) == 4)
        at_rest(terminal)
        terminal.type("/sessions\r")
        terminal.wait("› the first try")  # this one, of which the list begins
        terminal.wait("2 of 2")
        terminal.type("\x1b[B")
        terminal.wait("* the first try")
        cleared(terminal, "\x1b")
        leave(terminal)
    assert len(logs()) == 3


@pytest.mark.slow
def test_all_of_a_session_is_shown_searched_and_exported(shop: Path) -> None:
    turns = [
        {"reasoning": "hidden thoughts", "text": "I **look**.", "calls": [call("read", path="cart.py")]},
        {"calls": [call("edit", path="cart.py", old=" - 1", new="")]},
        {"text": "Fixed & <b>done</b>."},
    ]
    with talk(shop, turns, "--tests", "true", columns=100, rows=40) as terminal:
        at_rest(terminal)
        ask(terminal, "mend </details> it", "Fixed & ")
        assert "thought for" in terminal.text
        assert "hidden thoughts" not in terminal.text
        terminal.type("\x0f")
        terminal.wait("q leaves")
        for part in (
            "hidden thoughts",
            "● read cart.py",
            "return sum(item.price for item in items) - 1",
            "✔ done",
        ):
            assert part in terminal.text
        terminal.type("/nowhere\r")
        terminal.wait("not found: nowhere")
        terminal.type("q")
        at_rest(terminal)
        for name in ("one.md", "two.html", "three.json", "four.jsonl"):
            ask(terminal, f"/export {name}", f"{name}")
        ask(terminal, "/export five.txt", "no format for 'five.txt'")
        (shop / "mine.md").write_text("mine\n")
        ask(terminal, "/export mine.md", "'mine.md' exists")
    assert (shop / "mine.md").read_text() == "mine\n"
    assert "> mend </details> it" in (shop / "one.md").read_text()
    page = (shop / "two.html").read_text()
    assert "<summary>edit cart.py: +1 −1</summary>" in page
    assert "<b>done</b>" not in page
    assert "&lt;b&gt;done&lt;/b&gt;" in page
    assert [event["kind"] for event in json.loads((shop / "three.json").read_text())][:2] == [
        "session",
        "prompt",
    ]
    assert json.loads((shop / "four.jsonl").read_text().splitlines()[0])["patchwright_export"] == 1


def test_a_fold_that_a_model_wrote_brings_no_markup_into_the_page() -> None:
    text = "Look:\n\n<details><summary><meta http-equiv=refresh></summary>\n\n```\n<b>\n```\n\n</details>"
    made = render_html(iter([MessageEvent(text=text)]))
    assert "<meta http-equiv=refresh>" not in made
    assert "<b>" not in made


@pytest.mark.slow
def test_thousands_of_steps_are_opened_and_scrolled_through(shop: Path) -> None:
    steps = 10_000 if int(os.environ.get("PATCHWRIGHT_STRESS", "1")) > 1 else 3_000
    name = long_session(shop, steps)
    with talk(shop, [{"text": "unused"}], "resume", name) as terminal:
        terminal.wait("All of it is done.")
        at_rest(terminal)
        assert "❯ the very first words" in terminal.text
        terminal.type("typed at once")
        terminal.wait("❯ typed at once")
        terminal.type("\x03\x0f")
        terminal.wait("q leaves")
        assert f"output {steps - 1}" in terminal.text
        terminal.type("\x1b[5~")
        terminal.wait(
            lambda: f"output {steps - 1}" not in terminal.text and f"output {steps - 12}" in terminal.text
        )
        terminal.type("/output 1765\r")
        terminal.wait(lambda: "output 1765" in terminal.text and "search:" not in terminal.text)
        terminal.type("G")
        terminal.wait(f"output {steps - 1}")
        terminal.type("qtyped with it")  # in one go: the second application leaves the first one's keys alone
        terminal.wait("❯ typed with it")


@pytest.mark.slow
def test_a_resize_while_an_answer_streams_leaves_it_whole(shop: Path) -> None:
    answer = "\n\n".join(f"paragraph {number} of the answer" for number in range(300)) + "\n\nThe end."
    with talk(shop, [{"text": answer}], columns=90, rows=30) as terminal:
        at_rest(terminal)
        terminal.type("go\r")
        terminal.wait(lambda: b"paragraph 20 of" in terminal.raw)  # it may have left the screen already
        terminal.resize(50, 20)
        terminal.resize(70, 25)
        terminal.wait(lambda: b"The end." in terminal.raw)
        terminal.wait(lambda: b"done" in terminal.raw[terminal.raw.index(b"The end.") :])
        # what was printed is in the bytes; a screen model that shrinks drops lines and leaves its cursor behind
        assert all(b"paragraph %d of the answer" % number in terminal.raw for number in range(300))
        terminal.type("/quit\r")
        assert terminal.wait_for_end() == 0


@pytest.mark.slow
def test_a_name_that_is_no_session_is_told(shop: Path) -> None:
    with talk(shop, [{"text": "Ok."}]) as terminal:
        at_rest(terminal)
        ask(terminal, "/resume nonsense", "no session 'nonsense' in this project")
        ask(terminal, "/resume", "this project has no other session")
        ask(terminal, "/rename", "no title")
        ask(terminal, "/fork --help", "go on in a copy of this session")
        ask(terminal, "/settings terminal.theme purple", "setting 'terminal.theme'")
        ask(terminal, "/settings terminal.theme dark", "terminal.theme is stored")
        leave(terminal)
