"""Cases of turns, and what a person does with them."""

from __future__ import annotations

import json
import resource
import signal
import stat
from pathlib import Path

import pytest

from agent.app_dirs import Home
from agent.memory.command_purposes import find_cause, find_purpose
from agent.memory.memory_key import find_store_path
from agent.memory.memory_store import MemoryStore
from agent.memory.records import Case
from packages.memory.commands.memory import export
from packages.memory.memory_file import export_memory, import_memory
from sandbox.errors import UserError
from tests.support.cli import call, run, script
from tests.support.repo import Repo

TURNS = [
    {"calls": [call("shell", command="pytst -q"), call("read", path="shop.py")]},
    {
        "calls": [
            call("shell", command="python3 -c 'import shop'"),
            call("edit", path="shop.py", old="1", new="2"),
        ]
    },
    {"text": "It is two now."},
]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    found = Repo(tmp_path / "shop")
    found.write("shop.py", "x = 1\n")
    found.commit_all()
    return found


def work(repo: Repo, prompt: str = "set x to two") -> None:
    result = run("run", prompt, "--model", script(repo.root.parent, TURNS), "--no-commit", cwd=repo.root)
    assert "It is two now" in result.out, result.err


@pytest.mark.slow
def test_a_turn_is_remembered(repo: Repo) -> None:
    work(repo)
    [case] = json.loads(run("memory", "list", "--json", cwd=repo.root).out)["cases"]
    assert case["task"] == "set x to two"
    assert case["places"][0] == "shop.py"
    assert [each["line"] for each in case["commands"]] == ["python3 -c 'import shop'"]
    [failure] = case["failures"]
    assert failure["line"] == "pytst -q"
    assert "not found" in failure["cause"]
    assert case["steps"] == 3
    shown = run("memory", "show", f"c{case['id']}", cwd=repo.root).out
    assert "failed: pytst -q" in shown
    assert case["session"] in run("memory", "why", f"c{case['id']}", cwd=repo.root).out


@pytest.mark.slow
def test_off_stores_nothing_and_an_export_can_be_imported(repo: Repo, tmp_path: Path) -> None:
    assert run("memory", "off", cwd=repo.root).code == 0
    work(repo)
    assert "nothing is remembered" in run("memory", "list", cwd=repo.root).out
    assert not list(Path.home().rglob("c-*.sqlite"))
    assert run("memory", "on", cwd=repo.root).code == 0
    repo.git("checkout", "-q", ".")
    work(repo)
    assert run("memory", "export", tmp_path / "memory.jsonl", cwd=repo.root).code == 0
    assert run("memory", "forget", "--all", cwd=repo.root).code == 0
    assert "nothing is remembered" in run("memory", "list", cwd=repo.root).out
    assert "cases: 1" in run("memory", "import", tmp_path / "memory.jsonl", cwd=repo.root).out
    assert "set x to two" in run("memory", "list", cwd=repo.root).out
    assert "forgot 1 record" in run("memory", "forget", "c1", cwd=repo.root).out
    assert run("memory", "forget", "c1", cwd=repo.root).code == 2


def test_an_export_that_fails_leaves_the_older_one(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repo.root)
    store = MemoryStore(find_store_path(Home.from_environment(), repo.root))
    store.add_case(Case(session="s", event="e", time=1.0, task="one " * 50_000))
    target = tmp_path / "memory.jsonl"
    target.write_text("older\n")
    target.chmod(0o640)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    kept = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(UserError, match="cannot write"):
            export(target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, kept)
    assert target.read_text() == "older\n"
    export(target)
    assert "one one" in target.read_text()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == ["memory.jsonl"]


def test_an_export_shows_no_hidden_character(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "a.sqlite")
    store.add_case(Case(session="s", event="e", time=1.0, task="\x9b31m red \u202e back"))
    lines = list(export_memory(store))
    assert all(each.isascii() for each in lines)
    copy = MemoryStore(tmp_path / "b.sqlite")
    import_memory([each.encode() for each in lines], copy)
    assert [each.task for each in copy.list_cases()] == ["\x9b31m red \u202e back"]


@pytest.mark.slow
def test_a_question_without_actions_is_not_remembered(repo: Repo) -> None:
    run("run", "what is this?", "--model", script(repo.root.parent, [{"text": "A shop."}]), cwd=repo.root)
    assert "nothing is remembered" in run("memory", "list", cwd=repo.root).out


@pytest.mark.parametrize(
    "line",
    ['{"patchwright_memory": 2}', "[]", "{}", "no json", '{"patchwright_memory": 1}\n{"lesson": {"id": []}}'],
)
def test_another_file_is_not_imported(line: str, repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(line)
    result = run("memory", "import", tmp_path / "x.jsonl", cwd=repo.root)
    assert result.code == 2
    assert "is not of an export" in result.err


def test_a_line_without_end_is_not_read_into_memory(repo: Repo) -> None:
    result = run("memory", "import", "/dev/zero", cwd=repo.root)
    assert (result.code, "line 1 is not of an export" in result.err) == (2, True)


@pytest.mark.parametrize(
    ("line", "purpose"),
    [
        ("uv run pytest -q tests/a.py", "test"),
        ("npm run test:unit", "test"),
        ("python3 -m unittest", "test"),
        ("make lint", "lint"),
        ("pip install -e .", "install"),
        ("cargo build --release", "build"),
        ("ls -la", ""),
        ("git status", ""),
        ("cat 'unfinished", ""),
    ],
)
def test_the_purpose_of_a_command(line: str, purpose: str) -> None:
    assert find_purpose(line) == purpose


def test_a_failing_test_is_not_a_wrong_command() -> None:
    assert find_cause("exit 127\nsh: 1: pytst: not found").is_wrong
    assert find_cause("/usr/bin/python3: No module named pytest").is_wrong
    assert not find_cause("FAILED tests/test_a.py::test_a - assert 1 == 2\n1 failed in 0.1s").is_wrong
