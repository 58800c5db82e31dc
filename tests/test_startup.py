"""What is not imported: start-up stays fast because the heavy things stay out until they are needed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import CHECKOUT, environment, script
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


MOST_MODULES, MOST_DATA_CLASSES = 185, 141
"""Modules and data classes of ours before the first request. Each more costs every start: import it where it is first
needed, after the request if it is not part of it (`sandbox/deferred.py`, `agent/turn/late_parts.py`)."""

COUNT = """
import json, os, sys

def list_classes(cls, found):
    for each in type.__subclasses__(cls):
        if each not in found:
            found.add(each)
            list_classes(each, found)
    return found

def count_at_request(event, arguments):
    if event != "http.client.send" or arguments[1][:4] != b"POST" or os.path.exists(place):
        return
    floors = ("cli", "agent", "tools", "sandbox", "patchwright", "packages")
    modules = sorted(each for each in sys.modules if each.partition(".")[0] in floors)
    classes = sorted(
        f"{each.__module__}.{each.__qualname__}"
        for each in list_classes(object, set())
        if "__dataclass_fields__" in each.__dict__ and each.__module__ in modules
    )
    with open(place, "w") as file:
        json.dump([modules, classes], file)

place = sys.argv.pop()
sys.addaudithook(count_at_request)
from patchwright.launcher import main
sys.exit(main())
"""
"""Runs the program, and writes what it has imported when it first sends a prompt."""


def test_the_way_to_the_first_request_imports_no_more_than_it_did(ledger: Path, tmp_path: Path) -> None:
    program, counted = tmp_path / "count.py", tmp_path / "counted.json"
    program.write_text(COUNT)
    with Loopback() as server:
        question = ["run", "hi", "--model", "openai/x", "--api-base", server.url]
        for _ in range(2):  # the first run also finds out which sandbox works
            counted.unlink(missing_ok=True)
            done = subprocess.run(
                [sys.executable, str(program), *question, str(counted)],
                cwd=ledger, env={**environment(), "PYTHONPATH": str(CHECKOUT)}, capture_output=True, text=True,
                timeout=60, check=False, stdin=subprocess.DEVNULL,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr[-2000:]
    modules, classes = json.loads(counted.read_text())
    assert len(modules) <= MOST_MODULES, modules
    assert len(classes) <= MOST_DATA_CLASSES, classes


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
