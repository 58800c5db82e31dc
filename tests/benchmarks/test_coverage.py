"""Small fixes out of a real history, looked up among the templates' candidates without a test being run."""

from __future__ import annotations

import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from benchmarks.templates.coverage import look_up, table, whole
from benchmarks.templates.history import Fix, small_fixes
from benchmarks.templates.kinds import kind_of

FAULTY = (
    "def open_now(shop, day):\n    if shop.ready and day > 5:\n        return shop.hours\n    return []\n"
)
NEIGHBOUR = "def close(shop):\n    if shop.shut:\n        shop.shut = False\n"


def committed(clone: Path, files: dict[str, str], subject: str) -> str:
    for name, text in files.items():
        (clone / name).parent.mkdir(exist_ok=True)
        (clone / name).write_text(text)
    _git(clone, "add", "-A")
    _git(clone, "commit", "-qm", subject)
    return _git(clone, "rev-parse", "HEAD").strip()


def _git(clone: Path, *arguments: str) -> str:
    command = ["git", "-C", str(clone), "-c", "user.name=N", "-c", "user.email=n@example.org", *arguments]
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout


def in_development(clone: Path, files: dict[str, str], subject: str) -> str:
    """A commit of the half that may be looked at, whatever its hash comes to at first."""
    commit = committed(clone, files, subject)
    number = 0
    while sha256(commit.encode()).digest()[0] % 2 == 0:
        number += 1
        _git(clone, "commit", "-q", "--amend", "-m", f"{subject} ({number})")
        commit = _git(clone, "rev-parse", "HEAD").strip()
    return commit


@pytest.mark.slow
def test_a_fix_with_a_test_is_found_in_the_history_and_looked_up(tmp_path: Path) -> None:
    _git(tmp_path, "init", "-q")
    committed(tmp_path, {"shop.py": FAULTY + NEIGHBOUR, "tests/test_shop.py": "A = 1\n"}, "Begin")
    in_development(
        tmp_path, {"shop.py": f"# note\n{FAULTY}{NEIGHBOUR}", "tests/test_shop.py": "A = 2\n"}, "Fix words"
    )
    in_development(tmp_path, {"shop.py": FAULTY.replace("5", "6") + NEIGHBOUR}, "Fix what no test shows")
    in_development(tmp_path, {"shop.py": FAULTY + NEIGHBOUR, "tests/test_shop.py": "A = 3\n"}, "Add a thing")
    same = FAULTY.replace("day > 5", "day > 5 and not shop.shut") + NEIGHBOUR
    commit = in_development(tmp_path, {"shop.py": same, "tests/test_shop.py": "A = 4\n"}, "Fix a shut shop")
    (fix,) = small_fixes(tmp_path, 100)
    assert (fix.commit, fix.path, fix.edits) == (commit, "shop.py", 1)
    (edit,) = look_up(fix, keep=True)
    assert (edit.kind, edit.fold) == ("operand of and/or added", fix.fold)
    assert edit.place is not None
    assert edit.tried[edit.place][0] == edit.template
    assert whole([edit], edit.place + 1).startswith("1 fixes, 1 (100 %) made whole, 1 (100 %) among")
    assert "0   0 %" in table([edit], edit.place).splitlines()[-1]


@pytest.mark.slow
def test_what_no_template_makes_has_no_place(tmp_path: Path) -> None:
    _git(tmp_path, "init", "-q")
    committed(tmp_path, {"shop.py": FAULTY, "tests/test_shop.py": "A = 1\n"}, "Begin")
    odd = FAULTY.replace("shop.hours", "{hour: 17 * len(hour) for hour in shop.hours.between(3, day)}")
    commit = committed(tmp_path, {"shop.py": odd, "tests/test_shop.py": "A = 2\n"}, "Fix hours")
    fix = Fix(project="shop", clone=str(tmp_path), commit=commit, subject="Fix", path="shop.py", edits=1)
    (edit,) = look_up(fix)
    assert (edit.template, edit.place) == (None, None)
    assert edit.made > 50


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("x = a < b", "x = a <= b", "operator"),
        ("x = f(a)", "x = f(a, b)", "argument added"),
        ("x = f(a)", "x = f(a, b=1)", "keyword added"),
        ("x = a", "x = a or b", "joined by and/or"),
        ("x = a", "x = f(a)", "wrapped in a call"),
        ("x = a", "x = a.copy()", "method called on it"),
        ("x = a.b", "x = a.c", "attribute name"),
        ("x = 'a'", "x = 'b'", "str constant"),
        ("if a:", "while a:", "if to while"),
        ("def f(a):", "def f(a, b):", "definition's header"),
        ("", "return a", "return inserted"),
        ("f(a)", "", "call removed"),
        ("x = 1", "    x = 1", "indentation"),
    ],
)
def test_edits_are_told_apart(old: str, new: str, kind: str) -> None:
    assert kind_of([old] if old else [], [new] if new else []) == kind
