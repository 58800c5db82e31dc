"""The examples of docs/commands.md."""

from __future__ import annotations

import re
from pathlib import Path

from agent.app_dirs import Home
from tests.support.cli import CHECKOUT, git, run, script

PAGE = (CHECKOUT / "docs/commands.md").read_text("utf-8")


def test_the_command_of_the_page_runs(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    git(shop, "init", "-q")
    (shop / "cart.py").write_text("RATE = 2\n")
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "Begin the shop")
    folder = Home.from_environment().config / "commands"
    folder.mkdir(parents=True)
    [text] = re.findall(r"^```markdown\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    (folder / "explain.md").write_text(text)
    turns = [
        {
            "text": "Done.",
            "expect": [
                "Explain what changed in @cart.py, in 3 words.",
                "Begin the shop",
                "RATE = 2",
                "<stdin>",
            ],
        },
        {"text": "Done."},
    ]
    done = run("run", "/explain cart.py 3", "--model", script(tmp_path, turns), cwd=shop, stdin="piped")
    assert (done.code, done.out) == (0, "Done.\n"), done.err
    unknown = run("run", "/nothing is a prompt", "--model", script(tmp_path, turns[1:]), cwd=shop)
    assert (unknown.code, unknown.out) == (0, "Done.\n"), unknown.err
