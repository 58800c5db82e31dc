"""Bugs mined from a repository with real commits, and one of them given to the engine."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from benchmarks.repair.mining import Bug, extract, fix_size, load, mine
from benchmarks.repair.projects import Result, measure, report
from tools.repair.result import LOW

# Each runs real pytest sessions.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

FAULTY = """\
def total(prices):
    return sum(prices) - 1


def first(items):
    return items[0]
"""
TESTS = """\
from shop import first


def test_first():
    assert first([1]) == 1
"""
MENDED = FAULTY.replace("    return sum(prices) - 1", "    # all of them\n    return sum(prices)")
MORE_TESTS = (
    TESTS.replace("import first", "import first, total")
    + """

def test_total():
    assert total([1, 2]) == 3
    assert total([5]) == 5
"""
)
COMMITS = (
    ("Begin", {"shop.py": FAULTY, "tests/test_shop.py": TESTS}),
    ("Fix the total (closes #7)", {"shop.py": MENDED, "tests/test_shop.py": MORE_TESTS}),
    ("Add a note", {"NOTES": "nothing\n"}),
    ("Fix a comment", {
        "shop.py": MENDED.replace("all of them", "every one"),
        "tests/test_shop.py": MORE_TESTS.replace("first([1]) == 1", "first([2]) == 2"),
    }),
)  # fmt: skip


@pytest.fixture(name="clone")
def _clone(tmp_path: Path) -> Path:
    clone = tmp_path / "shop"
    clone.mkdir()
    git(clone, "init", "-q")
    for subject, files in COMMITS:
        for name, text in files.items():
            (clone / name).parent.mkdir(exist_ok=True)
            (clone / name).write_text(text, "utf-8")
        git(clone, "add", "-A")
        git(clone, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", subject)
    return clone


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_fix_with_its_tests_is_found_and_repaired_again(clone: Path, tmp_path: Path) -> None:
    python = Path(sys.executable)
    (bug,) = mine(clone, python, newest=10, sample=5, small=5, attempts=10)
    assert (bug.project, bug.subject, bug.edits) == ("shop", "Fix the total (closes #7)", 1)
    assert bug.failing == ("tests/test_shop.py::test_total",)
    assert bug.in_reach
    kept = tmp_path / "bugs.jsonl"
    kept.write_text(bug.as_line(), "utf-8")
    assert load(kept) == [bug]
    result = measure(bug, python, budget=120, whole=60)
    assert (result.plausible, result.exact) == (True, True), result.reason


def test_comments_are_no_edits(clone: Path) -> None:
    assert fix_size(clone, "HEAD", ["shop.py"]) == 0


def test_the_report_counts_what_is_exact_and_what_a_review_finds_equal() -> None:
    def result(name: str, *, plausible: bool, exact: bool, confidence: float = 1.0) -> Result:
        return Result(
            name=name, half="held-out", edits=1, sampled=True, outcome="", plausible=plausible, exact=exact,
            tried=1, cpu=1.0, wall=1.0, fixes=[{"confidence": confidence}], reason="",
        )  # fmt: skip

    results = [
        result("a", plausible=True, exact=True),
        result("b", plausible=True, exact=False, confidence=LOW - 0.01),
        result("c", plausible=True, exact=False),
        result("d", plausible=False, exact=False),
    ]
    rows = report(results, {"b": "equal"}).splitlines()
    row = next(each for each in rows if each.startswith("held-out, one edit"))
    assert row.split()[3:] == ["4", "3", "75", "%", "2", "50", "%", "(1", "+", "1;", "1)", "1", "of", "2"]


def test_a_bug_keeps_its_half() -> None:
    bug = Bug(
        project="p", clone="/c", commit="abc", subject="s", sources=(), tests=(), failing=(), edits=3, sampled=True
    )  # fmt: skip
    assert bug.half == Bug.read(bug.as_line()).half
    assert not bug.in_reach


@pytest.mark.parametrize("filters", [True, False])
def test_an_archive_is_extracted_by_every_python_and_nothing_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, filters: bool
) -> None:
    """Python before 3.11.4 has no filter of its own."""
    if not filters:
        monkeypatch.delattr(tarfile, "data_filter", raising=False)
    inside = {"a/b.py": "x = 1\n", "a/link": "../a/b.py"}
    extract(archive(inside), tmp_path / "inside")
    assert (tmp_path / "inside/a/link").read_text() == "x = 1\n"
    for number, names in enumerate(({"../out": "x"}, {"link": "../../etc"}, {"link": "/etc/passwd"})):
        with pytest.raises(tarfile.TarError):
            extract(archive(names), tmp_path / str(number))
    assert not (tmp_path / "out").exists()


def archive(files: dict[str, str]) -> tarfile.TarFile:
    """A tar of files, in which what is called a link is one."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            if name.endswith("link"):
                member.type, member.linkname = tarfile.SYMTYPE, text
                tar.addfile(member)
            else:
                member.size = len(text)
                tar.addfile(member, io.BytesIO(text.encode()))
    written.seek(0)
    return tarfile.open(fileobj=written)
