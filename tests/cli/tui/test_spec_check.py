"""A task that contradicts a test, in the terminal: stopped, corrected, or worked on as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import call, git
from tests.support.talking import at_rest, leave, log_of, prompted, talk

pytestmark = pytest.mark.slow

PROMPT = "total([]) must return 7"
TEST = "from cart import total\n\n\ndef test_total():\n    assert total([]) == -1\n"


def test_a_person_stops_then_applies_the_correction_then_goes_on(shop: Path) -> None:
    (shop / "test_cart.py").write_text(TEST)
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "Test it")
    turns = [
        {"text": "It is so.", "expect": ["has corrected test_cart.py"]},
        {"calls": [call("edit", path="cart.py", old=" - 1", new=" + 7")]},
        {"text": "It is so again."},
    ]
    env = {"PATCHWRIGHT_VERIFY__SPEC_CHECK": "code", "PATCHWRIGHT_VERIFY__REQUIREMENTS": "off"}
    with talk(shop, turns, "--tests", "true", rows=40, **env) as terminal:
        at_rest(terminal)
        terminal.type(f"{PROMPT}\r")
        terminal.wait("What about these findings?")
        terminal.type("\x1b[B\r")  # the second: stop
        terminal.wait("interrupted")
        terminal.wait(lambda: prompted(terminal) == PROMPT)  # given back: nothing was done for it
        assert (shop / "test_cart.py").read_text() == TEST
        terminal.type("\r")
        terminal.wait(lambda: terminal.text.count("What about these findings?") == 1)
        terminal.type("\x1b[B\x1b[B\r")  # the third: apply
        terminal.wait("It is so.")
        at_rest(terminal)
        assert "== 7" in (shop / "test_cart.py").read_text()
        terminal.type("total([]) must return 8\r")
        terminal.wait("What about these findings?")
        terminal.type("\r")  # the first: go on
        terminal.wait("It is so again.")
        at_rest(terminal)
        leave(terminal)
    events = log_of(shop)
    ends = [event["outcome"] for event in events if event["kind"] == "end"]
    assert ends[0] == "interrupted"
    said = [
        event["detail"] for event in events if event["kind"] == "signal" and event["name"] == "spec-check"
    ]
    assert said == ["the task: stop", "the task: apply", "the task: go on"]
    signs = [event for event in events if event["kind"] == "signal" and event["name"] == "weakened-tests"]
    assert signs == []  # the person's own correction weakens no test
