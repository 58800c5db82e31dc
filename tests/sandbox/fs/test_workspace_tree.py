"""The tree reaches what is inside the workspace, nothing outside, and never leaves a file half written."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox.errors import Fault, UserError
from sandbox.fs.workspace_tree import NotAFile, OutsideWorkspace, ProtectedPath, Tree
from tests.sandbox.boxes import bwrap


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    root = tmp_path / "root"
    (root / "src" / "deep").mkdir(parents=True)
    (root / "src" / "cart.py").write_bytes(b"total = 0\n")
    (tmp_path / "secret").write_text("precious")
    return Tree(root)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/cart.py", "src/cart.py"),
        ("./src//deep/../cart.py", "src/cart.py"),
        ("src/", "src"),
        (".", "."),
        ("src/..", "."),
        ("not/there/yet", "not/there/yet"),
        ("not/../there/./x", "there/x"),
        ("~/x", "~/x"),
    ],
)
def test_paths_are_normalised(tree: Tree, path: str, expected: str) -> None:
    assert tree.resolve_relative(path) == expected


def test_absolute_paths_inside_are_accepted_however_the_root_is_spelled(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tree.root)
    through_link = Tree(tmp_path / "link")
    for each in (tree, through_link):
        for root in (tree.root, tmp_path / "link"):
            assert each.resolve_relative(f"{root}/src/cart.py") == "src/cart.py"
            assert each.resolve_relative(str(root)) == "."


@pytest.mark.parametrize(
    "path",
    [
        "",
        "..",
        "../secret",
        "src/../../secret",
        "/etc/passwd",
        "/",
        "a\0b",
        "nope/../../secret",
        "\ud800",
        "x" * 256,
    ],
)
def test_paths_that_lead_outside_or_are_none_are_refused_for_everything(tree: Tree, path: str) -> None:
    for use in (
        tree.resolve_relative,
        tree.is_file,
        tree.is_dir,
        tree.read,
        tree.get_size,
        tree.remove,
        tree.read_text,
    ):
        with pytest.raises(OutsideWorkspace):
            use(path)
    with pytest.raises(OutsideWorkspace):
        tree.write(path, b"x")


@pytest.mark.parametrize(
    "target", ["../..", "/etc", "../../secret", "{root}/../secret", "other/../../../secret"]
)
def test_a_link_that_leads_outside_is_refused(tree: Tree, tmp_path: Path, target: str) -> None:
    link = tree.root / "src" / "link"
    link.symlink_to(target.format(root=tree.root))
    for path in ("src/link", "src/link/passwd", "src/link/x/y"):
        with pytest.raises(OutsideWorkspace):
            tree.is_file(path)
        with pytest.raises(OutsideWorkspace):
            tree.write(path, b"x")
    assert (tmp_path / "secret").read_text() == "precious"
    tree.remove("src/link")  # the link itself is inside
    assert not link.is_symlink()


def test_links_inside_are_followed_to_what_they_mean(tree: Tree) -> None:
    (tree.root / "src" / "same").symlink_to("cart.py")
    (tree.root / "up").symlink_to("src/deep/..")
    (tree.root / "absolute").symlink_to(tree.root / "src")
    (tree.root / "dangling").symlink_to("src/new.py")
    for path in ("src/same", "up/cart.py", "absolute/same"):
        assert tree.resolve_relative(path) == "src/cart.py"
        assert tree.read(path) == b"total = 0\n"
    assert tree.resolve_relative("dangling") == "src/new.py"
    tree.write("absolute/same", b"1")
    tree.write("dangling", b"2")
    assert (tree.root / "src" / "same").is_symlink()
    assert (tree.root / "src" / "cart.py").read_bytes() == b"1"
    assert (tree.root / "src" / "new.py").read_bytes() == b"2"


def test_links_that_go_in_circles_are_refused(tree: Tree) -> None:
    (tree.root / "a").symlink_to("b")
    (tree.root / "b").symlink_to("a")
    with pytest.raises(OutsideWorkspace, match="circles"):
        tree.read("a")


NAMES = st.sampled_from(["a", "b", "link", "up", "out", "root", "..", ".", "", "deep", "x"])


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(NAMES, min_size=1, max_size=8))
def test_the_walk_agrees_with_the_system_or_refuses(tmp_path: Path, names: list[str]) -> None:
    top = tmp_path / "agree"
    if not top.exists():
        (top / "root" / "a" / "b" / "deep").mkdir(parents=True)
        (top / "root" / "link").symlink_to("a/b")
        (top / "root" / "a" / "up").symlink_to("..")
        (top / "root" / "a" / "out").symlink_to(top)
        (top / "root" / "a" / "x").write_text("x")
        (top / "x").write_text("outside")
    root = top / "root"
    tree = Tree(root)
    path = "/".join(names) or "."
    where = Path(os.path.realpath(root / path.lstrip("/")))
    try:
        found = tree.resolve_relative(path.lstrip("/") or ".")
    except OutsideWorkspace:
        return  # refusing is always safe; what must be accepted has its own tests
    assert (root / found).resolve().is_relative_to(root)
    if where.exists():
        assert root / found == where


def test_a_missing_file_is_told_as_everywhere(tree: Tree) -> None:
    for path in ("src/missing", "missing/missing", "src/cart.py/below"):
        assert not tree.is_file(path)
        assert not tree.is_dir(path)
        with pytest.raises(FileNotFoundError):
            tree.read(path)
        with pytest.raises((FileNotFoundError, NotADirectoryError)):
            tree.remove(path)


def test_what_is_no_file_is_not_read_and_nothing_hangs(tree: Tree) -> None:
    os.mkfifo(tree.root / "pipe")
    for path in ("src", "pipe", "."):
        with pytest.raises(NotAFile):
            tree.read(path)
    for path in ("src", "pipe"):
        with pytest.raises(NotAFile):
            tree.write(path, b"x")
    assert (tree.is_dir("src"), tree.is_file("src"), tree.is_file("pipe")) == (True, False, False)


def test_writing_makes_parents_and_follows_the_umask(tree: Tree) -> None:
    before = os.umask(0o027)
    try:
        tree.write("new/folder/file", b"content")
    finally:
        os.umask(before)
    path = tree.root / "new" / "folder" / "file"
    assert path.read_bytes() == b"content"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert tree.get_size("new/folder/file") == 7


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o664])
def test_replacing_keeps_the_mode(tree: Tree, mode: int) -> None:
    path = tree.root / "src" / "cart.py"
    path.chmod(mode)
    tree.write("src/cart.py", b"#!/bin/sh\n")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_bytes() == b"#!/bin/sh\n"


def test_replacing_keeps_the_owner_for_root(tree: Tree) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    path = tree.root / "src" / "cart.py"
    os.chown(path, 65534, 65534)
    tree.write("src/cart.py", b"x")
    assert (path.stat().st_uid, path.stat().st_gid) == (65534, 65534)


def test_a_reader_never_sees_half_a_file(tree: Tree) -> None:
    contents = [bytes([letter]) * 300_000 for letter in b"ab"]
    tree.write("file", contents[0])
    done = threading.Event()
    seen: set[bytes] = set()

    def watch() -> None:
        while not done.is_set():
            seen.add((tree.root / "file").read_bytes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    for number in range(10):
        tree.write("file", contents[number % 2])
    done.set()
    watcher.join()
    assert seen <= set(contents)


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        ".git",
        "src/.git/hooks/x",
        ".GIT/config",
        "patchwright.toml",
        ".patchwright/x",
        "src/../.git/x",
    ],
)
def test_protected_places_are_read_but_not_changed(tree: Tree, path: str) -> None:
    changes: tuple[Callable[[], None], ...] = (
        lambda: tree.write(path, b"x"),
        lambda: tree.remove(path),
    )
    for change in changes:
        with pytest.raises(ProtectedPath):
            change()
    assert not (tree.root / path).exists()
    assert not (tree.root / ".git").exists()
    assert not (tree.root / "src" / ".git").exists()


def test_protection_holds_through_a_link(tree: Tree) -> None:
    (tree.root / ".git" / "hooks").mkdir(parents=True)
    (tree.root / ".git" / "config").write_text("[core]\n")
    (tree.root / "innocent").symlink_to(".git")
    (tree.root / "settings").symlink_to(".git/config")
    for path in ("innocent/hooks/pre-commit", "innocent/config", "settings"):
        with pytest.raises(ProtectedPath):
            tree.write(path, b"evil")
    assert tree.read("settings") == b"[core]\n"


def test_the_workspace_itself_is_not_replaced_or_removed(tree: Tree) -> None:
    with pytest.raises(ProtectedPath):
        tree.remove(".")
    with pytest.raises((ProtectedPath, NotAFile)):
        tree.write(".", b"x")


def test_removing_takes_files_links_and_empty_folders_only(tree: Tree) -> None:
    (tree.root / "link").symlink_to("src")
    tree.remove("link")
    assert tree.is_dir("src")
    tree.remove("src/deep")
    with pytest.raises(OSError, match="not empty"):
        tree.remove("src")
    tree.remove("src/cart.py")
    tree.remove("src")
    assert list(tree.root.iterdir()) == []


def test_text_is_written_in_the_manner_of_the_file(tree: Tree) -> None:
    tree.write("dos.txt", b"\xef\xbb\xbfone\r\ntwo\r\n")
    file = tree.read_text("dos.txt")
    tree.write_text("dos.txt", file.text.replace("two", "zwei\ndrei"), file)
    assert tree.read("dos.txt") == b"\xef\xbb\xbfone\r\nzwei\r\ndrei\r\n"
    tree.write_text("new.txt", "é\n", None)
    assert tree.read("new.txt") == "é\n".encode()


ON_A_BAD_DISK = """
import sys
from pathlib import Path
from sandbox.errors import UserError
from sandbox.fs.workspace_tree import Tree
tree = Tree(Path(sys.argv[1]))
try:
    tree.write("file", b"x" * 1_000_000)
