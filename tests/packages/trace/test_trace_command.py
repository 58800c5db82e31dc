"""`patchwright trace` as a person calls it."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import urllib.request
from pathlib import Path

import pytest

from tests.support.cli import PATCHWRIGHT, call, environment, run, script
from tests.support.repo import Repo

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path: Path) -> Path:
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", "x = 1\n")
    repo.commit_all()
    turns = [{"calls": [call("read", path="cart.py")]}, {"text": "It is one."}]
    done = run("run", "What is x?", "--no-commit", "--model", script(tmp_path, turns), cwd=repo.root)
    assert done.code == 0, done.err
    return repo.root


def test_the_newest_session_becomes_a_page_for_its_user_alone(project: Path) -> None:
    done = run("trace", cwd=project)
    assert done.code == 0, done.err
    path = project / done.out.strip()
    assert "What is x?" in path.read_text("utf-8")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = run("trace", cwd=project)
    assert again.code != 0
    assert "exists" in again.err
    assert run("trace", "--out", "other.html", cwd=project).out == "other.html\n"


def test_a_name_that_is_no_session_is_told(project: Path) -> None:
    for name in ("nothing", "../sessions", "."):
        done = run("trace", name, cwd=project)
        assert done.code == 2, (name, done)
        assert "no session" in done.err
    assert run("trace", "--serve", "--out", "x.html", cwd=project).code == 2


def test_a_failed_session_is_diagnosed_and_one_that_did_not_fail_is_told(
    project: Path, tmp_path: Path
) -> None:
    fine = run("diagnose", cwd=project)
    assert (fine.code, fine.out) == (3, "")
    assert "did not fail" in fine.err
    turns = [
        {"calls": [call("read", path="made/up.py")]},
        {"error": {"fault": "model-unreachable", "message": "429"}},
    ]
    run("run", "What is y?", "--no-commit", "--model", script(tmp_path, turns), cwd=project)
    done = run("diagnose", cwd=project)
    assert done.code == 0, done.err
    assert "Rate Limiting" in done.out
    [told] = run("diagnose", "--json", cwd=project).events
    assert (told["kind"], told["agent"]) == ("Rate Limiting", "")
    assert run("trace", "--out", "page.html", cwd=project).code == 0
    assert '"kind":"Rate Limiting"' in (project / "page.html").read_text("utf-8")


def test_a_served_page_ends_with_ctrl_c(project: Path) -> None:
    process = subprocess.Popen(
        [*PATCHWRIGHT, "trace", "--serve"], cwd=project, env=environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    assert address.startswith("http://127.0.0.1:")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(address, timeout=30) as answer:
        assert b"What is x?" in answer.read()
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert "Traceback" not in err
