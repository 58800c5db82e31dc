"""Broken edits are refused with a message that says where, what and how; nothing of a text is dropped silently."""

from __future__ import annotations

import pytest

from tools.edit.formats import Form, MalformedEdit, parse_edits

B = "a.py\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n"
P = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch\n"
D = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n"

BLOCKS = {
    "only the last marker": ("x\n>>>>>>> REPLACE\n", r"line 2: '>>>>>>> REPLACE' ends a block that no"),
    "not closed": ("a.py\n<<<<<<< SEARCH\nx\n=======\ny\n", r"line 2: .*not closed by '>>>>>>> REPLACE'"),
    "not closed, in a fence": ("a.py\n```\n<<<<<<< SEARCH\nx\n=======\ny\n```\n", r"line 3: .*not closed"),
    "not closed before the next": ("a.py\n<<<<<<< SEARCH\nx\n=======\ny\n" + B, r"line 2: .*before line 7"),
    "closed by a divider": ("a.py\n<<<<<<< SEARCH\nx\n=======\ny\n=======\n", r"line 2: .*not closed"),
    "no divider": ("a.py\n<<<<<<< SEARCH\nx\ny\n>>>>>>> REPLACE", r"line 2: .*line 5 has no '======='"),
    "no divider, then a good one": (
        "a.py\n<<<<<<< SEARCH\nx\n>>>>>>> REPLACE\n" + B,
        r"line 2: .*line 4 has no",
    ),
    "only the first marker": ("a.py\n<<<<<<< SEARCH\n", r"line 2: .*not closed"),
    "only the first two": ("a.py\n<<<<<<< SEARCH\nx\n=======", r"line 2: .*not closed"),
    "the last marker alone": (B + "z\n>>>>>>> REPLACE\n", r"line 8: '>>>>>>> REPLACE' ends a block that no"),
    "a replacement twice": (
        B + "=======\nz\n>>>>>>> REPLACE\n",
        r"line 9: '>>>>>>> REPLACE' ends a block that no",
    ),
    "two dividers": (
        "a.py\n<<<<<<< SEARCH\nx\n=======\ny\n=======\nz\n>>>>>>> REPLACE",
        r"lines 4, 6 all look",
    ),
    "three dividers": (
        "a.py\n<<<<<<< SEARCH\nx\n=======\n=======\n=======\n>>>>>>> REPLACE",
        r"lines 4, 5, 6",
    ),
    "a heading at the end": (
        "a.py\n<<<<<<< SEARCH\nx\n=======\nseven77\n=======\n>>>>>>> REPLACE",
        r"lines 4, 6 all",
    ),
    "no name": (B.split("\n", 1)[1], r"line 1: no file is named before this block"),
    "prose for a name": ("Change it:\n" + B.split("\n", 1)[1], r"line 2: no file is named"),
    "a sentence for a name": (
        "I changed the file a bit\n" + B.split("\n", 1)[1],
        r"line 2: no file is named",
    ),
    "a language for a name": ("```python\n" + B.split("\n", 1)[1] + "```", r"line 2: no file is named"),
    "a new file without a name": (
        B + "<<<<<<< SEARCH\n=======\nz\n>>>>>>> REPLACE",
        r"line 7: an empty SEARCH creates",
    ),
    "a merge conflict": ("a.py\n<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> main\n", r"line 2: .*not closed"),
    "one within another": (
        "a.py\n<<<<<<< SEARCH\nx\n" + B + "=======\nz\n>>>>>>> REPLACE",
        r"line 2: .*not closed",
    ),
    "two names and one block": (
        "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\na.py\n",
        r"line 1: no file is named",
    ),
}
PATCHES = {
    "nothing in it": ("*** Begin Patch\n*** End Patch\n", r"line 1: the patch is empty"),
    "an update of nothing": ("*** Begin Patch\n*** Update File: a.py\n*** End Patch", r"line 2: .*a\.py.*has no lines"),
    "an update without lines": ("*** Begin Patch\n*** Update File: a.py\n@@\n*** End Patch", r"a hunk has no lines"),
    "a head and nothing": (P.replace("*** End", "@@ def f():\n*** End"), r"a hunk has no lines"),
    "only context": (P.replace("-x\n+y", " x\n y"), r"lines 4 to 5 change nothing: a hunk needs lines that begin"),
    "an idle hunk first": (P.replace("@@\n", "@@ class A\n z\n@@\n"), r"lines 4 to 4 change nothing"),
    "an unknown operation": (P.replace("Update", "Frobnicate"), r"line 2: '\*\*\* Frobnicate File: a\.py' is no"),
    "a rename": ("*** Begin Patch\n*** Move File: a.py -> b.py\n*** End Patch", r"line 2: .*Move to: PATH"),
    "a move without an update": ("*** Begin Patch\n*** Move to: b\n*** End Patch", r"line 2: .*must follow directly"),
    "a move after hunks": (P.replace("*** End", "*** Move to: b.py\n*** End"), r"line 6: .*must follow directly"),
    "a move twice": (P.replace("@@", "*** Move to: b\n*** Move to: c\n@@"), r"line 4: .*must follow directly"),
    "no name": (P.replace(" a.py", ""), r"line 2: '\*\*\* Update File:' names no file"),
    "lines before a header": (P.replace("*** Update File: a.py\n", ""), r"line 2: '@@' stands where a header should"),
    "prose before a header": (P.replace("*** Up", "Now:\n*** Up"), r"line 2: 'Now:' stands where a header should"),
    "a new file half marked": ("*** Begin Patch\n*** Add File: n\n+x\ny\n*** End Patch", r"line 4: 'y' in .*n': every"),
    "a new file as context": ("*** Begin Patch\n*** Add File: n\n x\n y\n*** End Patch", r"line 3: .*begins with '\+'"),
    "a new file with removed lines": ("*** Begin Patch\n*** Add File: n\n+x\n-y\n*** End Patch", r"line 4: '-y'"),
    "lines after a removal": ("*** Begin Patch\n*** Delete File: a\nbye\n*** End Patch", r"line 3: 'bye' follows on"),
    "the end alone": ("*** End Patch\n", r"line 1: '\*\*\* End Patch' stands outside"),
    "two ends": (P + "*** End Patch", r"line 7: .*stands outside"),
    "cut off in a hunk": (P.split("*** End")[0].rstrip("\n"), r"line 5: the text ends after '\+y' without .*cut off"),
    "cut off after a header": ("*** Begin Patch\n*** Update File: a.py", r"cut off|no lines"),
    "cut off after the first line": ("*** Begin Patch", r"line 1: .*cut off|empty"),
    "cut off in a new file": ("*** Begin Patch\n*** Add File: n\nx = 1\ny = 2", r"nothing says where .* 'n' ends"),
    "an unknown line with stars": (P.replace("-x", "*** Oops: x\n-x"), r"line 4: '\*\*\* Oops: x' is no header"),
}  # fmt: skip
DIFFS = {
    "no hunk": ("--- a/a.py\n+++ b/a.py\n", r"line 1: no hunk follows on the header of 'a\.py'"),
    "no hunk before the next file": ("--- a/a.py\n+++ b/a.py\n" + D.replace("a.py", "b.py"), r"line 1: no hunk"),
    "a git header alone": ("diff --git a/a.py b/a.py\nindex 1..2 100644\n", r"line 1: no hunk"),
    "only context": ("--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n x\n y\n", r"lines 4 to 5 change nothing"),
    "a head and nothing": ("--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n", r"a hunk has no lines"),
    "no file": ("@@ -1 +1 @@\n-x\n+y\n", r"line 1: no file is named before '@@ -1 \+1 @@'"),
    "no file, in a fence": ("```diff\n@@ -1 +1 @@\n-x\n+y\n```", r"line 2: no file is named"),
    "two files in one header": (D.replace("b/a.py", "b/b.py"), r"line 1: .*two files, 'a\.py' and 'b\.py'"),
    "both files missing": ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-x\n", r"line 1: both names are /dev/null"),
    "binary": ("diff --git a/a b/a\nindex 1..2\nBinary files a/a and b/a differ\n", r"line 3: .*binary files"),
    "git's binary": ("diff --git a/a b/a\nindex 1..2\nGIT binary patch\nliteral 4\nabc\n", r"line 3: .*binary files"),
    "combined": ("diff --cc a.py\n--- a/a.py\n+++ b/a.py\n@@@ -1 -1 +1 @@@\n- x\n -y\n++z\n", r"line 1: .*combined"),
    "combined, headless": ("--- a/a.py\n+++ b/a.py\n@@@ -1 -1 +1 @@@\n- x\n++z\n", r"no hunk|combined diff|lines"),
    "a new file with context": ("--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n x\n+y\n", r"'n' is new, so every line"),
    "a new file with removed lines": ("--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n-x\n+y\n", r"'n' is new"),
    "a new file without lines": ("--- /dev/null\n+++ b/n\n", r"line 1: no hunk follows"),
    "a removed file with added lines": ("--- a/g\n+++ /dev/null\n@@ -1 +1 @@\n-x\n+y\n", r"'g' is removed, so every"),
    "a link": ("diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+t\n", r"120000"),
    "a submodule": ("diff --git a/s b/s\nnew file mode 160000\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+x\n", r"160000"),
    "a removal without lines": (
        "diff --git a/a b/a\ndeleted file mode 100644\nindex 1234567..0000000\n",
        r"line 1: the lines of the removed file are left out",
    ),
    "a changed link": ("diff --git a/a.py b/a.py\nindex 1..2 120000\n" + D, r"line 1: mode 120000"),
    "a lone new file of quilt": (
        "Index: shop/n\n=====\n--- /dev/null\n+++ shop/n\n@@ -0,0 +1 @@\n+x\n",
        r"line 3: 'shop/n': nothing shows whether 'shop/' is a folder",
    ),
    "only svn properties": (
        "Index: a\n=====\n--- a\t(revision 1)\n+++ a\t(working copy)\n\nProperty changes on: a\n_____\n"
        "Added: x\n## -0,0 +1 ##\n+y\n",
        r"line 3: only properties of svn change",
    ),
    "names that run together": ("diff --git a/x y b/z\nold mode 100644\nnew mode 100755\n", r"names no file, or two"),
    "no newline before any line": ("--- a\n+++ a\n@@ -1 +1 @@\n\\ No newline at end\n-x\n", r"line 4: .*before any"),
}  # fmt: skip
MIXED = {
    "blocks, then a patch": (
        B + P,
        r"line 7: the '\*\*\* Begin Patch' format begins here.*a search/replace block",
    ),
    "blocks, then a diff": (B + D, r"line 7: a unified diff begins here"),
    "a patch, then blocks": (P + B, r"line 8: a search/replace block begins here.*Begin Patch"),
    "a patch, then a diff": (P + D, r"line 7: a unified diff begins here"),
    "a diff, then blocks": (D + "\n" + B, r"line 8: a search/replace block begins here.*a unified diff"),
    "a diff, then a patch": (D + "\n" + P, r"line 8: the '\*\*\* Begin Patch' format begins here"),
}
NOTHING = {
    "empty": "",
    "blank": " \n\n\t\n",
    "prose": "I looked at it, and nothing has to change.\n- one\n+ two\n",
    "code": "```python\nprint('<<<')\nx = a @@ b\n```\n",
    "an old diff": "6c6\n< x\n---\n> y\n",
    "a heading": "Title\n=======\n\ntext\n-------\n",
    "json": '{"path": "a.py", "content": "x"}',
}