except UserError as error:
    print(error.fault, "|", error.message)
print(sorted(path.name for path in tree.root.iterdir()), (tree.root / "file").read_text())
"""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--size", "65536", "--tmpfs", "{root}"], "storage-full | cannot write 'file': the disk is full"),
        (["--tmpfs", "{root}"], "read-only | cannot write 'file': the file system is read-only"),
    ],
)
def test_a_bad_disk_is_one_clear_line_and_the_old_file_stays(
    tmp_path: Path, options: list[str], expected: str
) -> None:
    """On file systems that are really full and really read-only, made by bubblewrap for one process."""
    root = tmp_path / "disk"
    root.mkdir()
    (tmp_path / "old").write_text("old")
    here = Path(__file__).parents[3]
    mounts = [option.format(root=root) for option in options]
    seal = ["--remount-ro", str(root)] if "--size" not in options else []
    copy = ["--ro-bind", str(tmp_path / "old"), f"{tmp_path}/old"]
    front = [str(bwrap()), "--dev-bind", "/", "/", *copy, *mounts]
    # The old file has to be made inside the new file system, before it is sealed: by bwrap itself.
    with (tmp_path / "old").open("rb") as old:
        front += ["--perms", "0644", "--file", str(old.fileno()), f"{root}/file", *seal, "--"]
        done = subprocess.run(
            [*front, sys.executable, "-c", ON_A_BAD_DISK, str(root)],
            cwd=here,
            pass_fds=(old.fileno(),),
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.stdout.splitlines() == [expected, "['file'] old"], done.stderr


def test_a_file_or_folder_without_permission_is_one_clear_line(tree: Tree) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    (tree.root / "src" / "cart.py").chmod(0o444)
    (tree.root / "src" / "deep").chmod(0o555)
    for path in ("src/cart.py", "src/deep/new", "src/deep/new/new"):
        with pytest.raises(UserError, match="no permission") as caught:
            tree.write(path, b"x")
        assert caught.value.fault is Fault.READ_ONLY
    (tree.root / "src" / "deep").chmod(0o755)
    assert sorted(os.listdir(tree.root / "src")) == ["cart.py", "deep"]


def test_a_file_stands_where_a_parent_should(tree: Tree) -> None:
    with pytest.raises(NotAFile, match=r"'cart\.py' is a file"):
        tree.write("src/cart.py/below", b"x")


def test_no_handle_is_left_open(tree: Tree) -> None:
    def use() -> None:
        tree.write("a/b/c", b"x")
        tree.read("a/b/c")
        tree.is_file("a/b/../b/c")
        for path in ("../x", "a/b", "missing", ".git/x"):
            for action in (tree.read, tree.remove):
                with pytest.raises((OSError, ValueError)):
                    action(path)

    use()
    before = len(os.listdir("/proc/self/fd"))
    use()
    assert len(os.listdir("/proc/self/fd")) == before
