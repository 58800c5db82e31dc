"""What a proposal may bring, and what is remembered of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from packages.improve.improvement.idea_archive import LARGEST, MOST_TOLD, IdeaArchive
from packages.improve.improvement.improvement import is_own_file, is_protected, is_text

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_a_link_is_no_file_of_the_project(tmp_path: Path) -> None:
    root, outside = tmp_path / "project", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "secret").write_text("x")
    (root / "agent.py").write_text("x")
    (root / "secret").symlink_to(outside / "secret")
    (root / "folder").symlink_to(outside)
    assert is_own_file(root, "agent.py")
    for path in ("secret", "folder/secret", "../outside/secret", "missing"):
        assert not is_own_file(root, path), path


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", True),
        ("caf\u00e9\r\n".encode(), True),
        (b"caf\xe9\n", False),
        (b"a\0b", False),
        (b"\xed\xa0\x80", False),
    ],
)
def test_only_what_can_be_written_byte_for_byte_is_text(content: bytes, expected: bool) -> None:
    assert is_text(content) is expected
    assert not expected or content.decode().encode() == content


@pytest.mark.parametrize(
    ("suite", "path"),
    [
        ("python evals/run.py", "evals/run.py"),
        ("python -m evals.run --fast", "src/evals/run.py"),
        ("python -m evals", "evals/cases.py"),
        ("bash -c 'cd . && python evals/run.py|tail -9'", "evals/run.py"),
        ("./evals/run.sh", "evals/run.sh"),
        ("make eval", "Makefile"),
        ("npm run eval", "package.json"),
        ("npm run eval", "src/agent.test.ts"),
        ("make eval", "docs/goals.md"),
    ],
)
def test_what_decides_is_protected(suite: str, path: str) -> None:
    assert is_protected(path, suite, ["docs/*"])
    assert not is_protected("src/agent.py", suite, ["docs/*"])
    assert not is_protected("src/run.py", suite, ["docs/*"])


def test_ideas_for_the_same_failures_are_remembered(tmp_path: Path) -> None:
    archive = IdeaArchive(tmp_path / "steps" / "improve.jsonl")
    for number in range(MOST_TOLD + 2):
        archive.add_step("idea", cluster="#", idea=f"idea {number}", result="reverted", kept=False)
    archive.add_step("idea", cluster="other", idea="x", result="kept", kept=True)
    with archive.path.open("a") as file:
        file.write('{"step": "idea", "clus')
    ideas = IdeaArchive(archive.path).list_ideas("#")
    assert len(ideas) == MOST_TOLD
    assert ideas[-1] == (f"idea {MOST_TOLD + 1}", "reverted")


def test_an_idea_of_any_characters_is_remembered_without_secrets(tmp_path: Path) -> None:
    archive = IdeaArchive(tmp_path / "improve.jsonl")
    archive.add_step("idea", cluster="#", idea="a\u2028b\x85c \udcff", result=f"key {SECRET}")
    [(idea, result)] = archive.list_ideas("#")
    assert idea == "a\u2028b\x85c \udcff"
    assert SECRET not in result
    with archive.path.open("ab") as file:
        file.truncate(LARGEST + 1)
    assert archive.list_ideas("#") == []
    archive.add_step("idea", cluster="#", idea="x", result="kept")
