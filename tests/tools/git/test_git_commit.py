"""A commit holds what the session changed and nothing of the user's."""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from pathlib import Path

import pytest

from sandbox.errors import Fault, UserError
from tests.support.repo import Repo, agent_removes, agent_writes, remember_original
from tools.core.action import Observation, ToolFailure
from tools.core.workspace import Workspace
from tools.git.commits.session_commit import CommitResult, commit_session
from tools.git.git_process import Git
from tools.git.git_tools import git_commit
from tools.git.messages.message_style import learn_style

pytestmark = pytest.mark.slow


LINES = "".join(f"line {number}\n" for number in range(1, 21))


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.write("a.py", LINES)
    made.write("b.py", "b\n")
    made.commit_all("first")
    return made


def make(at: Workspace, message: str = "Fix it") -> CommitResult:
    return asyncio.run(commit_session(at, message))


def refusal(at: Workspace, message: str = "Fix it") -> str:
    with pytest.raises(ToolFailure) as failure:
        make(at, message)
    return str(failure.value)


def test_a_commit_has_the_changed_file_the_identity_and_the_trailer(repo: Repo) -> None:
    at = repo.workspace()
    agent_writes(at, "a.py", LINES.replace("line 2\n", "line two\n"))
    made = make(at, "Spell two\n\nIt was a digit.")
    assert repo.git("log", "-1", "--format=%an <%ae>|%cn <%ce>") == (
        "Test Person <person@example.org>|Test Person <person@example.org>\n"
    )
    assert repo.git("log", "-1", "--format=%B").rstrip("\n") == (
        "Spell two\n\nIt was a digit.\n\nAssisted-by: Patchwright (scripted:turns.yaml)"
    )
    assert made.sha == repo.head()
    assert [(file.path, file.added, file.removed) for file in made.files] == [("a.py", 1, 1)]
    assert at.changes.originals == {}
    assert repo.git("status", "--porcelain") == ""


def test_a_message_with_a_character_that_cannot_be_written_is_committed(repo: Repo) -> None:
    at = repo.workspace()
    agent_writes(at, "b.py", "1\n")
    assert make(at, "Fix it \ud83d").subject == "Fix it ?"


def test_an_existing_trailer_paragraph_is_continued_and_a_lone_subject_is_not_one(repo: Repo) -> None:
    at = repo.workspace(model="")
    agent_writes(at, "b.py", "1\n")
    make(at, "fix: b\n\nFixes: #12\nReviewed-by: Someone")
    assert repo.git("log", "-1", "--format=%B").rstrip("\n") == (
        "fix: b\n\nFixes: #12\nReviewed-by: Someone\nAssisted-by: Patchwright"
    )
    agent_writes(at, "b.py", "2\n")
    make(at, "fix: b again")
    assert repo.git("log", "-1", "--format=%B").rstrip("\n") == "fix: b again\n\nAssisted-by: Patchwright"


def test_the_users_staged_unstaged_and_untracked_changes_stay_as_they_were(repo: Repo) -> None:
    repo.write("c.py", "c\n")
    repo.commit_all()
    repo.write("b.py", "staged by the user\n")
    repo.git("add", "b.py")
    repo.write("b.py", "staged by the user\nand more, unstaged\n")
    repo.write("c.py", "unstaged\n")
    repo.write("notes.txt", "untracked\n")
    before = {path: entry for path, entry in repo.index().items() if path != "a.py"}
    at = repo.workspace()
    agent_writes(at, "a.py", "agent\n")
    make(at)
    assert repo.committed() == ["a.py"]
    assert {path: entry for path, entry in repo.index().items() if path != "a.py"} == before
    assert repo.git("status", "--porcelain") == "MM b.py\n M c.py\n?? notes.txt\n"
    assert repo.read("b.py") == "staged by the user\nand more, unstaged\n"


def test_a_file_that_both_changed_is_committed_by_hunk(repo: Repo) -> None:
    users = LINES.replace("line 19\n", "line nineteen (user)\n")
    repo.write("a.py", users)
    at = repo.workspace()
    agent_writes(at, "a.py", users.replace("line 2\n", "line two (agent)\n"))
    make(at)
    assert repo.show("a.py") == LINES.replace("line 2\n", "line two (agent)\n")
    assert repo.show("a.py", "") == repo.show("a.py")  # the index followed
    assert "nineteen (user)" in repo.read("a.py")
    assert repo.git("diff", "--stat", "--cached") == ""


def test_what_the_user_staged_of_the_same_file_stays_staged_on_top(repo: Repo) -> None:
    users = LINES.replace("line 19\n", "line nineteen (user)\n")
    repo.write("a.py", users)
    repo.git("add", "a.py")
    at = repo.workspace()
    agent_writes(at, "a.py", users.replace("line 2\n", "line two (agent)\n"))
    make(at)
    assert "nineteen" not in repo.show("a.py")
    assert repo.show("a.py", "") == users.replace("line 2\n", "line two (agent)\n")
    assert repo.git("status", "--porcelain") == "M  a.py\n"


