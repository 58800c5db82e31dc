"""/compact, /context and /state on a real terminal: what fills the window, shortened and taken back."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from agent.app_dirs import Home
from tests.support import cli
from tests.support.cli import call, script
from tests.support.talking import SIZES, ask, at_rest, leave, log_of, make_shop, prompted, ready, talk
from tests.support.terminal import Terminal


@pytest.mark.slow
def test_a_compaction_is_stopped_and_leaves_all_as_it_was(tmp_path: Path) -> None:
    shop = make_shop(tmp_path / "shop")
    config = Home.from_environment().config
    config.mkdir(parents=True)
    fast = script(tmp_path, [{"text": "a summary that nobody waits for", "delay": 600}], name="fast.json")
    settings = f'[context]\nsummary = "model"\n[models]\nfast = "{fast}"\n'
    (config / "settings.toml").write_text(settings)
    turns = [{"text": "I look.", "calls": [call("read", path="cart.py")]}, {"text": "It is a shop."}]
    with talk(shop, turns, "--no-commit", columns=100) as terminal:
        at_rest(terminal)
        ask(terminal, "what is this?", "It is a shop.")
        for stopped, key in enumerate(("\x1b", "\x03")):
            terminal.type("/compact\r")
            terminal.wait("◐ /compact")
            terminal.type("typed meanwhile")
            terminal.wait("❯ typed meanwhile")
            terminal.type(key)
            terminal.wait(lambda count=stopped: terminal.everything.count("stopped\n") == count + 1)
            terminal.wait_beside(lambda: "esc to stop" not in terminal.text)
            assert prompted(terminal) == "typed meanwhile"
            terminal.type("\x15")
            at_rest(terminal)
        ask(terminal, "/context undo", "nothing was shortened")
        assert "compaction" not in {event["kind"] for event in log_of(shop)}
        leave(terminal)


@pytest.mark.slow
def test_the_past_is_shortened_looked_at_and_taken_back(tmp_path: Path) -> None:
    shop = make_shop(tmp_path / "shop")
    turns = [
        {"text": "I look first.", "calls": [call("read", path="cart.py"), call("list")]},
        {"calls": [call("memory", note="the walrus matters")]},
        {"text": "It is a shop."},
    ]
    with talk(shop, turns, "--no-commit", columns=40, rows=15) as terminal:

        def said(line: str, *answers: str) -> None:
            terminal.wait(lambda: ready(terminal))
            ask(terminal, line, answers[0])
            for answer in answers:
                assert answer in terminal.everything.rpartition(f"\n❯ {line}\n")[2]

        said("/compact", "no past to shorten")
        said("what is this?", "It is a shop.")
        for columns, rows in SIZES:
            terminal.resize(columns, rows)
            said("/state", "the walrus matters")
            said("/context", "system prompt and tools", "your messages", "outputs of read")
            said("/compact the shop", "context: summary")
            said("/context", "records of the past", "asked for: the")
            said("/context diff", "summary of e", "-")
            said("/context undo", "is taken back")
            said("/context undo", "nothing was shortened")
            said("/context nonsense", "is not")
            assert max(map(len, terminal.text.split("\n"))) <= columns
        terminal.wait(lambda: ready(terminal))
        terminal.type("/quit\r")
        assert terminal.wait_for_end() == 0


@pytest.mark.slow
def test_footer_summary_and_command_tell_the_same_share_of_the_window(tmp_path: Path) -> None:
    shop = make_shop(tmp_path / "shop")
    model = tmp_path / "small.json"
    model.write_text(json.dumps({"window": 24_000, "turns": [{"text": "It is a shop."}]}))
    argv = [*cli.PATCHWRIGHT, "--model", f"scripted:{model}"]
    with Terminal(argv, cwd=shop, env=cli.environment({}), columns=120, rows=30) as terminal:
        at_rest(terminal)
        assert "context" not in terminal.text, "nothing was said yet"
        ask(terminal, "what is this?", "It is a shop.")
        ask(terminal, "/context", "by estimate")
        told = re.findall(r"([\d,]+) of 24,000 tokens \(context (\d+) %\)", terminal.text)
        [(used, share)] = told
        assert abs(int(used.replace(",", "")) / 240 - int(share)) < 2
        assert int(share) >= 5, "instructions and tools alone take that"
        assert re.findall(r"context (\d+) %", terminal.text) == [share] * 3
        leave(terminal)
