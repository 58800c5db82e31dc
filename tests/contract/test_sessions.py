"""Sessions of an older version: they are listed, gone on with, taken back, replayed and exported by this one.

How they were made: make_sessions.py. The layout of a project's data folder is written out here, because it is part of
the contract: a program that looks elsewhere finds no old session.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tarfile
from base64 import b64decode
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Result, call, git, run, script

SESSIONS = Path(__file__).parent / "sessions"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Old:
    """A project in which an older version worked, and its session there."""

    root: Path
    session: str
    log: Path

    def run(self, *arguments: str) -> Result:
        """Run the program in the project; it must succeed."""
        done = run(*arguments, cwd=self.root)
        assert done.code == 0, done.err
        return done

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_bytes().splitlines()]


def restore(name: str, root: Path) -> Old:
    """Put a stored session and its project where the program looks for them."""
    stored = SESSIONS / name
    git(stored, "clone", "-q", str(stored / "project.bundle"), str(root))
    if (stored / "uncommitted.patch").read_bytes():
        git(root, "apply", str(stored / "uncommitted.patch"))
    digest = hashlib.sha256(os.fsencode(root)).hexdigest()[:10]
    data = Path(os.environ["PATCHWRIGHT_HOME"]) / "data/projects" / f"{root.name}-{digest}"
    shutil.copytree(stored / "sessions", data / "sessions")
    with tarfile.open(stored / "snapshots.tar.xz") as archive:
        if hasattr(tarfile, "data_filter"):  # Python 3.11.4
            archive.extractall(data, filter="data")
        else:
            archive.extractall(data)
    [log] = data.glob("sessions/*/log.jsonl")
    _move(log, root)
    return Old(root=root, session=log.parent.name, log=log)


def _move(log: Path, root: Path) -> None:
    """Let the log name this project: only its first event does, beside what was sent, which stays as it was."""
    first, _, rest = log.read_bytes().partition(b"\n")
    project = json.dumps(json.loads(first)["project"]).encode()
    assert first.count(b'"project":' + project) == 1
    moved = first.replace(b'"project":' + project, b'"project":' + json.dumps(str(root)).encode())
    log.write_bytes(moved + b"\n" + rest)


@pytest.fixture(params=["edits", "compacted", "offline"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Old:
    return restore(request.param, tmp_path / "shop")


PROMPTS = {
    "Why does the first price not count? Mend it.",
    "How many lines are in all parts?",
    "make the failing tests pass",
}


def test_an_old_session_is_listed(old: Old) -> None:
    [listed] = [json.loads(line) for line in old.run("sessions", "--json").out.splitlines()]
    assert (listed["id"], listed["project"], listed["outcome"]) == (old.session, str(old.root), "done")
    assert listed["title"] in PROMPTS
    assert listed["steps"] == sum(event["kind"] == "message" for event in old.events())


def test_every_request_of_an_old_session_is_made_again_byte_by_byte(old: Old) -> None:
    lines = old.run("replay", old.session).out.splitlines()
    assert len(lines) == sum(event["kind"] == "message" for event in old.events())
    assert all(" messages  same " in line for line in lines), lines


def test_an_old_session_is_gone_on_with_and_both_turns_are_taken_back(old: Old, tmp_path: Path) -> None:
    before = old.log.read_bytes()
    asked = next(event["text"] for event in old.events() if event["kind"] == "prompt")
    changed = git(old.root, "status", "--porcelain")
    turns = [
        {
            "expect": ["Write a last word.", {"anywhere": asked}],
            "calls": [call("write", path="last.txt", content="word\n")],
        },
        {"calls": [call("write", path="last.txt", content="another word\n")]},
        {"text": "Written."},
    ]
    model = script(tmp_path, turns)
    done = run(
        "resume", old.session, "-p", "Write a last word.", "--no-commit", "--model", model,
        "--tests", "python -m pytest -q", cwd=old.root,
    )  # fmt: skip
    assert (done.code, done.out) == (0, "Written.\n"), done.err
    assert old.log.read_bytes().startswith(before), "a log only grows"
    assert "last.txt" in git(old.root, "status", "--porcelain")
    assert "same " in old.run("replay", old.session).out.splitlines()[-1]

    assert "last.txt" in old.run("undo").out
    assert git(old.root, "status", "--porcelain") == changed
    old.run("undo")
    assert git(old.root, "status", "--porcelain") != changed, "a turn of the older version is taken back"


def test_the_edits_of_an_old_session_are_taken_back_one_turn_after_the_other(tmp_path: Path) -> None:
    old = restore("edits", tmp_path / "shop")
    cart = old.root / "cart.py"
    assert '"""A cart of prices."""' in cart.read_text()
    assert (old.root / "notes/changes.txt").exists()

    old.run("undo")
    assert '"""A cart."""' in cart.read_text()
    assert (old.root / "CHANGES").read_text() == "total: every price counts\n"

    old.run("undo")
    assert "sum(prices[1:])" in cart.read_text()
    assert not (old.root / "CHANGES").exists()

    old.run("redo")
    assert "sum(prices)" in cart.read_text()


def test_an_old_session_is_exported_whole_and_taken_in_again(old: Old, tmp_path: Path) -> None:
    exported = old.run("session", "export", old.session).out
    log, outputs = old.log.read_text("utf-8"), old.log.parent / "artifacts"
    head, _, rest = exported.partition("\n")
    assert json.loads(head) == {"patchwright_export": 1, "session": old.session}
    assert rest.startswith(log), "its lines are those of the log"
    kept = [json.loads(line) for line in rest.removeprefix(log).splitlines()]
    assert {each["artifact"].replace(":", "-"): b64decode(each["base64"]) for each in kept} == {
        path.name: path.read_bytes() for path in outputs.iterdir()
    }
    (tmp_path / "export.jsonl").write_text(exported, "utf-8")
    again = old.run("session", "import", str(tmp_path / "export.jsonl")).out.strip()
    assert again in old.run("sessions").out


def test_the_compactions_of_an_old_session_still_hold(tmp_path: Path) -> None:
    old = restore("compacted", tmp_path / "shop")
    stages = [event["stage"] for event in old.events() if event["kind"] == "compaction"]
    assert set(stages) == {"folding", "summary"}
    turns = [
        {"expect": [{"anywhere": "the parts were counted"}], "calls": [call("recall", ref="e3")]},
        {"expect": ["part_0_0 = 0"], "text": "It was part_0."},
    ]
    model = script(tmp_path, turns)
    done = old.run("resume", old.session, "-p", "What came first?", "--no-commit", "--model", model)
    assert done.out == "It was part_0.\n"
