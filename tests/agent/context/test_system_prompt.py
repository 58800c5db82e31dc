"""The system prompt: short, without its comments, with the project's own instructions from the root down."""

from __future__ import annotations

from pathlib import Path

from agent.context.system_prompt import MAX_INSTRUCTIONS, build_system_prompt, read_project_instructions


def prompt(root: Path, working: Path | None = None, *, commits: bool = True) -> str:
    return build_system_prompt(
        root, working or root, mode="workspace", sandbox="bubblewrap", branch="main", commits=commits
    )


def test_the_reasons_in_the_prompt_are_not_sent(tmp_path: Path) -> None:
    text = prompt(tmp_path)
    assert "<!--" not in text
    assert "Reward hacking" not in text
    assert "never weaken, skip, delete or special-case a test" in text


def test_committing_is_spoken_of_only_where_it_is_offered(tmp_path: Path) -> None:
    assert "git_commit" in prompt(tmp_path)
    assert "git_commit" not in prompt(tmp_path, commits=False)


def test_instructions_are_read_from_the_root_down(tmp_path: Path) -> None:
    inner = tmp_path / "pkg" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "AGENTS.md").write_text("root rules")
    (tmp_path / "CLAUDE.md").write_text("not read beside AGENTS.md")
    (tmp_path / "pkg" / "CLAUDE.md").write_text("read where it stands alone")
    (inner / "AGENTS.md").write_text("inner rules")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "AGENTS.md").write_text("elsewhere")
    assert read_project_instructions(tmp_path, inner) == [
        ("AGENTS.md", "root rules"),
        ("pkg/CLAUDE.md", "read where it stands alone"),
        ("pkg/inner/AGENTS.md", "inner rules"),
    ]
    assert prompt(tmp_path, inner).endswith("inner rules\n</project-instructions>")


def test_instructions_are_bounded_and_never_from_outside(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret").write_text("outside")
    (root / "AGENTS.md").symlink_to(tmp_path / "secret")
    assert read_project_instructions(root, root) == []
    (root / "AGENTS.md").unlink()
    (root / "AGENTS.md").write_text("x" * (MAX_INSTRUCTIONS * 2))
    assert len(read_project_instructions(root, root)[0][1]) == MAX_INSTRUCTIONS
