"""Stories of two sessions: the second is shorter because of the first, and a stale lesson is corrected.

The model is a server that knows nothing of the repository but what it was sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent.memory.recall_text import HEAD
from agent.model.protocol import Request
from tests.support.cli import call, run
from tests.support.confined import needs_confinement
from tests.support.loopback import Loopback
from tests.support.repo import Repo

pytestmark = pytest.mark.slow

CANDIDATES = ("make test", "just test", "./check test", "sh tools/check.sh test")


def answer(request: Request) -> Mapping[str, Any]:
    """Edit the file, then run the tests: by a command that it was told of, else by the next that may be right."""
    text = request.model_dump_json() if hasattr(request, "model_dump_json") else repr(request)
    turn = text[text.rindex("PROMPT") :]
    tried = [each for each in CANDIDATES if re.search(rf"command\W+{re.escape(each)}\W", turn)]
    if "all checks passed" in turn:
        return {"text": "Done: x has its new value."}
    told = re.findall(r"L[0-9a-f]{8}: .*?`([^`]+)` works", turn) + re.findall(r"`([^`]+)` worked", turn)
    fresh = [each for each in [*told, *CANDIDATES] if each not in tried]
    calls = [call("shell", command=fresh[0])]
    if "PROMPT one" in turn and not tried:
        calls.insert(0, call("edit", path="shop.py", old="x = 1", new="x = 2"))
    return {"calls": calls}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    found = Repo(tmp_path / "shop")
    found.write("shop.py", "x = 1\n")
    found.write("tools/check.sh", "echo all checks passed\n")
    found.commit_all()
    needs_confinement(found.root)
    return found


def work(repo: Repo, number: str) -> tuple[int, int, str]:
    """Run a session; return its steps, the bytes of its requests, and what the model was told of the memory."""
    repo.git("checkout", "-q", ".")
    with Loopback(answer) as server:
        result = run(
            "run", f"PROMPT {number}: change x to two in shop.py and run the tests", "--model", "openai/x",
            "--api-base", server.url, "--no-commit", "-o", "stream-json", cwd=repo.root,
        )  # fmt: skip
        sent = server.requests[-1].raw.decode()
        size = sum(len(each.raw) for each in server.requests)
    [end] = [each for each in result.events if each["kind"] == "end"]
    assert "Done" in end["summary"], result.out[-3000:]
    recalled = [
        each["text"] for each in result.events if each["kind"] == "steer" and each["text"].startswith(HEAD)
    ]
    assert all(json.dumps(each)[1:40] in sent for each in recalled)
    return end["steps"], size, "\n".join(recalled)


def test_the_second_session_is_shorter_and_a_stale_lesson_is_corrected(repo: Repo) -> None:
    steps, size, told = work(repo, "one")
    assert told == ""
    later, smaller, told = work(repo, "one")
    assert "`sh tools/check.sh test` works" in told
    assert later < steps
    assert smaller < size
    shown = run("memory", "list", "--json", cwd=repo.root).out
    lessons = {each["id"]: each for each in json.loads(shown)["lessons"]}
    assert any(each["good"] >= 2 for each in lessons.values()), "its effect is recorded"
    used = [each for each in lessons if "; followed; " in run("memory", "why", each, cwd=repo.root).out]
    assert used

    # The tests move: the check of the lesson fails, so it is not shown; what works now takes its place.
    repo.write("Makefile", "test:\n\t@echo all checks passed\n")
    repo.git("mv", "tools/check.sh", "tools/old.sh")
    repo.commit_all("Move the checks")
    _, _, told = work(repo, "one")
    assert "check.sh" not in told
    _, _, told = work(repo, "one")
    assert "`make test` works" in told
    assert "check.sh" not in told


def test_off_recalls_nothing(repo: Repo) -> None:
    work(repo, "one")
    run("memory", "off", cwd=repo.root)
    assert work(repo, "one")[2] == ""


def test_a_command_that_failed_three_times_is_answered_with_what_worked(repo: Repo) -> None:
    from agent.app_dirs import Home
    from agent.memory.memory_key import find_store_path
    from agent.memory.memory_store import MemoryStore

    work(repo, "one")
    run(
        "config", "set", "memory.budget", "0", cwd=repo.root
    )  # nothing is told, so the same commands are tried
    for _ in range(2):
        work(repo, "one")
    store = MemoryStore(find_store_path(Home.from_environment(), repo.root))
    assert store.list_failures(3)
    with Loopback(answer) as server:
        result = run(
            "run", "PROMPT one: change x to two in shop.py and run the tests", "--model", "openai/x",
            "--api-base", server.url, "--no-commit", "-o", "stream-json", "-C", repo.root, cwd=repo.root,
        )  # fmt: skip
    texts = [each["text"] for each in result.events if each["kind"] == "observation"]
    assert any(
        "failed the last 3 times" in each and "`sh tools/check.sh test` worked" in each for each in texts
    ), texts


PLACES = tuple(f"shop/{name}.py" for name in ("cart", "order", "stock", "price", "basket"))


def search_and_edit(request: Request) -> Mapping[str, Any]:
    """Read files until one has the discount, those first that were told of as similar work; then change it."""
    text = request.model_dump_json() if hasattr(request, "model_dump_json") else repr(request)
    turn = text[text.rindex("PROMPT") :]
    seen = list(dict.fromkeys(re.findall(r"REBATE = (\d+)", turn)))
    if len(seen) > 1:
        return {"text": "Done: the discount has its new value."}
    if seen:
        change = {"old": f"REBATE = {seen[0]}", "new": f"REBATE = {int(seen[0]) + 1}"}
        return {"calls": [call("edit", path=PLACES[-1], **change)]}
    told = re.findall(r"similar earlier work was in (\S+?)[,\s]", turn)
    read = re.findall(r"path\W+(shop/\w+\.py)", turn)
    fresh = [each for each in [*told, *PLACES] if each not in read]
    return {"calls": [call("read", path=fresh[0])]}


def test_the_second_session_goes_to_the_file_of_the_first(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    for each in PLACES[:-1]:
        repo.write(each, "x = 1\n")
    repo.write(PLACES[-1], "REBATE = 5\n")
    repo.commit_all()
    figures = []
    for prompt in ("raise the loyalty rebate by one", "raise the loyalty rebate by one more"):
        with Loopback(search_and_edit) as server:
            result = run(
                "run", f"PROMPT {len(figures)}: {prompt}", "--model", "openai/x", "--api-base", server.url,
                "--no-commit", "-o", "stream-json", cwd=repo.root,
            )  # fmt: skip
            size = sum(len(each.raw) for each in server.requests)
        [end] = [each for each in result.events if each["kind"] == "end"]
        assert "Done" in end["summary"], result.out[-3000:]
        told = [each["text"] for each in result.events if each["kind"] == "steer" and HEAD in each["text"]]
        figures.append((end["steps"], size, told))
    (steps, size, before), (later, smaller, told) = figures
    assert (before, len(told)) == ([], 1)
    assert "similar earlier work was in shop/basket.py" in told[0]
    assert "it shares" in told[0]
    assert later <= steps - 3
    assert smaller < 0.7 * size
    assert (repo.root / PLACES[-1]).read_text() == "REBATE = 7\n"
