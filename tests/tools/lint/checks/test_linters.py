"""The project's own linters in the check of what is staged: found, confined, and read rightly."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from pathlib import Path

import pytest

from sandbox.backends.selection import choose_sandbox
from sandbox.backends.unconfined import Unconfined
from tests.support.repo import Repo
from tools.git.git_change import read_staged_change
from tools.git.git_process import Git
from tools.lint.checks import find_linter_jobs, run_checks
from tools.lint.checks.finding import Finding
from tools.lint.linters.linter_table import LINTERS
from tools.lint.linters.project_linters import find_linters


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "a shop")
    repo.commit_all()
    return repo


def found(repo: Repo) -> list[Finding]:
    sandbox = choose_sandbox(repo.root, cache=repo.root.parent / "cache")
    if sandbox.name == "unconfined":
        pytest.skip("commands cannot be confined here")
    return run_checks(read_staged_change(Git.from_folder(repo.root)), ("syntax", "sizes"), lambda: sandbox)


def program(repo: Repo, path: str, script: str) -> None:
    repo.write(path, f"#!/bin/sh\n{script}\n").chmod(0o755)


@pytest.mark.slow
def test_it_is_asked_about_new_lines_of_what_is_staged(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    repo.write("ruff.toml", 'lint.select = ["F"]\n[format]\n')
    repo.write("a.py", "import os\n")
    repo.commit_all()
    repo.write("a.py", "import os\nimport sys\nx = 'y'\n")
    repo.git("add", "-A")
    repo.write("a.py", "x = 1\n")
    assert [(each.line, each.message.partition(" ")[2][:25]) for each in found(repo)] == [
        (2, "F401 [*] `sys` imported b"),
        (3, 'would be formatted: x = "'),
    ]
    change = read_staged_change(Git.from_folder(repo.root))
    assert run_checks(change) == run_checks(change, ("linters",)) == []


@pytest.mark.slow
def test_what_a_repository_brings_can_harm_nothing(
    repo: Repo, tmp_path: Path, isolated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("ruff.toml", "")
    with socket.create_server(("127.0.0.1", 0)) as server:
        program(
            repo,
            ".venv/bin/ruff",
            f"touch evil .git/hooks/pre-commit '{isolated}/evil' '{tmp_path}/evil' 2>/dev/null\n"
            "test -n \"$GIT_INDEX_FILE\" && echo 'a.py:1:1: E1 it sees the variables of git'\n"
            f"bash -c '3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]}' 2>/dev/null && echo 'a.py:1:1: E2 network'\n"
            "echo 'a.py:1:1: E3 it ran'",
        )
        repo.write("a.py", "x = 1\n")
        repo.git("add", "-A")
        monkeypatch.setenv("GIT_INDEX_FILE", str(repo.root / ".git/index"))
        messages = [each.message for each in found(repo) if each.path == "a.py"]
    assert messages == ["ruff: E3 it ran"]
    for place in (
        repo.root / "evil",
        repo.root / ".git/hooks/pre-commit",
        isolated / "evil",
        tmp_path / "evil",
    ):
        assert not place.exists()


def test_without_confinement_it_is_not_run_and_that_is_told(repo: Repo) -> None:
    repo.write("ruff.toml", "")
    program(repo, ".venv/bin/ruff", "touch ran")
    repo.write("a.py", "x = 1\n")
    repo.git("add", "a.py")
    told = run_checks(
        read_staged_change(Git.from_folder(repo.root)), (), lambda: Unconfined(repo.root, spill=None)
    )
    assert [(each.path, each.severity) for each in told] == [("a.py", "warning")]
    assert "cannot be confined" in told[0].message
    assert not (repo.root / "ran").exists()


@pytest.mark.slow
def test_a_formatter_is_told_once_where_it_would_write_otherwise_and_not_of_old_lines(repo: Repo) -> None:
    repo.write("go.mod", "module shop\n")
    program(repo, "node_modules/.bin/gofmt", "sed 's/  */ /g'")
    repo.write("a.go", "package  a\n\nvar  x = 1\n")
    repo.commit_all()
    repo.write("a.go", "package  a\n\nvar  x = 2\nvar  y = 2\n\nvar z = 3\n")
    repo.git("add", "-A")
    assert [(each.line, each.message) for each in found(repo)] == [
        (3, "gofmt: would be formatted: var x = 2")
    ]
    program(repo, "node_modules/.bin/gofmt", "echo 'a.go:1: broken'; exit 2")
    assert found(repo) == [], "one that fails says nothing of the format"


@pytest.mark.slow
def test_the_nearest_folder_chooses_and_only_what_is_there_counts(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = shutil.which("git")
    assert git is not None
    (repo.root.parent / "bin").mkdir()
    (repo.root.parent / "bin/git").symlink_to(git)
    monkeypatch.setenv("PATH", str(repo.root.parent / "bin"))
    repo.write("ruff.toml", "[format]\n")
    repo.write("web/.eslintrc.json", "{}")
    repo.write("web/package.json", '{"devDependencies": {\n  "prettier": "^3.0.0"\n}}')
    repo.write("old/.flake8", "[flake8]\n")
    for path in (
        ".venv/bin/ruff",
        "venv/bin/flake8",
        "web/node_modules/.bin/eslint",
        "node_modules/.bin/prettier",
    ):
        program(repo, path, "true")
    for path in ("a.py", "old/b.py", "web/src/c.ts", "d.ts", "web/e.md", "f.rs"):
        repo.write(path, "x\n")
        repo.git("add", path)

    def chosen() -> list[tuple[str, str, str]]:
        return [
            (f.path, o.linter.program, o.linter.role)
            for f, o in find_linter_jobs(read_staged_change(Git.from_folder(repo.root)))
        ]

    assert chosen() == [
        ("a.py", "ruff", "lint"),
        ("a.py", "ruff", "format"),
        ("old/b.py", "flake8", "lint"),
        ("old/b.py", "ruff", "format"),
        ("web/src/c.ts", "eslint", "lint"),
    ]
    repo.write("web/package.json", '{\n  "prettier": {"semi": false}\n}')
    assert ("web/e.md", "prettier", "format") in chosen()


needs_shellcheck = pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
needs_flake8 = pytest.mark.skipif(not shutil.which("flake8"), reason="flake8 is not installed")
LONG = f"x = '{'a' * 95}'\n"


def complaints_of(repo: Repo, files: dict[str, str]) -> list[str]:
    """What a commit of these files is told; with the copies that are staged on disk."""
    for path, text in files.items():
        repo.write(path, text)
    repo.git("add", "-A")
    return [each.message.partition(" ")[0] for each in found(repo) if each.check == "linters"]


@pytest.mark.slow
def test_a_linter_is_called_in_the_folder_that_configures_it_with_the_path_from_there(repo: Repo) -> None:
    program(repo, "node_modules/.bin/eslint", 'echo "[{\\"messages\\":[{\\"ruleId\\":\\"${PWD##*/}/$3\\",'
            '\\"severity\\":2,\\"message\\":\\"m\\",\\"line\\":1}]}]"')  # fmt: skip
    repo.write("web/eslint.config.js", "")
    repo.commit_all()
    repo.write("web/src/a.js", "x\n")
    repo.git("add", "web/src/a.js")
    assert [each.message for each in found(repo)] == ["eslint: web/src/a.js m"]


@pytest.mark.slow
@pytest.mark.parametrize("staged", [True, False])
def test_a_linter_that_takes_no_name_reads_the_file_itself_where_it_is_what_is_staged(
    staged: bool, repo: Repo
) -> None:
    program(repo, "venv/bin/yamllint", 'for last; do :; done; echo "x:1:1: [error] $last (colons)"')
    repo.write("sub/.yamllint", "")
    repo.commit_all()
    repo.write("sub/a b.yml", "x\n")
    repo.git("add", "-A")
    if not staged:
        repo.write("sub/a b.yml", "y\n")
    assert [each.message for each in found(repo)] == [f"yamllint: colons {'a b.yml' if staged else '-'}"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "text", "shell"),
    [
        ("lib.bash", "f() { :; }\n", "--shell=bash"),
        ("t.bats", "f\n", "--shell=bats"),
        ("lib.bash", "#!/bin/sh\n", "none"),
        ("lib.ksh", "# shellcheck shell=dash\n", "none"),
        ("lib.sh", "f\n", "none"),
    ],
)
def test_shellcheck_is_told_the_shell_of_a_name_that_it_does_not_see(
    path: str, text: str, shell: str, repo: Repo
) -> None:
    program(
        repo,
        "venv/bin/shellcheck",
        'case "$*" in *--shell*) s=$1;; *) s=none;; esac; echo "-:1:1: note: $s [SC1]"',
    )
    repo.write(".shellcheckrc", "")
    repo.commit_all()
    repo.write(path, text)
    repo.git("add", path)
    repo.write(path, text + "# later\n")
    assert [each.message for each in found(repo)] == [f"shellcheck: SC1 {shell}"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "path", "is_told"),
    [
        ("exclude = 'gen/'", "app/gen/a.py", False),
        ('extend-exclude = """\n(\n  ^/app/old\n  | _pb2\\\\.py$\n)\n"""', "app/x_pb2.py", False),
        ("extend-exclude = '^/old'", "app/old.py", True),
        ("extend-exclude = '('", "app/a.py", True),
    ],
)
def test_black_leaves_alone_what_it_would_not_look_for(
    setting: str, path: str, *, is_told: bool, repo: Repo
) -> None:
    program(repo, "venv/bin/black", "echo formatted")
    repo.write("pyproject.toml", f"[tool.black]\n{setting}\n")
    repo.commit_all()
    repo.write(path, "x\n")
    repo.git("add", path)
    assert bool(found(repo)) is is_told


@pytest.mark.slow
@needs_flake8
def test_flake8_reads_the_nested_configuration(repo: Repo) -> None:
    config = "[flake8]\nmax-line-length = 120\nexclude = gen\nper-file-ignores =\n  b.py: F401\n"
    assert complaints_of(repo, {"svc/.flake8": config, "svc/a.py": LONG, "svc/b.py": "import os\n"}) == []
    assert complaints_of(repo, {"svc/gen/c.py": "import os\n"}) == []
    assert complaints_of(repo, {"svc/d.py": "import os\n"}) == ["flake8:"]


@pytest.mark.slow
@needs_shellcheck
def test_shellcheck_reads_the_nested_configuration_and_the_name(repo: Repo) -> None:
    files = {"svc/.shellcheckrc": "disable=SC2086\n", "svc/a.sh": "#!/bin/sh\necho $1\n"}
    assert (
        complaints_of(repo, {**files, "svc/lib.bash": 'f() {\n  local -a x=("$@")\n  echo "${x[0]}"\n}\n'})
        == []
    )
    assert complaints_of(repo, {"svc/b.sh": "#!/bin/sh\nx=1\n"}) == ["shellcheck:"]


# What the programs themselves printed: ruff 0.15, flake8 7.3, eslint 10.6, shellcheck 0.11, yamllint 1.38; rubocop and
# phpcs by their documents.
PRINTED = {
    "ruff": ("a.py:3:8: F401 [*] `os` imported but unused\nFound 1 error.\n",
             [(3, "F401", "[*] `os` imported but unused", "error")]),
    "flake8": ("1:F401:'os' imported but unused\n2:E999:SyntaxError: x\n",
               [(1, "F401", "'os' imported but unused", "error")]),
    "eslint": ('[{"filePath":"/a.js","messages":[{"ruleId":"no-unused-vars","severity":2,"message":"\'a\' is assigned",'
               '"line":1,"column":7},{"ruleId":"eqeqeq","severity":1,"message":"Expected","line":2,"column":7},'
               '{"ruleId":null,"fatal":true,"severity":2,"message":"Parsing error","line":3}]}]',
               [(1, "no-unused-vars", "'a' is assigned", "error"), (2, "eqeqeq", "Expected", "warning")]),
    "shellcheck": ("-:2:6: note: Double quote to prevent globbing and word splitting. [SC2086]\n",
                   [(2, "SC2086", "Double quote to prevent globbing and word splitting.", "error")]),
    "yamllint": ('stdin:1:1: [warning] missing document start "---" (document-start)\n'
                 "stdin:1:5: [error] too many spaces after colon (colons)\n",
                 [(1, "document-start", 'missing document start "---"', "warning"),
                  (1, "colons", "too many spaces after colon", "error")]),
    "rubocop": ("/s/a.rb:1:1: C: [Correctable] Style/FrozenStringLiteralComment: Missing comment.\n"
                "/s/a.rb:2:1: F: Lint/Syntax: unexpected token\n",
                [(1, "Style/FrozenStringLiteralComment", "Missing comment.", "error")]),
    "phpcs": ("/s/a.php:2:1: error - Missing file doc comment (PEAR.Commenting.FileComment.Missing)\n"
              "/s/a.php:3:1: warning - Line exceeds 85 characters (Generic.Files.LineLength.TooLong)\n",
              [(2, "PEAR.Commenting.FileComment.Missing", "Missing file doc comment", "error"),
               (3, "Generic.Files.LineLength.TooLong", "Line exceeds 85 characters", "warning")]),
}  # fmt: skip


@pytest.mark.parametrize("name", PRINTED)
def test_what_it_prints_is_read(name: str) -> None:
    linter = next(each for each in LINTERS if (each.program, each.role) == (name, "lint"))
    output, expected = PRINTED[name]
    complaints = linter.read("x\n", output)
    assert [(each.line, each.code, each.message, each.severity) for each in complaints] == expected
    assert linter.read("x\n", "Oops! Something went wrong.\n") == []


HOSTILE = {
    "ruff": "a.py:" + "1" * 9_000 + ":1: F401 unused\n",
    "eslint": '[{"messages":[{"ruleId":"x","severity":2,"message":"m","line":Infinity}]}]',
    "eslint, an item that is a list": '[{"messages":[[]]}]',
    "eslint, nested deeply": "[" * 100_000,
}


@pytest.mark.parametrize("case", HOSTILE)
def test_output_made_to_crash_the_reader_holds_no_finding(case: str) -> None:
    linter = next(each for each in LINTERS if (each.program, each.role) == (case.partition(",")[0], "lint"))
    assert linter.read("x\n", HOSTILE[case]) == []


def test_every_linter_has_a_test_of_what_it_prints() -> None:
    assert {each.program for each in LINTERS if each.role == "lint"} == PRINTED.keys()


def test_what_is_no_file_configures_nothing_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ruff.toml")
    (tmp_path / ".flake8").mkdir()
    assert list(find_linters(tmp_path, "a.py")) == []
