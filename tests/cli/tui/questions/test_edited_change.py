"""A change is edited before it is allowed: what is shown then is what is written, and the model is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import call
from tests.support.talking import AT_SIZES, at_rest, leave, log_of, talk

pytestmark = pytest.mark.slow


def make_editor(shop: Path, script: str) -> str:
    editor = shop.parent / "editor"
    editor.write_text(
        f'#!/bin/sh\ncp "$1" "{shop.parent}/given"\necho "$1" > "{shop.parent}/name"\n{script}\n'
    )
    editor.chmod(0o755)
    return str(editor)


@AT_SIZES
def test_the_edited_text_is_shown_and_written(shop: Path, columns: int, rows: int) -> None:
    turns = [
        {"calls": [call("edit", path="cart.py", old=" - 1", new=" - 0")]},
        {
            "text": "As you wish.",
            "expect": ["the user edited this change before it was applied", "+    return sum(items)"],
        },
    ]
    editor = make_editor(shop, """sed -i 's/return .*/return sum(items)/' "$1" """)
    options = ("--sandbox", "unconfined", "--no-commit", "--tests", "true")
    asking = {"PATCHWRIGHT_APPROVAL": "ask", "EDITOR": editor, "VISUAL": ""}
    with talk(shop, turns, *options, columns=columns, rows=rows, **asking) as terminal:
        at_rest(terminal)
        terminal.type("mend it\r")
        terminal.wait("Allow edit?")
        terminal.type("e")
        terminal.wait(lambda: "return sum(items)" in terminal.everything)
        assert " - 1" in (shop / "cart.py").read_text(), "nothing is written before it is allowed"
        terminal.type("y")
        terminal.wait("Allow run_tests?")
        assert "As you wish." in terminal.everything
        terminal.type("n")
        at_rest(terminal)
        leave(terminal)
    assert (shop / "cart.py").read_text() == "def total(items):\n    return sum(items)\n"
    given = (shop.parent / "given").read_text()
    assert given == "def total(items):\n    return sum(item.price for item in items) - 0\n"
    assert (shop.parent / "name").read_text().strip().endswith(".py"), "the editor knows the language"
    [decision] = [each for each in log_of(shop) if each["kind"] == "decision" and each["verdict"] == "allow"]
    assert decision["reason"] == "the user allowed it, as they edited it"


def test_what_is_edited_and_refused_changes_nothing(shop: Path) -> None:
    turns = [
        {"calls": [call("edit", path="cart.py", old=" - 1", new=" - 0")]},
        {"text": "Left as it was.", "expect": ["the user refused it"]},
    ]
    before = (shop / "cart.py").read_text()
    editor = make_editor(shop, 'echo "# more" >> "$1"')
    asking = {"PATCHWRIGHT_APPROVAL": "ask", "EDITOR": editor, "VISUAL": ""}
    with talk(shop, turns, "--tests", "true", **asking) as terminal:
        at_rest(terminal)
        terminal.type("mend it\r")
        terminal.wait("Allow edit?")
        terminal.type("e")
        terminal.wait("# more")
        terminal.type("\x1b")
        terminal.wait("Left as it was.")
        at_rest(terminal)
        leave(terminal)
    assert (shop / "cart.py").read_text() == before
