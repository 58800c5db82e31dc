"""Diffs that real programs wrote, of every kind: the tree that they describe, or a refusal that wrote nothing."""

from __future__ import annotations

import base64
import quopri
from pathlib import Path

import pytest

from tests.tools.edit.real_trees import (
    AFTER,
    BEFORE,
    RENAMED,
    Tree,
    apply_diff,
    commit_tree,
    run,
    write_tree,
)

RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.diff"))
pytestmark = pytest.mark.slow

GIT = {
    "plain": [],
    "no prefix": ["--no-prefix"],
    "other prefixes": ["--src-prefix=old/", "--dst-prefix=new/"],
    "one-letter prefixes": ["--src-prefix=x/", "--dst-prefix=y/"],
    "colors": ["--color=always"],
    "colors of moved lines": ["--color=always", "--color-moved=zebra", "--ws-error-highlight=all"],
    "a line prefix": ["--line-prefix=> "],
    "a line prefix of a bar": ["--line-prefix=| "],
    "colors and a line prefix": ["--color=always", "--line-prefix=# "],
    "no renames": ["--no-renames"],
    "copies": ["-C", "--find-copies-harder"],
    "no context": ["-U0"],
    "statistics": ["--patch-with-stat", "--summary"],
}
REVERSED = {
    "plain": [],
    "no prefix": ["--no-prefix"],
    "other prefixes": ["--src-prefix=old/", "--dst-prefix=new/"],
    "colors": ["--color=always"],
}
UNREADABLE = {
    "word diff": ["--word-diff"],
    "word diff for programs": ["--word-diff=porcelain"],
    "another mark": ["--output-indicator-new=>"],
    "no removed lines": ["-D"],
    "prefixes of two folders": ["--src-prefix=x/a/", "--dst-prefix=x/b/"],
}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = commit_tree(tmp_path_factory.mktemp("git") / "repo", BEFORE)
    return commit_tree(root, RENAMED, "Zoë changes all\n\nwith a text")


@pytest.mark.parametrize("options", GIT.values(), ids=GIT.keys())
def test_a_diff_of_git_gives_the_tree(options: list[str], repo: Path, tmp_path: Path) -> None:
    diff = run("git", "diff", "-M", *options, "HEAD~1", "HEAD", cwd=repo)
    assert apply_diff(tmp_path / "tree", diff, BEFORE) == (RENAMED, "")


@pytest.mark.parametrize("options", REVERSED.values(), ids=REVERSED.keys())
@pytest.mark.parametrize("mnemonic", ["true", "false"])
def test_a_reversed_diff_of_git_gives_the_tree(
    options: list[str], mnemonic: str, repo: Path, tmp_path: Path
) -> None:
    setting = f"diff.mnemonicPrefix={mnemonic}"
    diff = run("git", "-c", setting, "diff", "-R", *options, "HEAD~1", "HEAD", cwd=repo)
    assert apply_diff(tmp_path / "tree", diff, RENAMED) == (BEFORE, "")


