"""Diffs that are shown: what git makes of them is what was meant."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.repo import Repo
from tools.core.text import count_changed_lines, count_diff_lines, format_unified_diff

STRESS = int(os.environ.get("PATCHWRIGHT_STRESS", "1"))
SEED = int(os.environ.get("PATCHWRIGHT_SEED", "11"))
TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "\n", "--- x\n", "+c\n", "\x0c\n", "end"]), max_size=14).map(
    "".join
)


def applied(diff: str, before: str) -> str:
    """A small reader of diffs: what `before` becomes."""
    old = [f"{line}\n" for line in before.split("\n")]
    old[-1] = old[-1][:-1]
    rows = [f"{line}\n" for line in diff.split("\n")[:-1]][2:]
    new, at = [], 0
    for number, row in enumerate(rows):
        text = row[1:]
        if number + 1 < len(rows) and rows[number + 1].startswith("\\ "):
            text = text[:-1]
        if row.startswith("@@"):
            first, _, count = row.split()[1][1:].partition(",")
            start = int(first) - (count != "0")
            new, at = new + old[at:start], start
        elif row[0] in " -":
            assert old[at] == text
            new, at = new + [text] * (row[0] == " "), at + 1
        elif row[0] == "+":
            new.append(text)
    return "".join(new + old[at:])


@pytest.mark.slow
@given(TEXTS, TEXTS)
def test_a_diff_leads_from_one_text_to_the_other(before: str, after: str) -> None:
    diff = format_unified_diff("a.txt", before, after)
    assert (diff == "") == (before == after)
    if diff:
        assert applied(diff, before) == after


@pytest.mark.slow
@given(TEXTS, TEXTS)
def test_what_is_added_and_removed_adds_up(before: str, after: str) -> None:
    added, removed = count_diff_lines(format_unified_diff("a.txt", before, after) or "\n\n")
    assert count_changed_lines(before, after) == (added, removed)
    lines = [len(text.split("\n")) - text.endswith("\n") - (text == "") for text in (before, after)]
    assert added - removed == lines[1] - lines[0]


@pytest.mark.slow
@given(TEXTS, st.integers(0, 60))
def test_the_diff_of_one_changed_line_is_as_small_as_difflibs(text: str, at: int) -> None:
    from difflib import unified_diff

    lines = text.split("\n")
    lines[at % len(lines)] += "!"
    after = "\n".join(lines)
    ours = count_diff_lines(format_unified_diff("a.txt", text, after))
    split = [[f"{line}\n" for line in each.split("\n")] for each in (text, after)]
    theirs = count_diff_lines("".join(unified_diff(*split, "a", "b")))
    assert ours[0] <= theirs[0] + 1  # a last line that was empty is no line for a diff
    assert ours[1] <= theirs[1]


def test_a_diff_names_files_that_are_new_removed_or_moved() -> None:
    assert format_unified_diff("a", "", "x\n").splitlines()[:2] == ["--- /dev/null", "+++ b/a"]
    assert format_unified_diff("a", "x\n", "").splitlines()[:2] == ["--- a/a", "+++ /dev/null"]
    assert format_unified_diff("b", "x\n", "y\n", "a").splitlines()[:2] == ["--- a/a", "+++ b/b"]


@pytest.mark.slow
def test_git_applies_every_diff_to_the_letter(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    source = random.Random(SEED)
    for number in range(40 * STRESS):
        before, after = f"first\n{_text(source)}", f"{_text(source)}last\n"
        repo.write("a.txt", before)
        (tmp_path / "a.diff").write_bytes(format_unified_diff("a.txt", before, after).encode())
        repo.git("apply", str(tmp_path / "a.diff"))
        assert repo.read("a.txt") == after, f"number {number} of seed {SEED}"


def _text(source: random.Random) -> str:
    lines = [source.choice(["a", "b", "", "- c", "é"]) for _ in range(source.randrange(60))]
    return "\n".join(lines) + source.choice(["", "\n"])
