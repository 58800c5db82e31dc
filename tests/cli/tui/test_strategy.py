"""/strategy: the strategy of a session's prompts is shown, set, used, and there again when it is resumed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import call
from tests.support.talking import ask, at_rest, leave, logs, talk

pytestmark = pytest.mark.slow


def test_the_strategy_of_a_session_is_set_used_and_kept(shop: Path) -> None:
    turns = [{"calls": [call("edit", path="cart.py", old=" - 1", new="")]}, {"text": "It adds up."}]
    with talk(shop, turns, "--tests", "true") as terminal:
        at_rest(terminal)
        terminal.type("/strategy\r")
        terminal.wait("Which strategy? Now: single, 3 attempts")
        terminal.type("sample\r")
        terminal.wait("strategy: sample, 3 attempts")
        at_rest(terminal)
        ask(terminal, "/strategy attempts 2 budget 1h", "strategy: sample, 2 attempts, budget 1h")
        ask(terminal, "/strategy three", "there is no strategy 'three'")
        ask(terminal, "/strategy attempts 99", "A number from 1 to 16")
        ask(terminal, "/strategy budget lots", "no budget: 'lots'")
        ask(terminal, "mend the cart", "attempt 1 is applied")
        leave(terminal)
    assert " - 1" not in (shop / "cart.py").read_text()
    [log] = [path for path in logs() if b'"kind":"choice"' in path.read_bytes()]
    assert b'"budget":"1h"' in log.read_bytes(), "and a resumed turn has its budget"
    with talk(shop, turns, "resume", log.parent.name) as terminal:
        terminal.wait("strategy sample, 2 attempts, budget 1h")
        at_rest(terminal)
        ask(terminal, "/strategy single budget off", "strategy: single, 2 attempts")
        leave(terminal)
