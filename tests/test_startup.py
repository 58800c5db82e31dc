"""What is not imported: start-up stays fast because the heavy things stay out until they are needed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import environment, script
from tests.support.loopback import Loopback
from tests.support.repo import Repo
from tests.support.small_bugs import BUGS

pytestmark = pytest.mark.slow


HEAVY = {
    "litellm",
    "pydantic",
    "httpx",
    "openai",
    "git",
    "prompt_toolkit",
    "tree_sitter",
    "rich",
    "yaml",
    "pytest",
    "tools.edit.apply.edit_engine",
    "tools.edit.apply.planner",
    "tools.code.syntax",
    "opentelemetry",
}


def imported(*arguments: str, cwd: Path) -> set[str]:
    """Modules that a run of the program imports, from Python's own account of it; all parts of their names."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "patchwright", *arguments],
        cwd=cwd, env=environment(), capture_output=True, text=True, timeout=60, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    names = re.findall(r"^import time:\s+\d+ \|\s+\d+ \|\s+(\S+)$", done.stderr, re.MULTILINE)
    assert "sys" in names or len(names) > 20, "the account of imports was not found"
    parents = {name.rpartition(".")[0] for name in names}
    return {name.partition(".")[0] for name in names} | {*names} | parents


def test_a_question_to_a_server_imports_nothing_heavy(ledger: Path) -> None:
    with Loopback() as server:
        names = imported("run", "hi", "--model", "openai/x", "--api-base", server.url, cwd=ledger)
    assert not names & HEAVY


MOST_MODULES = 420
"""Modules of ours on the way to the first request. A new one costs every start: import it where it is first needed."""


def test_the_way_to_the_first_request_imports_no_more_modules_than_it_did(ledger: Path) -> None:
    with Loopback() as server:
        names = imported("run", "hi", "--model", "openai/x", "--api-base", server.url, cwd=ledger)
    own = {
        each
        for each in names
        if each.partition(".")[0] in ("cli", "agent", "tools", "sandbox", "patchwright", "packages")
    }
    assert len(own) <= MOST_MODULES, sorted(own)


@pytest.mark.parametrize("name", ["openai_responses/x", "anthropic/x"])
def test_nor_does_one_in_another_format(name: str, ledger: Path) -> None:
    with Loopback() as server:
        names = imported("run", "hi", "--model", name, "--api-base", server.url, cwd=ledger)
    assert not names & HEAVY


def test_the_offline_engine_and_scripts_need_no_provider_library(ledger: Path, tmp_path: Path) -> None:
    names = imported("run", "hi", "--model", script(tmp_path, [{"text": "hello"}]), cwd=ledger)
    assert not names & (HEAVY - {"pydantic"})  # a script is checked by it


def test_a_whole_offline_repair_never_imports_litellm(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    [bug] = [each for each in BUGS if each.name == "totals"]
    bug.write(repo.root)
    repo.commit_all()
    names = imported("run", "make the failing tests pass", "--model", "offline", cwd=repo.root)
    assert repo.git("rev-list", "--count", "HEAD").strip() == "2", "it went all the way, to its commit"
    assert not names & {"litellm", "httpx", "openai", "prompt_toolkit", "rich"}


UNUSED_EXTENSIONS = {
    "agent.extension.commands.command_catalog",
    "agent.extension.hooks.hook_catalog",
    "agent.extension.skills.skill_catalog",
}
"""What reads files for agents: where there are none, nothing of it is loaded."""


def test_the_first_request_is_small(ledger: Path) -> None:
    """System prompt and tool schemas at most 12 KB: peers send 3 to 79."""
    with Loopback() as server:
        names = imported("run", "hi", "--model", "openai/x", "--api-base", server.url, cwd=ledger)
        assert len(server.requests[0].raw) <= 12 * 1024
    assert not names & UNUSED_EXTENSIONS
