"""The main job through every kind of model: the same script gives the same work and the same commit."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.story import SUMMARY, repair
from tests.support.cli import Result, git, run, script
from tests.support.loopback import Loopback

PROMPT = "make the failing tests pass"


def check_commit(ledger: Path, result: Result, model: str) -> None:
    """One new commit: the user's name, a trailer, the three files and nothing else; nothing left over."""
    assert result.code == 0, result.err
    assert result.out.strip() == SUMMARY
    assert git(ledger, "rev-list", "--count", "HEAD").strip() == "11"
    shown = git(
        ledger, "show", "--format=%an|%ae|%cn|%s|%(trailers:key=Assisted-by,valueonly)", "--name-only"
    )
    head, *files = [line for line in shown.splitlines() if line]
    author, email, committer, subject, trailer = head.split("|")
    assert (author, email, committer) == ("Patchwright Demo", "demo@example.org", "Patchwright Demo")
    assert subject == "Settle March to the cent"
    assert trailer == f"Patchwright ({model})"
    assert files == ["ledger/balance.py", "ledger/journal.py", "ledger/report.py"]
    assert "+    return ranked[:count]" in git(ledger, "show")


@pytest.mark.slow
def test_a_scripted_model_does_the_main_job(ledger: Path, tmp_path: Path) -> None:
    model = script(tmp_path, repair())
    result = run("run", PROMPT, "--model", model, cwd=ledger)
    check_commit(ledger, result, model)
    assert git(ledger, "status", "--porcelain") == ""