def test_changes_to_the_same_lines_are_refused_and_nothing_moves(repo: Repo) -> None:
    repo.write("a.py", LINES.replace("line 2\n", "line two (user)\n"))
    at = repo.workspace()
    agent_writes(at, "a.py", LINES.replace("line 2\n", "line two (agent)\n"))
    head, index = repo.head(), repo.index()
    text = refusal(at)
    assert "a.py: your changes touch lines" in text
    assert (repo.head(), repo.index()) == (head, index)
    assert list(at.changes.originals) == ["a.py"]


def test_a_file_that_the_user_had_not_yet_added_is_left_out(repo: Repo) -> None:
    repo.write("draft.py", "mine\n")
    at = repo.workspace()
    agent_writes(at, "draft.py", "mine\nand yours\n")
    agent_writes(at, "new.py", "agent\n")
    made = make(at)
    assert repo.committed() == ["new.py"]
    assert list(made.left_out) == ["draft.py"]
    assert repo.git("status", "--porcelain") == "?? draft.py\n"
    assert "the user's" in refusal(at)


def test_new_removed_executable_and_strangely_named_files_are_committed(repo: Repo) -> None:
    at = repo.workspace()
    names = [
        "with space.txt",
        "ünïcode.txt",
        'quote".txt',
        "new\nline.txt",
        "deep/er/file.txt",
        "-option.txt",
    ]
    for name in names:
        agent_writes(at, name, f"{name}\n")
    agent_removes(at, "b.py")
    agent_writes(at, "run.sh", "#!/bin/sh\n")
    (repo.root / "run.sh").chmod(0o755)
    made = make(at)
    assert sorted(repo.committed()) == sorted([*names, "b.py", "run.sh"])
    assert sorted(file.path for file in made.files) == sorted([*names, "b.py", "run.sh"])
    assert repo.index()["run.sh"].startswith("100755")
    assert repo.show("new\nline.txt") == "new\nline.txt\n"
    assert repo.git("status", "--porcelain") == ""


def test_a_mode_is_committed_when_the_session_changed_it_and_not_when_the_user_did(repo: Repo) -> None:
    (repo.root / "a.py").chmod(0o755)  # the user's, uncommitted
    at = repo.workspace()
    agent_writes(at, "a.py", "agent\n")
    remember_original(at, "b.py")
    (repo.root / "b.py").chmod(0o755)
    make(at)
    tree = repo.git("ls-tree", "HEAD")
    assert tree.splitlines()[0].startswith("100644")
    assert tree.splitlines()[1].startswith("100755")
    assert stat.S_IMODE((repo.root / "a.py").stat().st_mode) == 0o755


def test_a_write_through_a_link_commits_the_target_and_a_new_link_itself(repo: Repo) -> None:
    (repo.root / "link.py").symlink_to("a.py")
    repo.commit_all()
    at = repo.workspace()
    remember_original(at, "link.py")
    at.files.write("link.py", b"through the link\n")
    at.changes.originals["fresh"] = None
    (repo.root / "fresh").symlink_to("b.py")
    make(at)
    assert sorted(repo.committed()) == ["a.py", "fresh"]
    assert repo.show("a.py") == "through the link\n"
    assert repo.git("ls-tree", "HEAD", "fresh").startswith("120000")
    assert at.changes.originals == {}


def test_line_endings_are_stored_as_the_repository_wants_them(repo: Repo) -> None:
    repo.write(".gitattributes", "*.txt text eol=crlf\n")
    repo.write("doc.txt", LINES.replace("\n", "\r\n"))
    repo.commit_all()
    users = LINES.replace("line 19\n", "user\n").replace("\n", "\r\n")
    repo.write("doc.txt", users)
    at = repo.workspace()
    agent_writes(at, "doc.txt", users.replace("line 2\r\n", "agent\r\n"))
    agent_writes(at, "new.txt", "one\r\ntwo\r\n")
    make(at)
    assert repo.show("doc.txt") == LINES.replace("line 2\n", "agent\n")
    assert repo.show("new.txt") == "one\ntwo\n"
    assert repo.git("diff", "--numstat").split() == ["1", "1", "doc.txt"]


def test_a_file_committed_with_crlf_keeps_it_under_automatic_conversion(repo: Repo) -> None:
    repo.write("dos.py", LINES.replace("\n", "\r\n"))
    repo.commit_all()
    repo.git("config", "core.autocrlf", "true")
    at = repo.workspace()
    agent_writes(at, "dos.py", LINES.replace("\n", "\r\n").replace("line 2\r", "agent\r"))
    made = make(at)
    assert [(file.added, file.removed) for file in made.files] == [(1, 1)]


