"""A failed session runs on from the step of its error, with the diagnosis, in a worktree; a model gives an opinion."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import call, run, script
from tests.support.repo import Repo

pytestmark = pytest.mark.slow

CART = "def total(items):\n    return sum(items[1:])\n"
TEST = "from cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"


@pytest.fixture
def failed_session(tmp_path: Path) -> tuple[Repo, str]:
    """A session whose edit left the test failing: the repository, with that edit in its files, and the id."""
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", CART)
    repo.write("notes.txt", "before\n")
    repo.write("test_cart.py", TEST)
    repo.commit_all()
    wrong = call("edit", path="cart.py", old="items[1:]", new="items[2:]")
    turns = [
        {"calls": [call("read", path="cart.py")]},
        {"calls": [wrong]},
        {"calls": [call("run_tests")]},
        {"text": "I cannot mend it."},
    ]
    done = run(
        "run",
        "mend total",
        "--no-commit",
        "--model",
        script(tmp_path, turns),
        "--output",
        "json",
        cwd=repo.root,
    )
    repo.write("notes.txt", "changed by hand since\n")
    return repo, str(json.loads(done.out)["session"])


def retry(repo: Repo, session: str, model: str, *more: str) -> tuple[int, dict[str, object]]:
    done = run(
        "diagnose", session, "--retry-from", *(more or ("error",)), "--model", model, "--json", cwd=repo.root
    )
    assert done.out, done.err
    return done.code, json.loads(done.out)


def test_it_runs_on_before_the_error_and_says_that_it_helped(
    failed_session: tuple[Repo, str], tmp_path: Path
) -> None:
    repo, session = failed_session
    turns = [
        {
            "expect": [{"anywhere": "mend total"}, {"anywhere": "leaves test_cart.py::test_total failing"}],
            "calls": [call("read", path="cart.py")],
        },
        {"calls": [call("edit", path="cart.py", old="items[1:]", new="items")]},
        {"calls": [call("run_tests")]},
        {"text": "Mended."},
    ]
    code, told = retry(repo, session, script(tmp_path, turns, "again"))
    assert (code, told["helped"], told["step"], told["next_error"]) == (0, True, 2, None), told
    assert (told["failing_before"], told["failing_after"]) == (1, 0)
    assert "items[2:]" in repo.read("cart.py"), "the files of the user stay"
    assert repo.read("notes.txt") == "changed by hand since\n"
    repo.git("apply", str(told["patch"]))
    assert repo.read("cart.py") == CART.replace("items[1:]", "items")
    assert repo.git("worktree", "list").count("\n") <= 1, "the worktree is gone"
    listed = {each["id"]: each for each in run("sessions", "--json", cwd=repo.root).events}
    assert listed[str(told["session"])]["parent"] in ("", session)


def test_it_says_that_it_did_not_help_and_where_it_failed_now(
    failed_session: tuple[Repo, str], tmp_path: Path
) -> None:
    repo, session = failed_session
    turns = [
        {"calls": [call("edit", path="cart.py", old="items[1:]", new="items[3:]")]},
        {"calls": [call("run_tests")]},
        {"text": "Not mended."},
    ]
    model = script(tmp_path, turns, "again")
    done = run("diagnose", session, "--retry-from", "2", "--model", model, cwd=repo.root)
    assert done.code == 13, done.err
    assert done.out.startswith("it did not help: ")
    assert "failing tests: 1 before, 1 now" in done.out
    assert "its edit of cart.py leaves test_cart.py::test_total failing" in done.out


@pytest.mark.parametrize("step", ["99", "x", "0", "-1"])
def test_a_step_that_there_is_not_is_refused(
    failed_session: tuple[Repo, str], tmp_path: Path, step: str
) -> None:
    repo, session = failed_session
    done = run("diagnose", session, "--retry-from", step, "--model", script(tmp_path, [], "m"), cwd=repo.root)
    assert done.code == 2


def test_a_model_gives_an_opinion_on_the_segments(failed_session: tuple[Repo, str], tmp_path: Path) -> None:
    repo, session = failed_session
    answer = 'Let me see. {"step": 1, "kind": "missing plan", "reason": "it read too little"}'
    turns = [{"expect": ["[step 2]", "edit cart.py", "Outcome: "], "text": answer}]
    done = run("diagnose", session, "--model", script(tmp_path, turns, "o"), "--json", cwd=repo.root)
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["step"] == 2, "the diagnosis stands"
    assert {key: told["opinion"][key] for key in ("step", "kind", "agrees")} == {
        "step": 1,
        "kind": "missing plan",
        "agrees": False,
    }
    lines = run(
        "diagnose", session, "--model", script(tmp_path, [{"text": '{"step": 77}'}], "p"), cwd=repo.root
    ).out
    assert "opinion of " in lines
    assert "no step" in lines