@pytest.mark.slow
def test_a_streaming_server_does_the_main_job(ledger: Path) -> None:
    with Loopback(repair()) as server:
        result = run("run", PROMPT, "--model", "openai/test", "--api-base", server.url, cwd=ledger)
    check_commit(ledger, result, "openai/test")
    assert git(ledger, "status", "--porcelain") == ""
    first = server.requests[0].body
    assert first["stream"] is True
    assert first["messages"][-1]["role"] == "user"
    assert first["messages"][-1]["content"].endswith(f"\n\n{PROMPT}")
    assert {tool["function"]["name"] for tool in first["tools"]} >= {
        "read", "list", "search", "code", "edit", "write", "shell", "run_tests", "plan",
        "git_status", "git_diff", "git_commit", "recall", "finish",
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_litellm_against_the_same_server_does_the_main_job(ledger: Path) -> None:
    with Loopback(repair()) as server:
        result = run(
            "run", PROMPT, "--model", "litellm/openai/test", "--api-base", server.url,
            cwd=ledger, env={"OPENAI_API_KEY": "test"}, timeout=150,
        )  # fmt: skip
    check_commit(ledger, result, "litellm/openai/test")


def without_the_ledger(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The conversation: what is computed anew for each request stands after it, so that it breaks no cache."""
    ledgers = [each for each in messages if str(each["content"]).startswith("[state of the work")]
    assert not ledgers or messages[-1:] == ledgers
    return messages[: len(messages) - len(ledgers)]


@pytest.mark.slow
def test_each_request_begins_with_the_bytes_of_the_one_before(ledger: Path) -> None:
    """Providers cache by prefix: nothing that was sent may be encoded differently the next time."""
    with Loopback(repair()) as server:
        assert run("run", PROMPT, "--model", "openai/test", "--api-base", server.url, cwd=ledger).code == 0
    assert len(server.requests) == 6
    sent = [without_the_ledger(request.body["messages"]) for request in server.requests]
    for before, after in itertools.pairwise(sent):
        assert after[: len(before)] == before
    assert all(request.body["tools"] == server.requests[0].body["tools"] for request in server.requests)


@pytest.mark.slow
def test_nothing_of_the_users_is_swept_into_the_commit(ledger: Path, tmp_path: Path) -> None:
    """Staged, unstaged, untracked, and a line in a file that the agent changes too: all stay the user's."""
    readme = ledger / "README.md"
    readme.write_text(readme.read_text() + "\nMy own line.\n")
    git(ledger, "add", "README.md")
    money = ledger / "ledger/money.py"
    money.write_text(money.read_text() + "\n# mine, unstaged\n")
    (ledger / "notes.txt").write_text("mine, untracked\n")
    journal = ledger / "ledger/journal.py"
    journal.write_text(journal.read_text().replace('"""The journal:', '"""The journal (mine):'))

    model = script(tmp_path, repair())
    result = run("run", PROMPT, "--model", model, cwd=ledger)

    check_commit(ledger, result, model)
    assert "mine" not in git(ledger, "show", "HEAD")
    assert git(ledger, "status", "--porcelain").splitlines() == [
        "M  README.md",
        " M ledger/journal.py",
        " M ledger/money.py",
        "?? notes.txt",
    ]
    assert "My own line." in git(ledger, "diff", "--cached")
    assert '+"""The journal (mine):' in git(ledger, "diff", "ledger/journal.py")
    assert "expense.day <= last" not in git(ledger, "diff", "ledger/journal.py"), "that part is committed"


@pytest.mark.slow
def test_the_offline_engine_does_the_main_job(ledger: Path) -> None:
    """No key, no network, nothing scripted: five failing tests, four kinds of bug, three files."""
    result = run("run", PROMPT, cwd=ledger, timeout=180)
    assert result.code == 0, result.err
    assert "offline engine" in result.err
    assert git(ledger, "rev-list", "--count", "HEAD").strip() == "11"
    assert git(ledger, "status", "--porcelain") == ""
    diff = git(ledger, "show", "--format=%s")
    for fix in ("<= last", "Transfer(debtor, creditor, cents)", "- share"):
        assert fix in diff
    again = run("run", PROMPT, cwd=ledger, timeout=180)
    assert again.code == 3, again.err
    assert git(ledger, "rev-list", "--count", "HEAD").strip() == "11"


@pytest.mark.slow
def test_without_commit_the_changes_stay_in_the_work_tree(ledger: Path, tmp_path: Path) -> None:
    turns = repair()
    del turns[4]
    turns[4]["expect"] = ["36 passed"]
    turns[0]["expect"] = [{"anywhere": "run_tests"}]
    result = run("run", PROMPT, "--no-commit", "--model", script(tmp_path, turns), cwd=ledger)
    assert result.code == 0, result.err
    assert git(ledger, "rev-list", "--count", "HEAD").strip() == "10"
    assert len(git(ledger, "status", "--porcelain").splitlines()) == 3


@pytest.mark.slow
def test_a_verified_turn_is_committed_when_the_model_forgot_to(ledger: Path, tmp_path: Path) -> None:
    turns = repair()
    del turns[3:5]  # neither a test run after the edits nor a commit: the harness does both
    turns[3] = {"calls": turns[3]["calls"]}
    result = run("run", PROMPT, "--model", script(tmp_path, turns), "--output", "json", cwd=ledger)
    assert result.code == 0, result.err
    end = result.events[0]
    assert end["outcome"] == "done"
    assert end["verification"].startswith("passed: 36 passed")
    assert end["commit"] == git(ledger, "rev-parse", "HEAD").strip()
    assert end["files"] == ["ledger/balance.py", "ledger/journal.py", "ledger/report.py"]
    assert git(ledger, "status", "--porcelain") == ""


@pytest.mark.slow
def test_a_claim_of_success_is_given_back_with_the_failures(ledger: Path, tmp_path: Path) -> None:
    path, old, new = "ledger/journal.py", "first <= expense.day < last", "first <= expense.day <= last"
    turns = [
        {"calls": [{"tool": "edit", "arguments": {"path": path, "old": old, "new": new}}]},
        {"text": "All done, everything passes!"},
        {"text": "I was wrong: four still fail.", "expect": ["test_who_owes_pays_and_who_is_owed_receives"]},
    ]
    result = run("run", PROMPT, "--model", script(tmp_path, turns), cwd=ledger)
    assert result.code == 1, result.err
    assert git(ledger, "rev-list", "--count", "HEAD").strip() == "10", "what does not pass is not committed"
