"""The system prompt: short, without its comments, with the project's own instructions from the root down."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.context.project_instructions import MAX_INSTRUCTIONS, read_project_instructions
from agent.context.system_prompt import build_system_prompt


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
    assert read_project_instructions(tmp_path, inner).files == {
        "AGENTS.md": "root rules",
        "pkg/CLAUDE.md": "read where it stands alone",
        "pkg/inner/AGENTS.md": "inner rules",
    }
    assert prompt(tmp_path, inner).endswith("inner rules\n</project-instructions>")


def test_instructions_are_bounded_and_never_from_outside(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret").write_text("outside")
    (root / "AGENTS.md").symlink_to(tmp_path / "secret")
    assert read_project_instructions(root, root).files == {}
    (root / "AGENTS.md").unlink()
    (root / "AGENTS.md").write_text("x" * (MAX_INSTRUCTIONS * 2))
    assert len(read_project_instructions(root, root).files["AGENTS.md"]) == MAX_INSTRUCTIONS


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_the_memory_of_claude_code_is_read(tmp_path: Path) -> None:
    files = {
        "CLAUDE.md": "Rules. See @docs/style.md, and @./README for more.\n- @docs/a\\ b.md#part",
        "docs/style.md": "Style. @../more.txt and (@not-after-a-bracket.md)",
        "docs/a b.md": "A b. @style.md again",
        "more.txt": "More. @CLAUDE.md",
        "README": "Read me.",
        ".claude/CLAUDE.md": "Hidden.",
        ".claude/rules/web/z.md": '---\npaths: ["src/**/*.ts", "*.tsx"]\n---\n# Z',
        ".claude/rules/a.md": "First rule. @../../docs/ruled.md",
        ".claude/rules/notes.txt": "no rule",
        "docs/ruled.md": "Ruled.",
        "CLAUDE.local.md": "Mine.",
        "pkg/CLAUDE.local.md": "Mine here.",
    }
    write(tmp_path, files)
    found = read_project_instructions(tmp_path, tmp_path / "pkg")
    assert list(found.files) == [
        *("CLAUDE.md", "docs/style.md", "more.txt", "README", "docs/a b.md", ".claude/CLAUDE.md"),
        *(".claude/rules/a.md", "docs/ruled.md", ".claude/rules/web/z.md"),
        *("CLAUDE.local.md", "pkg/CLAUDE.local.md"),
    ]
    assert found.files[".claude/rules/web/z.md"] == "For these files only: src/**/*.ts, *.tsx\n\n# Z"
    assert found.left == []
    assert "Style." in prompt(tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        *("GEMINI.md", "QWEN.md", "CRUSH.md", ".goosehints", ".github/copilot-instructions.md"),
        ".cursorrules",
    ],
)
def test_instructions_for_other_agents_count_where_there_are_no_others(tmp_path: Path, name: str) -> None:
    write(tmp_path, {name: "Tabs."})
    assert read_project_instructions(tmp_path, tmp_path).files == {name: "Tabs."}
    write(tmp_path, {"AGENTS.md": "Spaces."})
    assert read_project_instructions(tmp_path, tmp_path).files == {"AGENTS.md": "Spaces."}


def test_rules_of_cursor_and_copilot_say_what_they_are_for(tmp_path: Path) -> None:
    files = {
        ".cursor/rules/a.mdc": "---\ndescription:\nglobs: *.ts,src/**/*.tsx\nalwaysApply: false\n---\nA",
        ".cursor/rules/b.mdc": "---\ndescription: Databases\nglobs:\nalwaysApply: false\n---\nB",
        ".cursor/rules/c.mdc": "---\nglobs: *.ts\nalwaysApply: true\n---\nC",
        ".github/instructions/d.instructions.md": '---\napplyTo: "**/*.py,*.pyi"\n---\nD',
        ".github/instructions/e.instructions.md": '---\napplyTo: "**"\n---\nE',
        ".github/instructions/README.md": "no rule",
    }
    write(tmp_path, files)
    assert list(read_project_instructions(tmp_path, tmp_path).files.values()) == [
        "For these files only: *.ts, src/**/*.tsx\n\nA",
        "Where this is at hand: Databases\n\nB",
        "C",
        "For these files only: **/*.py, *.pyi\n\nD",
        "E",
    ]


def test_words_that_import_nothing(tmp_path: Path) -> None:
    text = "Ask @alice or me@docs/a.md, use `@docs/a.md` and @types/node.\n```\n@docs/a.md\n```\n<!-- @docs/a.md -->\n@"
    write(tmp_path, {"CLAUDE.md": text, "docs/a.md": "A."})
    found = read_project_instructions(tmp_path, tmp_path)
    assert (list(found.files), found.left) == (["CLAUDE.md"], [])


def test_what_is_not_read_is_named(tmp_path: Path) -> None:
    root = tmp_path / "root"
    chain = {f"c{n}.md": f"@c{n + 1}.md" for n in range(1, 8)}
    outside = "@../secret.md @~/secret.md @/etc/passwd @link.md @.env @picture.png @gone.md @denied.md @c1.md"
    files = {"CLAUDE.md": outside, ".env": "KEY=1", "picture.png": "x", "denied.md": "no", **chain}
    write(root, files)
    (tmp_path / "secret.md").write_text("secret")
    (root / "link.md").symlink_to(tmp_path / "secret.md")
    found = read_project_instructions(root, root, lambda path: path == "denied.md")
    assert list(found.files) == ["CLAUDE.md", "c1.md", "c2.md", "c3.md", "c4.md"]
    told = "\n".join(found.left)
    for line in (
        "CLAUDE.md imports ../secret.md: it is outside of the workspace",
        "CLAUDE.md imports ~/secret.md: it is outside",
        "CLAUDE.md imports /etc/passwd: it is outside",
        "CLAUDE.md imports link.md: it cannot be read",
        "CLAUDE.md imports .env: only texts are read",
        "CLAUDE.md imports picture.png: only texts are read",
        "CLAUDE.md imports gone.md: there is no such file",
        "denied.md: a rule forbids to read it",
        "c4.md imports c5.md: imports are 5 files deep at most",
    ):
        assert line in told, line
    assert "not-read" in prompt(root)
    assert "secret" not in "".join(found.files.values()).replace(outside, "")


def test_all_instructions_share_one_bound(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"CLAUDE.md": f"@b.md {'x' * (MAX_INSTRUCTIONS - 100)}", "b.md": "y" * 200, "CLAUDE.local.md": "z"},
    )
    found = read_project_instructions(tmp_path, tmp_path)
    assert sum(map(len, found.files.values())) == MAX_INSTRUCTIONS
    assert [each.partition(":")[0] for each in found.left] == ["b.md", "CLAUDE.local.md"]
