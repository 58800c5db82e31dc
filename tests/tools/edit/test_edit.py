"""`edit`: at exactly one place, or not at all."""

from __future__ import annotations

from pathlib import Path

from tests.tools.workspaces import call, put, refused, workspace
from tools.edit.edit_tools import edit

SHOP = """\
class Cart:
    def total(self):
        return sum(self.items)

class Order:
    def total(self):
        return sum(self.items)
"""


def test_one_place_is_changed_and_shown(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.py": "a = 1\nb = 2\nc = 3\n"})
    observation = call(edit, at, path="a.py", old="b = 2", new="b = 20")
    assert (at.root / "a.py").read_text() == "a = 1\nb = 20\nc = 3\n"
    assert observation.text == "edit: a.py: changed 1 place (+1 −1)\n1\ta = 1\n2\tb = 20\n3\tc = 3"
    assert observation.data == {
        "path": "a.py",
        "diff": "--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n a = 1\n-b = 2\n+b = 20\n c = 3\n",
        "rungs": ["exact"],
    }
    assert at.changes.originals == {"a.py": b"a = 1\nb = 2\nc = 3\n"}


def test_several_places_are_listed_and_nothing_is_changed(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"shop.py": SHOP})
    assert refused(edit, at, path="shop.py", old="return sum(self.items)", new="return 0").startswith(
        "edit: shop.py: no change: `old` matches 2 places:\n"
        "  3: return sum(self.items)    (class Cart, def total(self))\n"
        "  7: return sum(self.items)    (class Order, def total(self))"
    )
    assert (at.root / "shop.py").read_text() == SHOP
    assert at.changes.originals == {}


def test_all_changes_every_place(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"shop.py": SHOP})
    text = call(edit, at, path="shop.py", old="self.items", new="self.lines", all=True).text
    assert text.startswith("edit: shop.py: changed 2 places (+2 −2)")
    assert (at.root / "shop.py").read_text() == SHOP.replace("items", "lines")


def test_no_match_shows_the_nearest_place(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"shop.py": SHOP})
    assert refused(edit, at, path="shop.py", old="    return sum(self.item)", new="x") == (
        "edit: shop.py: no change: `old` does not occur. Nearest: line 3. 98% alike.\n"
        "(- `old` as given, + the file)\n"
        "-     return sum(self.item)\n"
        "+         return sum(self.items)\n"
        "Give `old` as the file has it."
    )
    twice = refused(edit, at, path="shop.py", old="def total(self):\n    return sum(self.items)", new="x")
    assert "`old` matches 2 places (indentation):\n  2: def total(self):    (class Cart)" in twice
    assert "Nothing in the file is like it" in refused(edit, at, path="shop.py", old="@@@@@@@@@@", new="x")


def test_two_long_lines_are_shown_where_they_differ(tmp_path: Path) -> None:
    line = ";".join(f"f{n}(a)" for n in range(3_000))
    at = workspace(tmp_path, {"a.js": f"// x\n{line}\n// y\n"})
    said = refused(edit, at, path="a.js", old=f"// x\n{line.replace('f999(', 'f999x(')}\n", new="z\n")
    _, _, given, there, *_ = said.split("\n")[1:]
    assert [line[:3] for line in (given, there)] == ["- …", "+ …"]
    assert "f998(a);f999x(a);" in given
    assert "f998(a);f999(a);" in there
    assert max(len(given), len(there)) <= 200


def test_an_identifier_is_never_cut_in_two(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.py": "maxx = 1\nx = 10\n"})
    assert "stands only within longer names (line 1)" in refused(
        edit, at, path="a.py", old="x = 1", new="x = 2"
    )
    put(at.root, {"a.py": "maxx = 1\nx = 1\n"})
    call(edit, at, path="a.py", old="x = 1", new="x = 2")
    assert (at.root / "a.py").read_text() == "maxx = 1\nx = 2\n"


def test_a_match_may_begin_and_end_anywhere_else(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.py": "f(a, b)[0].c\n"})
    call(edit, at, path="a.py", old=", b)[0]", new=")")
    assert (at.root / "a.py").read_text() == "f(a).c\n"


def test_edits_that_ask_for_nothing_are_refused(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.py": "a = 1\n"})
    assert "`old` and `new` are the same" in refused(edit, at, path="a.py", old="a", new="a")
    assert "`old` is empty" in refused(edit, at, path="a.py", old="", new="a")
    assert "write(path='b.py'" in refused(edit, at, path="b.py", old="", new="a")
    assert "no such file" in refused(edit, at, path="b.py", old="a", new="b")


def test_line_endings_bom_and_encoding_survive(tmp_path: Path) -> None:
    files = {
        "dos.txt": b"a\r\nb\r\nc\r\n",
        "mixed.txt": b"a\r\nb\nc\r\nd\r\n",
        "bom.txt": b"\xef\xbb\xbfa\nb\n",
        "latin.txt": "größe = 1\nb\n".encode("latin-1"),
        "no_end.txt": b"a\nb",
    }
    at = workspace(tmp_path, files)
    for name in files:
        call(edit, at, path=name, old="b", new="x\r\ny")
    assert {name: (at.root / name).read_bytes() for name in files} == {
        "dos.txt": b"a\r\nx\r\ny\r\nc\r\n",
        "mixed.txt": b"a\r\nx\ny\r\nc\r\nd\r\n",
        "bom.txt": b"\xef\xbb\xbfa\nx\ny\n",
        "latin.txt": "größe = 1\nx\ny\n".encode("latin-1"),
        "no_end.txt": b"a\nx\ny",
    }
    assert "a guess: '€'" in refused(edit, at, path="latin.txt", old="größe", new="größe €")
    assert (at.root / "latin.txt").read_bytes() == "größe = 1\nx\ny\n".encode("latin-1")


def test_new_syntax_errors_are_told_old_ones_are_not(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.py": "a = 1\nb = 2\n"})
    broken = call(edit, at, path="a.py", old="a = 1", new="a = (1").text
    assert "syntax error: a.py:1: '(' was never closed" in broken
    assert "syntax error" not in call(edit, at, path="a.py", old="b = 2", new="b = 3").text


def test_protected_and_outside_files_are_not_edited(tmp_path: Path) -> None:
    at = workspace(tmp_path, {".git/config": "[core]\n"})
    assert "protected" in refused(edit, at, path=".git/config", old="core", new="x")
    assert (at.root / ".git/config").read_text() == "[core]\n"
    (tmp_path / "out.txt").write_text("a")
    assert "outside the workspace" in refused(edit, at, path="../out.txt", old="a", new="b")


def test_changes_far_apart_are_shown_apart(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.txt": "x\n" + "-\n" * 20 + "x\n"})
    text = call(edit, at, path="a.txt", old="x", new="long\nname", all=True).text
    assert text.splitlines()[1:] == [
        *("1\tlong", "2\tname", "3\t-", "4\t-", "5\t-"),
        "  …",
        *("20\t-", "21\t-", "22\t-", "23\tlong", "24\tname"),
    ]