def test_the_first_commit_of_a_repository_is_made(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "empty")
    repo.write("users.txt", "mine\n")
    at = repo.workspace()
    agent_writes(at, "a.py", "one\n")
    make(at)
    assert repo.committed() == ["a.py"]
    assert repo.git("status", "--porcelain") == "?? users.txt\n"


def test_the_first_commit_leaves_staged_files_staged(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "empty")
    repo.write("users.txt", "mine\n")
    repo.git("add", "users.txt")
    at = repo.workspace()
    agent_writes(at, "a.py", "one\n")
    make(at)
    assert repo.git("status", "--porcelain") == "A  users.txt\n"


def test_a_detached_head_a_worktree_and_a_subfolder_are_committed_to(repo: Repo, tmp_path: Path) -> None:
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "tree"))
    tree = Repo(tmp_path / "tree", init=False)
    tree.write("pkg/users.py", "user\n")
    at = tree.workspace("pkg")
    agent_writes(at, "mod.py", "agent\n")
    main = repo.head()
    make(at)
    assert tree.committed() == ["pkg/mod.py"]
    assert tree.git("status", "--porcelain") == "?? pkg/users.py\n"
    assert repo.head() == main


def test_ignored_files_and_files_of_submodules_are_left_out_with_a_reason(repo: Repo, tmp_path: Path) -> None:
    inner = Repo(tmp_path / "inner")
    inner.write("x.py", "x\n")
    inner.commit_all()
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.root), "sub")
    repo.write(".gitignore", "*.log\n")
    repo.commit_all()
    at = repo.workspace()
    agent_writes(at, "debug.log", "noise\n")
    remember_original(
        at, "sub/x.py"
    )  # as a session's log of an earlier version has it: edits are refused now
    repo.write("sub/x.py", "changed\n")
    agent_writes(at, "a.py", "agent\n")
    made = make(at)
    assert repo.committed() == ["a.py"]
    assert made.left_out == {
        "debug.log": "ignored by .gitignore",
        "sub/x.py": "it belongs to the repository in 'sub'",
    }


def test_nothing_changed_is_told_apart_from_everything_committed(repo: Repo) -> None:
    at = repo.workspace()
    repo.write("a.py", "only the user's\n")
    assert "no file was changed in this session" in refusal(at)
    repo.git("checkout", "-q", "a.py")
    agent_writes(at, "a.py", "agent\n")
    repo.commit_all("the user was quicker")
    assert "the last commit has these changes already" in refusal(at)
    assert at.changes.originals == {}
    agent_writes(at, "b.py", "x\n")
    agent_writes(at, "b.py", "b\n")
    assert "as they were before" in refusal(at)


@pytest.mark.parametrize(
    ("name", "word"),
    [("MERGE_HEAD", "merge"), ("CHERRY_PICK_HEAD", "cherry-pick"), ("rebase-merge", "rebase")],
)
def test_an_unfinished_operation_is_refused(repo: Repo, name: str, word: str) -> None:
    at = repo.workspace()
    agent_writes(at, "a.py", "agent\n")
    repo.write(f".git/{name}", repo.head())
    assert f"a {word} is in progress" in refusal(at)


def test_a_stale_lock_is_named(repo: Repo) -> None:
    at = repo.workspace()
    agent_writes(at, "a.py", "agent\n")
    repo.write(".git/index.lock", "")
    assert ".git/index.lock" in refusal(at)


def test_a_lock_that_is_released_in_time_is_waited_for(repo: Repo) -> None:
    at = repo.workspace()
    agent_writes(at, "a.py", "agent\n")
    lock = repo.write(".git/index.lock", "")
    timer = threading.Timer(0.1, lock.unlink)
    timer.start()
    make(at)
    timer.join()
    assert repo.committed() == ["a.py"]


