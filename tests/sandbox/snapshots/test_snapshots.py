"""Snapshots record a workspace without touching it; undo takes back what was done and nothing else."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.errors import Fault, UserError
from sandbox.fs.placeholders import hold_placeholders, is_placeholder
from sandbox.snapshots.workspace_snapshots import Snapshots
from tests.support.repo import Repo

as_root = os.geteuid() == 0


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.write("a.py", "one\n")
    made.write("pkg/b.py", "two\n")
    made.commit_all()
    return made


@pytest.fixture
def snapshots(repo: Repo, tmp_path: Path) -> Iterator[Snapshots]:
    made = Snapshots(repo.root, tmp_path / "store")
    yield made
    made.close()


def kinds(snapshots: Snapshots, old: str, new: str) -> dict[str, str]:
    return {change.path: change.kind for change in snapshots.list_changes(old, new)}


def image(root: Path) -> dict[str, tuple[int, bytes]]:
    """Mode and bytes of everything but `.git`."""
    found: dict[str, tuple[int, bytes]] = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for name in (*folders, *files):
            path = Path(folder, name)
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode):
                content = b""
            else:
                content = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
            found[str(path.relative_to(root))] = (mode, content)
    return found


def test_an_unchanged_workspace_keeps_its_snapshot_and_starts_no_process(
    snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = snapshots.take()
    monkeypatch.setenv("PATH", "")
    assert snapshots.take() == first
    assert snapshots.take() == first


def test_a_change_of_known_files_starts_no_process_either(
    repo: Repo, snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = snapshots.take()
    monkeypatch.setenv("PATH", "")
    repo.write("a.py", "changed\n")
    (repo.root / "pkg/b.py").unlink()
    assert kinds(snapshots, first, snapshots.take()) == {"a.py": "modified", "pkg/b.py": "deleted"}


def test_every_kind_of_change_is_told(repo: Repo, snapshots: Snapshots) -> None:
    repo.write("gone.py", "x\n")
    repo.write("run.sh", "x\n")
    first = snapshots.take()
    repo.write("a.py", "changed\n")
    repo.write("new\nname ünï.py", "new\n")
    (repo.root / "gone.py").unlink()
    (repo.root / "run.sh").chmod(0o755)
    (repo.root / "link").symlink_to("a.py")
    second = snapshots.take()
    assert kinds(snapshots, first, second) == {
        "a.py": "modified",
        "gone.py": "deleted",
        "link": "added",
        "new\nname ünï.py": "added",
        "run.sh": "mode",
    }
    change = next(each for each in snapshots.list_changes(first, second) if each.path == "a.py")
    assert change.before is not None
    assert snapshots.read_content(change.before) == b"one\n"


def test_git_can_read_the_store_and_finds_it_whole(repo: Repo, snapshots: Snapshots, tmp_path: Path) -> None:
    repo.write("a.b/x", "sorts before a/\n")
    repo.write("a/x", "sorts after a.b\n")
    tree = snapshots.take()
    store = f"--git-dir={tmp_path / 'store'}"
    assert repo.git(store, "ls-tree", "-r", "--name-only", f"{tree}:files").split() == [
        *("a.b/x", "a.py", "a/x", "pkg/b.py")
    ]
    assert "error" not in repo.git(store, "fsck", "--strict", "--no-dangling")
    assert stat.S_IMODE((tmp_path / "store").stat().st_mode) == 0o700


def test_the_users_repository_is_not_touched(repo: Repo, snapshots: Snapshots) -> None:
    def state() -> dict[str, tuple[int, bytes]]:
        files = (path for path in (repo.root / ".git").rglob("*") if path.is_file())
        return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}

    before = state()
    first = snapshots.take()
    repo.write("a.py", "changed\n")
    snapshots.revert_unchanged([(first, snapshots.take())])
    assert state() == before


def test_ignored_files_are_left_out_unless_they_are_tracked(repo: Repo, snapshots: Snapshots) -> None:
    repo.write(".gitignore", "*.log\nbuild/\n!keep.log\n")
    repo.write("tracked.log", "tracked\n")
    repo.git("add", "-f", "tracked.log")
    first = snapshots.take()
    for path in ("noise.log", "keep.log", "build/out.o", "pkg/build/x", "tracked.log"):
        repo.write(path, "changed\n")
    assert kinds(snapshots, first, snapshots.take()) == {"keep.log": "added", "tracked.log": "modified"}


@pytest.mark.slow
def test_a_changed_ignore_rule_is_noticed(repo: Repo, snapshots: Snapshots) -> None:
    repo.write("noise.log", "x\n")
    first = snapshots.take()
    repo.write(".gitignore", "*.log\n")
    second = snapshots.take()
    assert kinds(snapshots, first, second) == {".gitignore": "added", "noise.log": "deleted"}
    repo.write(".git/info/exclude", "a.py\n")
    repo.git("rm", "-q", "--cached", "a.py")
    assert kinds(snapshots, second, snapshots.take()) == {"a.py": "deleted"}
    snapshots.revert_unchanged([(first, second)])
    assert repo.read("noise.log") == "x\n"


def test_a_name_is_judged_anew_when_a_file_becomes_a_folder(repo: Repo, snapshots: Snapshots) -> None:
    repo.write(".gitignore", "out/\n")
    repo.write("out", "a file, not ignored\n")
    first = snapshots.take()
    (repo.root / "out").unlink()
    repo.write("out/x.o", "ignored\n")
    assert kinds(snapshots, first, snapshots.take()) == {"out": "deleted"}


def test_attributes_of_the_repository_do_not_change_what_is_kept(repo: Repo, snapshots: Snapshots) -> None:
    repo.write(".gitattributes", "* text=auto eol=crlf ident\n*.bin filter=lfs\n")
    repo.write("dos.txt", "$Id$\r\nmixed\n")
    first = snapshots.take()
    repo.write("dos.txt", "other\n")
    snapshots.revert_unchanged([(first, snapshots.take())])
    assert repo.read("dos.txt") == "$Id$\r\nmixed\n"


def test_another_repository_inside_is_recorded_and_not_entered(repo: Repo, snapshots: Snapshots) -> None:
    inner = Repo(repo.root / "vendor/inner")
    inner.write("x.py", "x\n")
    commit = inner.commit_all()
    Repo(repo.root / "unborn").write("y.py", "y\n")
    first = snapshots.take()
    assert snapshots.omitted_paths == {"unborn": "a nested repository without a commit"}
    inner.write("x.py", "changed\n")
    assert snapshots.take() == first
    inner.commit_all()
    second = snapshots.take()
    (change,) = snapshots.list_changes(first, second)
    assert (change.path, change.before and change.before.id) == ("vendor/inner", commit)
    undone = snapshots.revert_unchanged([(first, second)])
    assert list(undone.clashes) == ["vendor/inner"]
    assert inner.read("x.py") == "changed\n"


@pytest.mark.slow
def test_a_large_file_is_noted_and_its_creation_can_be_undone(repo: Repo, snapshots: Snapshots) -> None:
    first = snapshots.take()
    repo.write("dump.bin", b"\0" * 10_000_001)
    repo.write("a.py", b"\0" * 10_000_001)
    second = snapshots.take()
    assert snapshots.omitted_paths == {"a.py": "larger than 10 MB", "dump.bin": "larger than 10 MB"}
    assert kinds(snapshots, first, second) == {"a.py": "modified", "dump.bin": "added"}
    assert not snapshots.revert_unchanged([(first, second)]).clashes
    assert repo.read("a.py") == "one\n"
    assert not (repo.root / "dump.bin").exists()


def test_the_earlier_content_of_a_large_file_is_admitted_to_be_lost(repo: Repo, snapshots: Snapshots) -> None:
    repo.write("dump.bin", b"\0" * 10_000_001)
    first = snapshots.take()
    repo.write("dump.bin", b"small")
    undone = snapshots.revert_unchanged([(first, snapshots.take())])
    assert undone.clashes == {"dump.bin": "its earlier content was too large to keep"}


@pytest.mark.slow
def test_undo_brings_back_bytes_modes_links_and_folders(repo: Repo, snapshots: Snapshots) -> None:
    repo.write("secret.key", "k\n").chmod(0o600)
    repo.write("run.sh", "x\n").chmod(0o755)
    (repo.root / "link").symlink_to("a.py")
    (repo.root / "dangling").symlink_to("nowhere")
    (repo.root / "logs").mkdir()
    repo.write("swap/x.py", "x\n")
    first, before = snapshots.take(), image(repo.root)
    repo.write("a.py", "changed\n").chmod(0o755)
    (repo.root / "secret.key").chmod(0o644)
    (repo.root / "run.sh").unlink()
    (repo.root / "link").unlink()
    (repo.root / "link").symlink_to("pkg/b.py")
    (repo.root / "dangling").unlink()
    repo.write("dangling", "a file now\n")
    (repo.root / "logs").rmdir()
    repo.write("logs", "a file in a folder's place\n")
    (repo.root / "swap/x.py").unlink()
    (repo.root / "swap").rmdir()
    (repo.root / "swap").symlink_to("/tmp")
    (repo.root / "pkg/b.py").unlink()
    repo.write("pkg/b.py/deep/er.py", "a folder in a file's place\n")
    repo.write("new/deep/file.py", "new\n")
    (repo.root / "new/hollow").mkdir()
    second, after = snapshots.take(), image(repo.root)
    assert not snapshots.revert_unchanged([(first, second)]).clashes
    assert image(repo.root) == before
    assert snapshots.revert_unchanged([(first, second)]).changes == ()
    third = snapshots.take()
    assert third == first
    assert not snapshots.revert_unchanged([(second, third)]).clashes  # the undo is undone
    assert image(repo.root) == after


def test_what_the_user_changed_since_is_a_clash_and_all_else_goes_back(
    repo: Repo, snapshots: Snapshots
) -> None:
    first = snapshots.take()
    repo.write("a.py", "agent\n")
    repo.write("new.py", "agent\n")
    repo.write("other.py", "agent\n")
    second = snapshots.take()
    repo.write("a.py", "agent, then user\n")
    (repo.root / "new.py").chmod(0o700)
    undone = snapshots.revert_unchanged([(first, second)])
    assert undone.clashes == {"a.py": "changed since", "new.py": "changed since"}
    assert [change.path for change in undone.changes] == ["other.py"]
    assert (repo.read("a.py"), repo.read("new.py")) == ("agent, then user\n", "agent\n")
    assert not (repo.root / "other.py").exists()


def test_a_step_that_changed_only_the_mode_is_taken_back_beneath_a_later_one(
    repo: Repo, snapshots: Snapshots
) -> None:
    path = repo.root / "tool"
    trees = []
    for content, mode in (("one\n", 0o644), ("one\n", 0o755), ("a person's\n", 0o755), ("two\n", 0o755)):
        path.write_text(content)
        path.chmod(mode)
        trees.append(snapshots.take())
    restored = snapshots.revert([(trees[0], trees[1]), (trees[2], trees[3])])
    assert restored.clashes == {}
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("a person's\n", 0o644)


def test_a_place_held_for_a_running_command_is_no_folder_of_the_workspace(
    repo: Repo, snapshots: Snapshots
) -> None:
    first = snapshots.take()
    with hold_placeholders(repo.root, [repo.root / ".vscode"]):
        assert is_placeholder(repo.root / ".vscode")
        assert snapshots.take() == first
        repo.write(".vscode/settings.json", "{}\n")
        assert kinds(snapshots, first, snapshots.take()) == {".vscode/settings.json": "added"}


def test_files_that_the_agent_did_not_make_are_never_removed(repo: Repo, snapshots: Snapshots) -> None:
    first = snapshots.take()
    repo.write("new/agent.py", "agent\n")
    second = snapshots.take()
    repo.write("new/user.py", "user\n")
    assert not snapshots.revert_unchanged([(first, second)]).clashes
    assert repo.read("new/user.py") == "user\n"
    assert not (repo.root / "new/agent.py").exists()


def test_a_folder_with_the_users_files_blocks_the_file_that_was_there(
    repo: Repo, snapshots: Snapshots
) -> None:
    first = snapshots.take()
    (repo.root / "a.py").unlink()
    repo.write("a.py/agent.txt", "agent\n")
    second = snapshots.take()
    repo.write("a.py/user.txt", "user\n")
    undone = snapshots.revert_unchanged([(first, second)])
    assert undone.clashes == {"a.py": "a folder with 'a.py/user.txt' stands in its place"}
    assert [change.path for change in undone.changes] == ["a.py/agent.txt"]
    assert repo.read("a.py/user.txt") == "user\n"


@pytest.mark.parametrize("inside", ["", "/deeper"])
def test_a_folder_that_the_user_made_since_blocks_the_file_that_was_there(
    repo: Repo, snapshots: Snapshots, inside: str
) -> None:
    first = snapshots.take()
    (repo.root / "a.py").unlink()
    if inside:
        (repo.root / "a.py").mkdir()  # the agent's: that alone would go
    second = snapshots.take()
    (repo.root / f"a.py{inside}").mkdir()
    undone = snapshots.revert_unchanged([(first, second)])
    assert undone.clashes == {"a.py": "a folder that somebody else has made stands in its place"}
    (repo.root / f"a.py{inside}").rmdir()
    assert not snapshots.revert_unchanged([(first, second)]).clashes
    assert (repo.root / "a.py").is_file()


def test_an_empty_folder_does_not_come_back_where_a_file_of_the_users_stands(
    repo: Repo, snapshots: Snapshots
) -> None:
    (repo.root / "out/deep").mkdir(parents=True)
    first = snapshots.take()
    (repo.root / "out/deep").rmdir()
    (repo.root / "out").rmdir()
    repo.write("a.py", "agent\n")
    second = snapshots.take()
    repo.write("out", "the user's\n")
    assert not snapshots.revert_unchanged([(first, second)]).clashes
    assert (repo.read("a.py"), repo.read("out")) == ("one\n", "the user's\n")


def test_undo_does_not_write_through_a_link_that_took_a_folders_place(
    repo: Repo, snapshots: Snapshots, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    first = snapshots.take()
    (repo.root / "pkg/b.py").unlink()
    second = snapshots.take()
    (repo.root / "pkg").rmdir()
    (repo.root / "pkg").symlink_to(outside)
    undone = snapshots.revert_unchanged([(first, second)])
    assert undone.clashes == {"pkg/b.py": "'pkg' is no longer a folder"}
    assert list(outside.iterdir()) == []


@pytest.mark.slow
def test_a_rewrite_of_equal_size_within_a_clock_tick_is_noticed(repo: Repo, snapshots: Snapshots) -> None:
    for round_ in range(30):
        repo.write("a.py", f"{round_:04}a")
        first = snapshots.take()
        with (repo.root / "a.py").open("r+b") as file:
            file.write(f"{round_:04}b".encode())
        os.utime(repo.root / "a.py", ns=(0, 0))
        assert kinds(snapshots, first, snapshots.take()) == {"a.py": "modified"}


def test_it_works_without_a_repository(tmp_path: Path) -> None:
    place = Repo(tmp_path / "plain", init=False)
    place.write("a.txt", "one\n")
    place.write(".gitignore", "*.o\n")
    snapshots = Snapshots(place.root, tmp_path / "store")
    first = snapshots.take()
    place.write("a.txt", "two\n")
    place.write("x.o", "ignored\n")
    second = snapshots.take()
    assert kinds(snapshots, first, second) == {"a.txt": "modified"}
    snapshots.revert_unchanged([(first, second)])
    assert place.read("a.txt") == "one\n"
    snapshots.close()


def test_a_store_inside_the_workspace_does_not_record_itself(tmp_path: Path) -> None:
    place = Repo(tmp_path / "plain", init=False)
    place.write("a.txt", "one\n")
    snapshots = Snapshots(place.root, place.root / ".cache/store")
    first = snapshots.take()
    assert snapshots.take() == first
    snapshots.close()


def test_pruning_keeps_what_the_named_snapshots_need(repo: Repo, snapshots: Snapshots) -> None:
    first = snapshots.take()
    repo.write("a.py", "two\n")
    second = snapshots.take()
    repo.write("a.py", "three\n")
    third = snapshots.take()
    assert snapshots.prune([first, third]) > 0
    with pytest.raises(UserError, match="missing or damaged"):
        snapshots.list_changes(first, second)
    assert snapshots.take() == third
    snapshots.revert_unchanged([(first, third)])
    assert repo.read("a.py") == "one\n"
    assert snapshots.prune([]) > 0
    repo.write("a.py", "four\n")
    last = snapshots.take()
    repo.write("a.py", "five\n")
    snapshots.revert_unchanged([(last, snapshots.take())])
    assert repo.read("a.py") == "four\n"


def test_pruning_waits_while_another_session_uses_the_store(
    repo: Repo, snapshots: Snapshots, tmp_path: Path
) -> None:
    other = Snapshots(repo.root, tmp_path / "store")
    tree = other.take()
    assert snapshots.prune([]) == 0
    assert other.list_changes(tree, snapshots.take()) == []
    other.close()
    assert snapshots.prune([]) > 0


def test_a_later_session_finds_the_snapshots_of_an_earlier_one(
    repo: Repo, snapshots: Snapshots, tmp_path: Path
) -> None:
    first = snapshots.take()
    repo.write("a.py", "two\n")
    second = snapshots.take()
    snapshots.close()
    later = Snapshots(repo.root, tmp_path / "store")
    assert later.take() == second
    assert not later.revert_unchanged([(first, second)]).clashes
    assert repo.read("a.py") == "one\n"
    later.close()


LOOP = """
import itertools, sys
from pathlib import Path
from sandbox.snapshots.workspace_snapshots import Snapshots
root, store = Path(sys.argv[1]), Path(sys.argv[2])
snapshots = Snapshots(root, store)
base = snapshots.take()
print(base, flush=True)
for number in itertools.count():
    for name in "abcdefgh":
        (root / name).write_text(f"{name} {number}\\n" * 300)
    made = snapshots.take()
    print(made, flush=True)
    snapshots.revert_unchanged([(base, made)])
