"""The draft of AGENTS.md says what the repository shows, and nothing that it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from packages.setup.commands.init import init_project
from packages.setup.init.agents_file import build_draft, write_draft
from sandbox.errors import Fault, UserError
from tests.support.cli import git

PYPROJECT = """\
[project]
name = "ledger"
description = "Keeps the shared expenses of a flat"
[project.scripts]
ledger = "ledger.main:run"
[tool.pytest.ini_options]
[tool.ruff]
line-length = 99
"""

CI = """\
jobs:
  a:
    steps:
      - run: |
          uv run mypy src
          RUN_ID=""
          rm -rf tests
          echo "test $RUN_ID" | tee build &&
          --check test
          echo hi
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    files = {
        "pyproject.toml": PYPROJECT,
        "uv.lock": "",
        "Makefile": "CC := gcc\n.PHONY: test\ntest: build ## run all tests\n\tpytest\nbuild:\n\ttrue\nrelease-notes:\n",
        "src/ledger/__init__.py": '"""Journal in, balances out."""\n',
        "src/ledger/main.py": "def run():\n    if True:\n        print('a', 'b', 'c')\n" * 20,
        "tests/test_main.py": "import ledger\n",
        "docs/README.md": "# Docs\n\nHow it is used,\nin pictures. More.\n",
        ".github/workflows/ci.yml": CI,
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    git(root.parent, "init", "-q", str(root))
    git(root, "add", ".")
    for number in range(6):
        git(root, "commit", "-q", "--allow-empty", "-m", f"fix: number {number}")
    return root


def test_commands_layout_and_conventions_are_read_off_the_repository(project: Path) -> None:
    text = build_draft(project)
    assert text.startswith("# ledger\n\nKeeps the shared expenses of a flat\n")
    assert not any(each in text for each in ("rm -rf", "RUN_ID", "--check test")), "glue of a workflow"
    for line in (
        "- Install: `uv sync`, from pyproject.toml",
        "- Test: `make test` (run all tests), from Makefile",
        "- Test: `uv run pytest`, from pyproject.toml",
        "- Types: `uv run mypy src`, from .github/workflows/ci.yml",
        "- Run: `uv run ledger`, from pyproject.toml",
        "- `docs/`: How it is used, in pictures.",
        "- `src/`: 2 Python files (with ledger/)",
        "- Tools: Ruff (pyproject.toml, line length 99)",
        "- Python: indented by 4 spaces, single quotes, 99 % of lines within 28 columns",
        "- Commit messages: Conventional Commits (`fix: …`), no full stop at the end, subjects of 13 characters",
    ):
        assert line in text
    assert "CC" not in text
    assert "release-notes" not in text
    assert "echo hi" not in text
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# ledger",
        "## Commands",
        "## Layout",
        "## Conventions",
    ]


def test_an_empty_project_gets_no_placeholders(tmp_path: Path) -> None:
    root = tmp_path / "nothing"
    root.mkdir()
    assert build_draft(root) == "# nothing\n"


@pytest.mark.slow
def test_the_draft_is_the_same_every_time_and_does_not_read_itself(project: Path) -> None:
    first = build_draft(project)
    write_draft(project, force=False)
    assert build_draft(project) == first


@pytest.mark.slow
def test_a_file_that_is_there_is_only_replaced_on_request(project: Path) -> None:
    (project / "AGENTS.md").write_text("mine\n")
    with pytest.raises(UserError) as error:
        write_draft(project, force=False)
    assert error.value.fault is Fault.USAGE
    assert "--force" in error.value.hint
    assert (project / "AGENTS.md").read_text() == "mine\n"
    write_draft(project, force=True)
    assert (project / "AGENTS.md").read_text().startswith("# ledger")


def test_an_empty_folder_and_broken_files_give_a_draft_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pyproject.toml").write_text("[broken")
    (tmp_path / "package.json").write_text("{broken")
    (tmp_path / "README.md").write_text("# \x1b[31mTitle\n")
    assert init_project(tmp_path, force=False, show=True) == 0
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert "## Layout" in text
    assert "## Commands" not in text
    assert not (tmp_path / "AGENTS.md").exists()


def test_package_scripts_are_run_with_the_manager_of_the_lock_file(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(
        '{"name": "web", "scripts": {"test": "vitest", "lint": "eslint .", "dev": "vite", "postinstall": "x"}}'
    )
    (tmp_path / "pnpm-lock.yaml").write_text("")
    text = build_draft(tmp_path)
    assert "- Test: `pnpm test` (`vitest`), from package.json" in text
    assert "- Lint: `pnpm run lint` (`eslint .`), from package.json" in text
    assert "- Run: `pnpm run dev` (`vite`), from package.json" in text
    assert "postinstall" not in text


@pytest.mark.parametrize(
    ("test", "command"),
    [
        ("def test_a():\n    assert True\n", "python -m pytest"),
        ("import unittest\n\n\nclass A(unittest.TestCase):\n    pass\n", "python -m unittest"),
    ],
)
def test_tests_without_a_configuration_have_a_command(tmp_path: Path, test: str, command: str) -> None:
    (tmp_path / "cart.py").write_text("x = 1\n")
    (tmp_path / "test_cart.py").write_text(test)
    text = build_draft(tmp_path)
    assert f"- Test: `{command}`, from test_cart.py" in text
    assert "None were found: say how to install" not in text


def test_the_major_version_of_a_go_module_is_no_title(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module github.com/Masterminds/semver/v3\n\ngo 1.21\n")
    assert build_draft(tmp_path).startswith("# semver\n")
    (tmp_path / "go.mod").write_text("module gopkg.in/yaml.v3\n")
    assert build_draft(tmp_path).startswith("# yaml\n")


def test_a_project_with_cmake_is_built_and_tested_by_it(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"name": "buffer", "version": "0.4.0", "src": ["buffer.c"]}')
    (tmp_path / "CMakeLists.txt").write_text("project(buffer C)\ninclude(CTest)\n")
    text = build_draft(tmp_path)
    assert "npm install" not in text
    assert "- Build: `cmake -B build && cmake --build build`, from CMakeLists.txt" in text
    assert "ctest --test-dir build --output-on-failure`, from CMakeLists.txt" in text


def test_rspec_is_listed_under_test(tmp_path: Path) -> None:
    (tmp_path / "Gemfile").write_text('source "https://rubygems.org"\n')
    (tmp_path / ".rspec").write_text("--color\n")
    (tmp_path / ".github/workflows").mkdir(parents=True)
    (tmp_path / ".github/workflows/ci.yml").write_text(
        "jobs:\n  a:\n    steps:\n      - run: bundle exec rspec --fail-fast\n"
    )
    git(tmp_path.parent, "init", "-q", str(tmp_path))
    text = build_draft(tmp_path)
    assert "- Install: `bundle install`, from Gemfile" in text
    assert "- Test: `bundle exec rspec`, from .rspec" in text
    assert "- Test: `bundle exec rspec --fail-fast`, from .github/workflows/ci.yml" in text