def test_a_missing_identity_is_explained_with_the_two_commands(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    at = repo.workspace()
    agent_writes(at, "a.py", "agent\n")
    text = refusal(at)
    assert "git config --global user.name" in text
    assert "git config --global user.email" in text
    assert list(at.changes.originals) == ["a.py"]


def test_variables_of_a_surrounding_hook_do_not_lead_the_commit_astray(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Repo(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(other.root / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other.root / ".git/index"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.root))
    at = repo.workspace()
    agent_writes(at, "a.py", "agent\n")
    make(at)
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name)
    assert repo.committed() == ["a.py"]
    assert not (other.root / ".git/index").exists()


def test_a_message_that_the_user_prepared_survives(repo: Repo) -> None:
    repo.write(".git/SQUASH_MSG", "Squashed commit of the following\n")
    at = repo.workspace()
    agent_writes(at, "a.py", "agent\n")
    make(at)
    assert repo.read(".git/SQUASH_MSG") == "Squashed commit of the following\n"


def test_an_intent_to_add_entry_becomes_the_committed_file(repo: Repo) -> None:
    at = repo.workspace()
    agent_writes(at, "new.py", "agent\n")
    repo.git("add", "-N", "new.py")
    make(at)
    assert repo.git("status", "--porcelain") == ""


def test_outside_a_repository_the_fault_is_named(tmp_path: Path) -> None:
    place = Repo(tmp_path / "plain", init=False)
    at = place.workspace()
    agent_writes(at, "a.py", "agent\n")
    with pytest.raises(UserError) as error:
        make(at)
    assert error.value.fault is Fault.NOT_A_REPOSITORY


def test_the_tool_tells_hash_subject_and_lines(repo: Repo) -> None:
    at = repo.workspace()
    agent_writes(at, "b.py", "b\nc\n")

    async def run() -> Observation:
        return await git_commit.run(message="Add c", at=at)

    observation = asyncio.run(run())
    sha = repo.head()
    assert observation.text == f"committed {sha[:10]} Add c\n  b.py +1 -0"
    assert observation.data["commit"] == sha
    assert observation.data["files"] == ["b.py"]


def test_a_kill_between_commit_and_index_is_made_good_by_the_next_commit(repo: Repo) -> None:
    at = repo.workspace()
    repo.write("b.py", "staged by the user\n")
    repo.git("add", "b.py")
    agent_writes(at, "a.py", LINES.replace("line 3", "line three"))
    before, changed = (repo.root / ".git/index").read_bytes(), dict(at.changes.originals)
    make(at)
    (repo.root / ".git/index").write_bytes(before)  # as a kill right after the commit leaves it
    at = repo.workspace()  # of the process that resumes the session
    at.changes.originals.update(changed)
    assert repo.git("status", "--porcelain") == "MM a.py\nM  b.py\n"
    assert "has these changes already" in refusal(at)
    assert repo.git("status", "--porcelain") == "M  b.py\n"


def test_what_the_user_staged_back_after_a_commit_stays_so(repo: Repo) -> None:
    at = repo.workspace()
    agent_writes(at, "a.py", LINES.replace("line 3", "line three"))
    make(at)
    repo.git("reset", "-q", "HEAD~1", "--", "a.py")
    agent_writes(at, "b.py", "more\n")
    make(at, "Go on")
    assert repo.git("status", "--porcelain") == "MM a.py\n"


def test_a_staged_file_stays_staged_where_the_commit_has_a_folder(repo: Repo) -> None:
    repo.write("notes", "staged\n")
    repo.git("add", "notes")
    (repo.root / "notes").unlink()
    at = repo.workspace()
    agent_writes(at, "notes/one.txt", "agent\n")
    before = repo.index()["notes"]
    made = asyncio.run(commit_session(at, "Add notes"))
    assert repo.committed() == ["notes/one.txt"]
    assert repo.index().get("notes") == before
    assert any("notes/one.txt" in note for note in made.notes)


def test_what_the_user_staged_back_stays_so_where_the_session_changes_it_again(repo: Repo) -> None:
    at = repo.workspace()
    agent_writes(at, "new.txt", "one\n")
    asyncio.run(commit_session(at, "Add new"))
    repo.git("rm", "-q", "--cached", "new.txt")
    agent_writes(at, "new.txt", "two\n")
    before = repo.index()
    made = asyncio.run(commit_session(at, "Change new"))
    assert repo.show("new.txt") == "two\n"
    assert repo.index() == before
    assert any("staged version left as it was" in note for note in made.notes)


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "Shift_JIS", "UTF-16"])
def test_a_message_is_utf_8_whatever_the_users_own_are(repo: Repo, encoding: str) -> None:
    repo.git("config", "i18n.commitEncoding", encoding)
    at = repo.workspace()
    agent_writes(at, "b.py", "1\n")
    made = make(at, "Gib 2 zurück, 二\n\nÜber die Grenze.")
    assert made.subject == "Gib 2 zurück, 二"
    raw = repo.git("cat-file", "commit", "HEAD")
    assert "\nencoding " not in raw
    assert "\n\nGib 2 zurück, 二\n\nÜber die Grenze.\n" in raw


def test_messages_in_other_encodings_are_read(repo: Repo) -> None:
    repo.git("config", "i18n.commitEncoding", "ISO-8859-1")
    for number in range(8):
        repo.write("message", f"Rundung für Konto {number} korrigiert".encode("latin-1"))
        repo.git("commit", "-q", "--allow-empty", "-F", "message")
    style = learn_style(Git(repo.root, alone=True))
    assert style.examples[0] == "Rundung für Konto 7 korrigiert"
    assert style.language == "de"