"""


@pytest.mark.slow
def test_a_kill_at_any_time_leaves_whole_files_and_a_working_store(tmp_path: Path) -> None:
    place = Repo(tmp_path / "plain", init=False)
    for name in "abcdefgh":
        place.write(name, f"{name} before\n" * 300)
    store = tmp_path / "store"
    whole = {name: f"{name} before\n" * 300 for name in "abcdefgh"}
    for delay in (0.0, 0.01, 0.02, 0.03, 0.05, 0.08):
        command = (sys.executable, "-c", LOOP, str(place.root), str(store))
        child = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3])
        assert child.stdout is not None
        base = child.stdout.readline().decode().strip()
        made = child.stdout.readline().decode().strip()
        time.sleep(delay)
        child.send_signal(signal.SIGKILL)
        child.communicate()
        snapshots = Snapshots(place.root, store)
        now = snapshots.take()
        assert not snapshots.revert_unchanged([(base, now)]).clashes
        assert {name: place.read(name) for name in "abcdefgh"} == whole
        snapshots.revert_unchanged([(base, made)])
        assert snapshots.take() == base
        snapshots.close()
    assert "error" not in place.git(f"--git-dir={store}", "fsck", "--no-dangling")


@pytest.mark.skipif(as_root, reason="root may read and write everything")
def test_what_cannot_be_read_or_written_is_told(repo: Repo, tmp_path: Path) -> None:
    repo.write("private.txt", "x\n").chmod(0)
    snapshots = Snapshots(repo.root, tmp_path / "store")
    snapshots.take()
    assert snapshots.omitted_paths == {"private.txt": "permission denied"}
    snapshots.close()
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    with pytest.raises(UserError) as error:
        Snapshots(repo.root, locked / "store").take()
    assert error.value.fault is Fault.READ_ONLY
