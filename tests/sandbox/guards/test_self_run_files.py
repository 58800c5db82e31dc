"""The table of files that programs run by themselves: what matches at which depth, and what is ordinary code."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import pytest

from sandbox.fs.protected_paths import find_protected_name
from sandbox.guards.self_run_files import SELF_RUN, find_self_run_part, is_self_run, list_top_entries

FOUND = {
    ".agents/mcp_config.json": ".agents/mcp_config.json",
    ".devin/hooks.v1.json": ".devin",
    "web/.pi/extensions/a.ts": ".pi/extensions",
    ".omp/hooks/pre/a.ts": ".omp",
    "kilo.jsonc": "kilo.jsonc",
    ".kilo/plugins/a.ts": ".kilo/plugins",
    ".amp/plugins/a.ts": ".amp/plugins",
    ".kiro/agents/a.json": ".kiro/agents",
    ".vibe/tools/a.py": ".vibe/tools",
    "conductor.json": "conductor.json",
    "hooks_mcp.yaml": "hooks_mcp.yaml",
    ".flox/env/manifest.toml": ".flox",
    ".miserc.toml": ".miserc.toml",
    ".vscode/tasks.json": ".vscode",
    "a/b/.VSCode/x": ".VSCode",
    "web/.npmrc": ".npmrc",
    "shop.code-workspace": "shop.code-workspace",
    ".claude/settings.local.json": ".claude/settings.local.json",
    "a/.Claude/hooks/stop.sh": ".Claude/hooks",
    ".cursor/mcp.json": ".cursor/mcp.json",
    "lefthook-local.yml": "lefthook-local.yml",
    ".mise.local.toml": ".mise.local.toml",
    "ci/Jenkinsfile": "Jenkinsfile",
    ".woodpecker/build.yml": ".woodpecker",
    ".woodpecker.yaml": ".woodpecker.yaml",
    "web/prek.toml": "prek.toml",
    "lib/.hg/hgrc": ".hg/hgrc",
    ".jj/repo/config.toml": ".jj",
    ".svn/entries": ".svn",
    ".cargo/config.toml": ".cargo/config.toml",
    ".mvn/extensions.xml": ".mvn",
    "a/.Rprofile": ".Rprofile",
    ".aider.conf.yml": ".aider.conf.yml",
    ".Qwen/Settings.json": ".Qwen/Settings.json",
    "tools/bazel": "tools/bazel",
    ".bsp/sbt.json": ".bsp",
}
UNKNOWN = {
    ".agents/mcp_servers.toml": ".agents/mcp_servers.toml",
    ".Qwen/hooks.json": ".Qwen/hooks.json",
    ".trae/hooks.json": ".trae/hooks.json",
    ".augment/mcp.json": ".augment/mcp.json",
    ".cursor/settings.json": ".cursor/settings.json",
    ".grok/config.toml": ".grok/config.toml",
    ".newtool/extensions/run.ts": ".newtool/extensions",
    ".newtool/plugins/a/index.js": ".newtool/plugins",
    ".newtool/autorun.sh": ".newtool/autorun.sh",
    ".newtool/mcp.json": ".newtool/mcp.json",
    "web/.newtool/hooks/stop.sh": ".newtool/hooks",
    ".newtool/settings.local.json": ".newtool/settings.local.json",
    ".NewTool/Tasks.yml": ".NewTool/Tasks.yml",
    ".newtool/config": ".newtool/config",
}
ORDINARY = (
    *(
        ".claude/tasks/a.md",
        ".cursor/settings.md",
        ".kiro/specs/a/tasks.md",
        ".kilo/rules/a.md",
        ".pi/prompts/a.md",
    ),
    *(
        "Makefile",
        "package.json",
        "conftest.py",
        "mcp.json",
        "settings.json",
        "src/github.py",
        "docs/vscode.md",
    ),
    *(".claude/CLAUDE.md", ".claude/commands/x.md", ".cursor/rules/a.mdc", "miserable.toml", "lefthook.md"),
    *(".npmrc/x", ".gitignore", "HEADER", "objects/x", "refs/y"),
    *(
        ".vitepress/config.ts",
        ".storybook/main.js",
        ".newtool/notes.md",
        "src/config.py",
        "hooks/use_cart.ts",
    ),
    *(".cargo/notes.md", "tools/lint.py", "CVS.md", ".venv/config.toml"),
)


@pytest.mark.parametrize("path", FOUND)
def test_a_name_of_the_table_is_found_at_any_depth(tmp_path: Path, path: str) -> None:
    assert find_self_run_part(path.split("/")) == find_protected_name(tmp_path, path) == FOUND[path]


@pytest.mark.parametrize("path", ORDINARY)
def test_ordinary_code_is_not_in_the_table(tmp_path: Path, path: str) -> None:
    assert find_self_run_part(path.split("/")) == ""
    assert find_protected_name(tmp_path, path) == ""


@pytest.mark.parametrize("path", UNKNOWN)
def test_an_unknown_dot_folder_counts_by_the_names_in_it(tmp_path: Path, path: str) -> None:
    assert find_self_run_part(path.split("/")) == find_protected_name(tmp_path, path) == UNKNOWN[path]


def test_every_row_of_the_table_has_a_source_and_matches_itself() -> None:
    for row in SELF_RUN:
        assert row.source.startswith(("https://", "docs/")), row.program
        assert date.fromisoformat(row.date)
        for name in (*row.folders, *row.files):
            assert is_self_run(name.replace("*", "x")) is (name not in row.written), name
            assert find_self_run_part((name.replace("*", "x"),)), name
        for path in row.inside:
            folder, _, name = path.partition("/")
            assert is_self_run(name.replace("*", ".x"), folder) is (path not in row.written), path
            assert find_self_run_part((folder, name.replace("*", ".x"))), path
            if not is_self_run(name):  # `lefthook.yml` counts anywhere, and in `.config` for lefthook
                assert not is_self_run(name.replace("*", ".x"), "src"), path


def test_entries_at_the_top_are_listed_and_a_link_for_the_folder_itself(tmp_path: Path) -> None:
    for name in (".envrc", ".claude/settings.json", ".claude/notes.md", "src/.envrc"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / ".cursor").symlink_to("src")
    found = {
        each.relative_to(tmp_path).as_posix() for each in list_top_entries(tmp_path, os.listdir(tmp_path))
    }
    assert found == {".envrc", ".claude/settings.json", ".cursor"}


def test_an_edit_that_would_make_a_folder_a_repository_is_known(tmp_path: Path) -> None:
    assert find_protected_name(tmp_path, "pkg/HEAD") == "HEAD"
    assert find_protected_name(tmp_path, "pkg/objects/x") == ""
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "HEAD").write_text("ref: refs/heads/main\n")
    for path in ("pkg/objects/x", "pkg/refs/heads/x", "pkg/commondir"):
        assert find_protected_name(tmp_path, path) == path.split("/")[1]


def test_an_edit_by_which_git_would_run_a_program_in_a_committed_repository_is_known(tmp_path: Path) -> None:
    for name in ("HEAD", "objects/x", "refs/x", "config"):
        (tmp_path / "fixture.git" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "fixture.git" / name).write_text("")
    for path in ("fixture.git/config", "fixture.git/hooks/post-update", "fixture.git/config.worktree"):
        assert find_protected_name(tmp_path, path) == path.split("/")[1]
    for path in ("fixture.git/description", "fixture.git/info/exclude", "settings/config"):
        assert find_protected_name(tmp_path, path) == ""
