"""Files of hook managers and of what these call: guarded against edits, and no hook runs once one has changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.fs.protected_paths import find_protected_name
from sandbox.guards.self_run_files import HOOK_KEYS, SELF_RUN, SelfRun
from sandbox.guards.self_run_table import HOOKS
from tests.agent.extension.hooks.test_hooks import observations, run_session
from tests.security.test_git import defined, make, strange
from tests.support.cli import call
from tests.support.repo import Repo, agent_writes
from tools.core.action import ToolFailure
from tools.core.workspace import Workspace
from tools.git.hook_files import list_hook_files

ROWS = [row for row in SELF_RUN if row.kind == HOOKS]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.program)
def test_every_file_of_a_manager_is_guarded_and_compared(tmp_path: Path, row: SelfRun) -> None:
    """One table for both: whatever an edit is asked about is compared before hooks run, at any depth."""
    names = [name.replace("*", "-x") for name in (*row.files, *row.inside)]
    names += [f"{name}/deep/entry" for name in row.folders]
    for place in ("", "packages/web/"):
        for name in names:
            path = tmp_path / place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("one")
            assert find_protected_name(tmp_path, place + name), name
            before = {each.name: each.digest for each in list_hook_files(tmp_path, [b"#!/bin/sh\n"])}
            path.write_text("two")
            after = {each.name: each.digest for each in list_hook_files(tmp_path, [b"#!/bin/sh\n"])}
            assert before[place + name] != after[place + name], name


@pytest.mark.parametrize("key", [f"{manifest}:{key}" for manifest, keys in HOOK_KEYS.items() for key in keys])
def test_every_field_of_a_manifest_is_compared_and_no_other(tmp_path: Path, key: str) -> None:
    name, _, field = key.partition(":")
    path = tmp_path / "packages" / name
    path.parent.mkdir()

    def digest(fields: dict[str, object]) -> list[str]:
        if name.endswith(".toml"):
            lines = [f'{each} = "{value}"' for each, value in fields.items()]
            path.write_text("\n".join(lines))
        else:
            table: dict[str, object] = {}
            for each, value in fields.items():
                inner = table
                *outer, last = each.split(".")
                for part in outer:
                    inner = inner.setdefault(part, {})  # type: ignore[assignment]
                inner[last] = value
            path.write_text(json.dumps(table))
        return [each.digest for each in list_hook_files(tmp_path, [b""]) if each.name == f"packages/{name}"]

    assert digest({"version": "1"}) == []
    one = digest({"version": "1", field: "one"})
    assert one != digest({"version": "1", field: "two"})
    assert one == digest({"version": "2", field: "one"}) or name == "package.yaml"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.write("a.py", "a\n")
    made.write(
        "package.json", json.dumps({"scripts": {"test": "true"}, "lint-staged": {"*.py": "true"}}, indent=1)
    )
    made.write("prek.toml", 'entry = "echo hook >> .git/ran"\n')
    made.write("lefthook.yml", "extends:\n  - tools/more.yml\nsource_dir: ci/hooks\n")
    made.write("tools/more.yml", "pre-commit: {}\n")
    made.write("ci/hooks/check", "true\n")
    made.write("commitlint.config.mjs", "import base from './tools/base'\nexport default base\n")
    made.write("tools/base.mjs", "export default {}\n")
    made.write(
        ".pre-commit-config.yaml", "repos:\n- repo: local\n  hooks:\n  - entry: python -m tools.lint\n"
    )
    made.write("tools/lint.py", "import sys\n")
    made.write("Makefile", "check:\n\ttrue\n")
    made.commit_all("first")
    return made


RUN_ENTRY = """. "$(git rev-parse --show-toplevel)/scripts/common.sh"
make check >/dev/null 2>&1 || true
sh -c "$(sed -n 's/^entry = "\\(.*\\)"/\\1/p' prek.toml)" """


def trusted(repo: Repo, tmp_path: Path) -> Workspace:
    repo.write("scripts/common.sh", "true\n")
    repo.hook("pre-commit", RUN_ENTRY)
    at, store = strange(repo, tmp_path)
    store.grant(repo.root, defined(at))
    agent_writes(at, "a.py", "one\n")
    assert make(at).untrusted == ""
    assert ran(repo) == ["hook"]
    return at


def ran(repo: Repo) -> list[str]:
    path = repo.root / ".git/ran"
    return path.read_text().split() if path.exists() else []


def change_field(repo: Repo, field: str, value: object) -> None:
    table = json.loads(repo.read("package.json"))
    repo.write("package.json", json.dumps({**table, field: value}, indent=1))


CHANGES: dict[str, Callable[[Repo], object]] = {
    "prek.toml": lambda repo: repo.write("prek.toml", 'entry = "echo evil >> .git/ran"\n'),
    "a nested one": lambda repo: repo.write("web/prek.toml", 'entry = "echo evil"\n'),
    "a local one": lambda repo: repo.write(".config/lefthook-local.toml", "x = 1\n"),
    "lint-staged in package.json": lambda repo: change_field(repo, "lint-staged", {"*.py": "evil"}),
    "scripts in package.json": lambda repo: change_field(repo, "scripts", {"test": "evil"}),
    "a nested package.json": lambda repo: repo.write("web/package.json", '{"lint-staged": {"*": "evil"}}'),
    "commitlint.config.mjs": lambda repo: repo.write("commitlint.config.mjs", "evil()\n"),
    "what that imports": lambda repo: repo.write("tools/base.mjs", "evil()\n"),
    "what lefthook extends": lambda repo: repo.write("tools/more.yml", "pre-commit: {x: {run: evil}}\n"),
    "its folder of scripts": lambda repo: repo.write("ci/hooks/check", "evil\n"),
    "a script that the hook reads": lambda repo: repo.write("scripts/common.sh", "echo evil >> .git/ran\n"),
    "a module of pre-commit's": lambda repo: repo.write("tools/lint.py", "evil()\n"),
    "the Makefile that it calls": lambda repo: repo.write("Makefile", "check:\n\techo evil >> .git/ran\n"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("by", ["the session", "a pull"])
def test_what_changed_since_trust_does_not_run(change: str, by: str, repo: Repo, tmp_path: Path) -> None:
    at = trusted(repo, tmp_path)
    CHANGES[change](repo)
    if by == "a pull":
        repo.git("add", "-A")
        repo.git("commit", "-q", "--no-verify", "-m", "pulled")
    agent_writes(at, "a.py", "two\n")
    head = repo.head()
    with pytest.raises(ToolFailure, match="changed after the user trusted it"):
        make(at)
    assert (ran(repo), repo.head()) == (["hook"], head)


def _lint(**tables: object) -> str:
    return json.dumps(tables)


BY_NAME: dict[str, tuple[str, dict[str, str], str]] = {
    "a script of lint-staged's": (
        "npx lint-staged",
        {"package.json": _lint(**{"lint-staged": {"src/*.js": "python tools/check.py"}})},
        "tools/check.py",
    ),
    "a script of npm's": (
        "npm run lint",
        {"package.json": _lint(scripts={"lint": "node tools/a.js"})},
        "tools/a.js",
    ),
    "what that requires": (
        "npm run lint",
        {"package.json": _lint(scripts={"lint": "node tools/a.js"}), "tools/a.js": "require('./deep')"},
        "tools/deep.js",
    ),
    "a linter's code": ("npx eslint .", {}, "eslint.config.mjs"),
    "the same, nested": ("npx eslint .", {}, "packages/web/.eslintrc.cjs"),
    "what that imports": ("eslint", {"eslint.config.js": "import x from './tools/base.js'"}, "tools/base.js"),
    "one that lint-staged calls": (
        "npx lint-staged",
        {".lintstagedrc.json": '{"*": "eslint"}'},
        "eslint.config.ts",
    ),
    "plugins of linters": ("pylint a; mypy a; flake8", {}, ".flake8"),
    "a tool's table": ("poe lint", {}, "pyproject.toml"),
    "a runner of tasks": ("mise run lint", {}, "mise.toml"),
    "what a Makefile includes": ("make check", {"Makefile": "include tools/x.mk\n"}, "tools/x.mk"),
    "what a Makefile runs": ("make check", {"Makefile": "check:\n\tpython tools/c.py\n"}, "tools/c.py"),
    "a Makefile below": ("make -C sub check", {}, "sub/Makefile"),
    "what a justfile imports": ("just lint", {"justfile": "import 'more.just'"}, "more.just"),
    "a module that a script imports": (
        "python tools/a.py",
        {"tools/a.py": "from tools.b import c"},
        "tools/b.py",
    ),
    "one beside it": ("python tools/a.py", {"tools/a.py": "import helper"}, "tools/helper.py"),
    "a package": ("python -m tools", {}, "tools/__init__.py"),
    "a folder of programs": ("run-parts ci/hooks.d", {}, "ci/hooks.d/10-lint"),
    "the same in a loop": ('for f in ci/hooks.d/*; do "$f"; done', {}, "ci/hooks.d/10-lint"),
    "a name without a folder": ("sh check", {}, "check"),
    "a repository of pre-commit's inside": (
        "pre-commit run",
        {".pre-commit-config.yaml": "repos:\n- repo: ./hooks\n"},
        "hooks/setup.py",
    ),
    "a manifest in YAML": ("npx lint-staged", {}, "package.yml"),
}


@pytest.mark.parametrize("case", BY_NAME)
def test_what_a_hook_calls_by_name_is_compared(case: str, tmp_path: Path) -> None:
    """Programs find these files by themselves, or by the words of others."""
    hook, files, changed = BY_NAME[case]

    def digest(word: str) -> list[tuple[str, str]]:
        tables = {
            "pyproject.toml": f'[tool.poe.tasks]\nlint = "{word}"\n',
            "package.yml": f"lint-staged: {word}\n",
        }
        for name, text in {**files, changed: tables.get(changed, word)}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return [
            (each.name, each.digest) for each in list_hook_files(tmp_path, [f"#!/bin/sh\n{hook}\n".encode()])
        ]

    before = digest("one")
    assert changed in dict(before)
    assert before != digest("two")


def test_files_that_a_hook_works_on_are_not_compared(tmp_path: Path) -> None:
    staged = _lint(**{"lint-staged": {"src/*.js": "eslint --fix", "src/app.py": "ruff check"}})
    files = {
        "package.json": staged,
        "Makefile": "SOURCES = src/app.py\ncheck:\n\truff check src/app.py\n",
        "eslint.config.js": "export default [{files: ['src/a.js']}]",
        "src/a.js": "",
        "src/app.py": "import os\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = {each.name for each in list_hook_files(tmp_path, [b"#!/bin/sh\nmake check; npx lint-staged\n"])}
    assert found == {"package.json", "Makefile", "eslint.config.js"}


def test_other_changes_need_no_new_trust(repo: Repo, tmp_path: Path) -> None:
    at = trusted(repo, tmp_path)
    change_field(repo, "version", "2.0.0")
    repo.write("tools/other.py", "x = 1\n")
    repo.write("src/Makefile.py", "x = 1\n")
    agent_writes(at, "a.py", "two\n")
    assert make(at).untrusted == ""
    assert ran(repo) == ["hook", "hook"]


def test_a_hook_of_the_user_does_not_run_what_a_repository_chose(
    repo: Repo, tmp_path: Path, isolated: Path
) -> None:
    """A global hook that calls a manager runs the programs that the repository names."""
    own = Repo(tmp_path / "own", init=False)
    own.hook("pre-commit", f"# calls prek\n{RUN_ENTRY}", folder="hooks")
    repo.write("scripts/common.sh", "true\n")
    with (isolated / "gitconfig").open("a") as file:
        file.write(f"[core]\n\thooksPath = {own.root}/hooks\n")
    at, store = strange(repo, tmp_path)
    agent_writes(at, "a.py", "one\n")
    assert "hook prek.toml" in make(at).untrusted
    assert ran(repo) == []
    store.grant(repo.root, defined(at))
    agent_writes(at, "a.py", "two\n")
    assert make(at).untrusted == ""
    assert ran(repo) == ["hook"]


EDITS = {
    "prek.toml": call("write", path="prek.toml", content="entry = 'evil'\n"),
    ".lintstagedrc.json": call("write", path=".lintstagedrc.json", content="{}"),
    "commitlint.config.mjs": call("edit", path="commitlint.config.mjs", old="base", new="evil", all=True),
    "lint-staged in package.json": call(
        "edit", path="package.json", old='"*.py": "true"', new='"*.py": "evil"'
    ),
    "the same, written whole": call(
        "write", path="package.json", content='{"lint\\u002dstaged": {"*": "evil"}}'
    ),
    "a new field": call(
        "edit", path="package.json", old='"scripts"', new='"gitHooks": {"pre-commit": "x"}, "scripts"'
    ),
    "one behind what only some programs take for the end of a line": call(
        "write", path="web/package.json", content='{"name": "\u2028", "husky": {"hooks": "x"}}'
    ),
    "a nested one": call(
        "write", path="web/package.json", content='{"simple-git-hooks": {"pre-commit": "x"}}'
    ),
    "tool.commitizen": call(
        "write", path="pyproject.toml", content='[tool.commitizen]\nversion_provider = "x"\n'
    ),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_of_what_hooks_run_is_asked_about(edit: str, repo: Repo) -> None:
    before = repo.git("status", "--porcelain")
    [denied] = observations(run_session(repo.root, [{"calls": [EDITS[edit]]}, {"text": "Done."}]))
    assert "denied" in denied, denied
    assert repo.git("status", "--porcelain") == before


def test_other_fields_of_a_manifest_are_edited_as_code(repo: Repo) -> None:
    edits = [
        call("edit", path="package.json", old='"test": "true"', new='"test": "vitest"'),
        call("write", path="pyproject.toml", content='[project]\nname = "shop"\n'),
    ]
    found = observations(run_session(repo.root, [{"calls": edits}, {"text": "Done."}]))
    assert not any("denied" in each for each in found), found
