"""What a proposal may bring, and what is remembered of it."""

from __future__ import annotations

from pathlib import Path

from packages.improve.improvement.idea_archive import MOST_TOLD, IdeaArchive
from packages.improve.improvement.improvement import is_own_file


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
