"""The command of docs/agents.md for a team, cut off by kill -9 amid its code, and resumed to its commit."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import time
from pathlib import Path

import pytest

from agent.app_dirs import Home
from agent.session.log import read_events
from tests.support.cli import CHECKOUT, PATCHWRIGHT, environment, run
from tests.support.repo import Repo
from tests.support.strategy_team import Team

pytestmark = pytest.mark.slow


def read_documented_command() -> list[str]:
    page = (CHECKOUT / "docs/agents.md").read_text("utf-8").partition("## A team\n")[2]
    found = re.search(r"^```sh\npatchwright (run .*)\n```", page, re.MULTILINE)
    assert found is not None
    return shlex.split(found[1])


def test_a_team_that_was_killed_goes_on_with_the_steps_that_are_missing(tmp_path: Path) -> None:
    shop = Repo(tmp_path / "shop")
    shop.write("cart.py", 'def total(prices):\n    """The total of the cart."""\n    return -sum(prices)\n')
    shop.write("mail.py", 'def sender():\n    """The sender of the mail."""\n    return \'\'\n')
    shop.commit_all()
    home = Home.from_environment(environment())
    models = Team(tmp_path, coder=[{"text": "Never seen.", "delay": 300}]).models
    rows = "".join(f"{name} = {json.dumps(model)}\n" for name, model in models.items())
    home.config.mkdir(parents=True, exist_ok=True)
    (home.config / "settings.toml").write_text(
        f"[agents.models]\n{rows}[models]\njudge = {json.dumps(models['judge'])}\n"
    )
    options = ("--model", models["own"], "--sandbox", "unconfined")
    quiet = subprocess.DEVNULL
    with subprocess.Popen(
        [*PATCHWRIGHT, *read_documented_command(), "--attempts", "1", *options],
        cwd=shop.root,
        env=environment(),
        stdin=quiet,
        stdout=quiet,
        stderr=quiet,
    ) as process:
        deadline = time.monotonic() + 200
        sessions = home.get_project_folder(shop.root) / "sessions"
        while not any('"hint":"cart"' in each.read_text() for each in sessions.glob("*/log.jsonl")):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.kill()
    assert shop.git("status", "--porcelain") == ""
    Team(tmp_path)  # the coder's script is the right one from now on
    done = run("resume", "--output", "json", *options, cwd=shop.root)
    assert done.code == 0, done.out + done.err
    end = json.loads(done.out)
    assert end["summary"].splitlines() == [
        "Mend total and sender",
        "",
        "- cart: done: It is mended.",
        "- mail: done: It is mended.",
    ]
    assert shop.git("log", "-1", "--format=%s").strip() == "Mend total and sender"
    assert shop.committed() == ["cart.py", "mail.py", "test_sender.py", "test_total.py"]
    assert shop.git("worktree", "list").count("\n") == 1
    assert list((home.cache / "worktrees").iterdir()) == []
    log = list(read_events(sessions / end["session"]))
    hints = [each.hint for each in log if each.kind == "attempt"]  # type: ignore[attr-defined]
    assert hints[:3] == ["brief", "plan", "tester"]
    assert set(hints[3:]) == {"cart", "mail"}, "only code was missing"


def test_a_strategy_that_there_is_not_is_refused_with_the_names(tmp_path: Path) -> None:
    shop = Repo(tmp_path / "shop")
    shop.write("cart.py", "x = 1\n")
    shop.commit_all()
    done = run("run", "mend it", "--strategy", "crowd", "--model", "offline", cwd=shop.root)
    assert done.code == 2
    assert "there is no strategy 'crowd'" in done.err
    assert "Strategies: single, sample, pipeline, tree, evolve, team, auto." in done.err
