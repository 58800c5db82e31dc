"""`patchwright session …`: real sessions, found, forked, named, moved and removed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.app_dirs import Home
from agent.session.log import Session
from agent.session.session_index import load_session_summaries
from agent.session.session_pruning import is_open, remove_old_sessions
from tests.support.cli import run, script


def asked(folder: Path, tmp_path: Path, prompt: str, answer: str) -> str:
    """A session with one question; its id."""
    model = script(tmp_path, [{"text": answer}])
    result = run("run", prompt, "--model", model, "--output", "json", cwd=folder)
    assert result.code == 0, result.err
    return str(json.loads(result.out)["session"])


@pytest.mark.slow
def test_sessions_are_found_named_and_copied(ledger: Path, tmp_path: Path) -> None:
    first = asked(ledger, tmp_path, "why is the rounding wrong?", "Because of a walrus in the ledger.")
    second = asked(ledger, tmp_path, "something else", "Nothing here.")
    found = run("session", "search", "walrus", cwd=ledger)
    assert first in found.out
    assert second not in found.out
    assert "«walrus»" in found.out
    nothing = run("session", "search", 'unfindable OR "', cwd=ledger)
    assert nothing.code == 3
    assert "nothing found" in nothing.err
    assert run("session", "title", first, "the  rounding", cwd=ledger).code == 0
    assert "the rounding" in run("sessions", cwd=ledger).out
    copy = run("session", "fork", first, cwd=ledger)
    assert copy.code == 0
    assert copy.out.strip() in run("sessions", cwd=ledger).out
    file = tmp_path / "export.jsonl"
    assert run("session", "export", first, "--to", str(file), cwd=ledger).code == 0
    refused = run("session", "export", first, "--to", str(file), cwd=ledger)
    assert (refused.code, "exists" in refused.err) == (2, True)
    brought = run("session", "import", str(file), cwd=ledger)
    assert brought.code == 0, brought.err
    model = script(
        tmp_path, [{"text": "-"}, {"text": "Still so.", "expect": [{"anywhere": "walrus"}, "and now?"]}]
    )
    again = run("resume", brought.out.strip(), "-p", "and now?", "--model", model, cwd=ledger)
    assert (again.code, again.out) == (0, "Still so.\n")
    missing = run("session", "export", "../..", cwd=ledger)
    assert (missing.code, "no session" in missing.err) == (2, True)


def test_pruning_takes_the_old_and_the_many_but_no_open_session(tmp_path: Path) -> None:
    home = Home.from_environment()
    root = tmp_path / "p"
    made = []
    for _ in range(4):
        session = Session.create(home.get_project_folder(root) / "sessions")
        session.rename("x")
        made.append(session)
    for session in made[1:]:
        session.close()
    found = load_session_summaries(home)
    size = sum(path.stat().st_size for path in made[1].folder.iterdir())
    assert is_open(made[0].folder)
    assert not is_open(made[1].folder)
    dry = remove_old_sessions(found, older_than=None, keep_bytes=0, dry=True)
    assert len(dry.removed) == 3
    assert all(session.folder.exists() for session in made)
    assert not remove_old_sessions(found, older_than=3600, keep_bytes=None).removed
    done = remove_old_sessions(found, older_than=None, keep_bytes=size + 1)
    assert made[0].folder.exists(), "it is open"
    assert len(done.removed) in (2, 3)
    made[0].close()
    left = load_session_summaries(home)
    assert remove_old_sessions(left, older_than=-1, keep_bytes=None).kept == 0
    assert not load_session_summaries(home)


def test_the_index_of_words_survives_damage_and_follows_the_logs(tmp_path: Path) -> None:
    from agent.events import Prompt
    from agent.session.session_search import search_logs

    home = Home.from_environment()
    session = Session.create(home.get_project_folder(tmp_path) / "sessions")
    session.append(Prompt(text="the first zebra"))
    assert [hit.event for hit in search_logs(home, "zebra")] == ["e1"]
    session.append(Prompt(text="a second zebra, striped"))
    assert len(search_logs(home, "zebra")) == 2
    assert [hit.event for hit in search_logs(home, "zebra striped")] == ["e2"]
    assert search_logs(home, "zebra", project=home.get_project_folder(tmp_path / "other")) == []
    (home.cache / "search.sqlite").write_bytes(b"no database" * 999)
    assert len(search_logs(home, "zebra")) == 2
    session.close()
    for path in session.folder.iterdir():
        path.unlink()
    assert search_logs(home, "zebra") == []