CASES = [
    pytest.param(text, says, id=f"{family}: {name}")
    for family, cases in (("blocks", BLOCKS), ("patch", PATCHES), ("diff", DIFFS), ("mixed", MIXED))
    for name, (text, says) in cases.items()
]


@pytest.mark.parametrize(("text", "says"), CASES)
def test_a_broken_edit_is_refused_with_its_line(text: str, says: str) -> None:
    with pytest.raises(MalformedEdit, match=says) as refusal:
        parse_edits(text)
    assert str(refusal.value).startswith("line ")


@pytest.mark.parametrize(("text", "says"), [case for case in CASES if "mixed" not in str(case.id)])
def test_a_refusal_shows_an_example_that_can_be_read(text: str, says: str) -> None:
    with pytest.raises(MalformedEdit) as refusal:
        parse_edits(text)
    assert parse_edits(str(refusal.value).partition("\nExample:\n")[2])


@pytest.mark.parametrize("text", NOTHING.values(), ids=NOTHING.keys())
@pytest.mark.parametrize("form", ["auto", "blocks", "patch", "diff"])
def test_a_text_without_edits_is_refused_with_all_three_formats(text: str, form: Form) -> None:
    with pytest.raises(MalformedEdit, match="no edit found") as refusal:
        parse_edits(text, form)
    for sign in ("<<<<<<< SEARCH", "*** Begin Patch", "--- a/src/cart.py"):
        assert sign in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "form"), [(P, "blocks"), (D, "blocks"), (B, "patch"), (D, "patch"), (B, "diff"), (P, "diff")]
)
def test_another_format_than_the_one_asked_for_is_named(text: str, form: Form) -> None:
    with pytest.raises(MalformedEdit, match=r"was asked for, but the text is in another format"):
        parse_edits(text, form)


def test_there_are_sixty_broken_edits() -> None:
    assert len(CASES) + len(NOTHING) >= 60