@pytest.mark.parametrize("options", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_diff_for_eyes_is_refused_and_writes_nothing(
    options: list[str], repo: Path, tmp_path: Path
) -> None:
    diff = run("git", "diff", *options, "HEAD~1", "HEAD", cwd=repo)
    tree, refusal = apply_diff(tmp_path / "tree", diff, BEFORE)
    assert tree == BEFORE
    assert refusal


def test_colors_of_the_text_itself_are_refused(tmp_path: Path) -> None:
    root = commit_tree(tmp_path / "repo", {"a.txt": "x\n"})
    commit_tree(root, {"a.txt": "x\n\x1b[31mred\x1b[0m\n"})
    diff = run("git", "diff", "--color=always", "HEAD~1", "HEAD", cwd=root)
    tree, refusal = apply_diff(tmp_path / "tree", diff, {"a.txt": "x\n"})
    assert tree == {"a.txt": "x\n"}
    assert "can't be told apart" in refusal


@pytest.mark.parametrize("encoding", ["8bit", "quoted-printable", "base64", "attachment", "inline"])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_a_mail_gives_the_tree(encoding: str, newline: bytes, repo: Path, tmp_path: Path) -> None:
    options = {"attachment": ["--attach"], "inline": ["--inline"]}.get(encoding, [])
    mail = run("git", "format-patch", "-1", "--stdout", *options, cwd=repo)
    encode = {"quoted-printable": quopri.encodestring, "base64": base64.encodebytes}.get(encoding)
    if encode is not None:
        head, _, body = mail.partition(b"\n\n")
        head = head.replace(
            b"Content-Transfer-Encoding: 8bit", f"Content-Transfer-Encoding: {encoding}".encode()
        )
        mail = head + b"\n\n" + encode(body)
    assert apply_diff(tmp_path / "tree", mail.replace(b"\n", newline), BEFORE) == (RENAMED, "")


MIDDLE = {
    **BEFORE,
    "cart.py": BEFORE["cart.py"].replace("line 3\n", "line 3a\nline 3b\n"),
    "middle.txt": "m\n",
    "sub/new.txt": "new\n",
}
LATER = {
    **{name: text for name, text in MIDDLE.items() if name != "middle.txt"},
    "cart.py": MIDDLE["cart.py"].replace("line 3a\nline 3b\n", "line three\n"),
}


@pytest.mark.parametrize("command", [
    ["format-patch", "-3", "--stdout"],
    ["format-patch", "-3", "--stdout", "--attach"],
    ["format-patch", "-3", "--stdout", "--cover-letter"],
    ["log", "-p", "--reverse", "-3"],
], ids=" ".join)  # fmt: skip
@pytest.mark.parametrize("last", [AFTER, RENAMED], ids=["changed", "moved"])
def test_a_series_gives_the_tree_though_its_patches_build_on_each_other(
    command: list[str], last: Tree, tmp_path: Path
) -> None:
    root = tmp_path / "repo"
    for number, tree in enumerate((BEFORE, MIDDLE, LATER, last)):
        commit_tree(root, tree, f"change {number}")
    assert apply_diff(tmp_path / "tree", run("git", *command, cwd=root), BEFORE) == (last, "")


def test_a_move_to_a_path_that_was_changed_before_it_is_kept_apart(tmp_path: Path) -> None:
    trees: list[Tree] = [
        {"a": "a\n" * 9, "c": "c\n" * 9},
        {"a": "a\n" * 9 + "1\n", "c": "c\n" * 9},
        {"b": "a\n" * 9 + "1\n", "c": "c\n" * 9},
        {"b": "a\n" * 9 + "1\n", "a": "c\n" * 9},
        {"b": "a\n" * 9 + "1\n", "a": "c\n" * 9 + "2\n"},
    ]
    for tree in trees:
        commit_tree(tmp_path / "repo", tree)
    diff = run("git", "log", "-p", "-M", "--reverse", "-4", cwd=tmp_path / "repo")
    assert apply_diff(tmp_path / "tree", diff, trees[0]) == (trees[-1], "")


def test_a_copy_is_one_of_the_file_before_the_patch(tmp_path: Path) -> None:
    text = "".join(f"{number}\n" for number in range(20))
    before: Tree = {"a.txt": text}
    after: Tree = {"a.txt": text + "end\n", "z.txt": text, "z2.txt": text.replace("7\n", "seven\n")}
    commit_tree(tmp_path / "repo", before)
    commit_tree(tmp_path / "repo", after)
    diff = run("git", "diff", "-C", "--find-copies-harder", "HEAD~1", "HEAD", cwd=tmp_path / "repo")
    assert diff.count(b"copy from a.txt") == 2
    assert apply_diff(tmp_path / "tree", diff, before) == (after, "")


GNU = {
    "-ruN": ["-ruN"],
    "with functions": ["-rupN"],
    "with colors": ["-ruN", "--color=always"],
    "without context": ["-rN", "-U0"],
}


@pytest.mark.parametrize("options", GNU.values(), ids=GNU.keys())
@pytest.mark.parametrize(
    ("old", "new"), [("old", "new"), ("a", "b"), ("p-1.2.orig", "p-1.2"), ("here", "there")]
)
def test_a_diff_of_gnu_gives_the_tree(options: list[str], old: str, new: str, tmp_path: Path) -> None:
    write_tree(tmp_path / old, BEFORE)
    write_tree(tmp_path / new, RENAMED)
    diff = run("diff", *options, old, new, cwd=tmp_path, allowed=1)
    assert apply_diff(tmp_path / "tree", diff, BEFORE) == (RENAMED, "")


@pytest.mark.parametrize("options", [[], ["--no-prefix"]], ids=["prefix", "no prefix"])
def test_a_diff_of_two_folders_by_git_gives_the_tree(options: list[str], tmp_path: Path) -> None:
    write_tree(tmp_path / "old", BEFORE)
    write_tree(tmp_path / "new", AFTER)
    diff = run("git", "diff", "--no-index", *options, "old", "new", cwd=tmp_path, allowed=1)
    assert apply_diff(tmp_path / "tree", diff, BEFORE) == (AFTER, "")


@pytest.mark.parametrize("program", ["git", "git, reversed", "git, other prefixes", "gnu"])
@pytest.mark.parametrize(("before", "after"), [
    ({"k": "k\n"}, {"k": "k\n", "sub/n.txt": "n\n"}),
    ({"k": "k\n", "sub/g.txt": "g\n"}, {"k": "k\n"}),
    ({"empty": "", "k": "k\n"}, {"empty": "y\n", "k": ""}),
    ({"a": "x", "b": "y\n", "c": ""}, {"a": "x\n", "b": "y", "c": "z"}),
    ({"a/x": "x\n"}, {"a/x": "x\n", "b/y": "y\n"}),
], ids=["one new", "one removed", "filled, emptied", "final newlines", "folders named as prefixes"])  # fmt: skip
def test_a_small_diff_gives_the_tree(program: str, before: Tree, after: Tree, tmp_path: Path) -> None:
    if program == "gnu":
        write_tree(tmp_path / "old", before)
        write_tree(tmp_path / "new", after)
        diff = run("diff", "-ruN", "old", "new", cwd=tmp_path, allowed=1)
    else:
        root = commit_tree(tmp_path / "repo", before)
        commit_tree(root, after)
        options = {"git, reversed": ["-R"], "git, other prefixes": ["--src-prefix=l/", "--dst-prefix=r/"]}
        ends = ["HEAD", "HEAD~1"] if program == "git, reversed" else ["HEAD~1", "HEAD"]
        diff = run("git", "diff", *options.get(program, []), *ends, cwd=root)
    assert apply_diff(tmp_path / "tree", diff, before) == (after, "")


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_recorded_diff_gives_the_tree(path: Path, tmp_path: Path) -> None:
    expected = RENAMED if "-ren-" in path.stem else AFTER
    assert apply_diff(tmp_path / "tree", path.read_bytes(), BEFORE) == (expected, "")


def test_there_are_recorded_diffs_of_each_program() -> None:
    assert {path.stem.partition("-")[0] for path in RECORDED} == {"hg", "quilt", "svn"}


@pytest.mark.parametrize("patch", [
    "*** Begin Patch\n*** Add File: k.txt\n+new\n*** End Patch\n",
    "k.txt\n<<<<<<< SEARCH\n=======\nnew\n>>>>>>> REPLACE\n",
    "--- /dev/null\n+++ b/k.txt\n@@ -0,0 +1 @@\n+new\n",
    "--- old/k.txt\n+++ new/k.txt\n@@ -0,0 +1 @@\n+new\n",
    "*** Begin Patch\n*** Update File: other\n*** Move to: k.txt\n*** End Patch\n",
    "diff --git a/other b/k.txt\nsimilarity index 100%\ncopy from other\ncopy to k.txt\n",
], ids=["patch", "blocks", "diff", "diff of folders", "move", "copy"])  # fmt: skip
def test_no_format_replaces_a_file_by_a_new_one(patch: str, tmp_path: Path) -> None:
    tree = {"k.txt": "k\n", "other": "o\n"}
    assert apply_diff(tmp_path / "tree", patch.encode(), tree) == (tree, "exit 13")


@pytest.mark.parametrize(("before", "patch", "after"), [
    ("a\nb", "@@\n a\n-b\n+B\n", "a\nB"),
    ("a\nb", "@@\n+c\n", "a\nb\nc"),
    ("a\nb", "@@\n-a\n+A\n", "A\nb"),
    ("a\nb\n", "@@\n-b\n+B\n", "a\nB\n"),
])  # fmt: skip
def test_a_patch_keeps_how_the_file_ends(before: str, patch: str, after: str, tmp_path: Path) -> None:
    text = f"*** Begin Patch\n*** Update File: f\n{patch}*** End Patch\n"
    assert apply_diff(tmp_path / "tree", text.encode(), {"f": before}) == ({"f": after}, "")
