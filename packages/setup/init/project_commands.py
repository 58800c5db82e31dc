"""Commands to install, test, lint, build and run a project, from its own files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from packages.setup.init.purpose import get_table, parse_json, parse_toml, read_beginning
from sandbox.fs.workspace_tree import Tree
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

MOST = 24
"""Maximum of listed commands: those further down a long Makefile are looked up when needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectCommand:
    """A command line and its purpose. kind: one of `KINDS`; source: the file that defines it."""

    kind: str
    command: str
    source: str
    about: str = ""


KINDS = ("install", "test", "lint", "format", "types", "build", "run", "check", "other")

_WORDS: tuple[tuple[str, str], ...] = (
    (r"^(install|setup|bootstrap|deps|develop)", "install"),
    (r"(^|[:_-])(tests?|r?spec|pytest|ctest|unit|e2e|coverage)($|[:_-])", "test"),
    (r"(^|[:_-])(lint|eslint|ruff|flake8|clippy|vet)", "lint"),
    (r"(^|[:_-])(format|fmt|prettier|black)", "format"),
    (r"(^|[:_-])(types?|typecheck|type-check|mypy|tsc|pyright)($|[:_-])", "types"),
    (r"^(build|compile|dist|bundle|package|wheel|docs?)($|[:_-])", "build"),
    (r"^(run|start|dev|serve|demo|watch)($|[:_-])", "run"),
    (r"^(check|ci|verify|all)($|[:_-])", "check"),
)
"""Purpose of a target or script, by its name."""


def find_commands(root: Path, files: Sequence[str]) -> list[ProjectCommand]:
    """Return the commands found, the most useful kinds first; each command is listed once."""
    known = set(files)
    found: dict[str, ProjectCommand] = {}
    for entry in find_all_commands(root, files):
        found.setdefault(entry.command, entry)
    for name in sorted(known):
        if _WORKFLOW.match(name):
            for entry in _read_workflow(read_beginning(root / name), name):
                found.setdefault(entry.command, entry)
    if all(entry.kind != "test" for entry in found.values()):
        found.update((entry.command, entry) for entry in _detect_tests(root))
    ordered = sorted(found.values(), key=lambda entry: KINDS.index(entry.kind))
    return [entry for entry in ordered if entry.kind != "other"][:MOST]


def find_all_commands(root: Path, files: Sequence[str]) -> list[ProjectCommand]:
    """Return the commands that the manifests at the root define, whatever they are for."""
    known = set(files)
    return [
        entry
        for name, read in _SOURCES
        if name in known
        for entry in read(read_beginning(root / name), known)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    root: Path
    files: Tree


_PYTHON_TESTS = {"pytest": "python -m pytest", "django": "python manage.py test"}
"""Commands of the runners that test files alone show; the others have a file of their own, read above."""


def _detect_tests(root: Path) -> Iterator[ProjectCommand]:
    """Yield the command by which `doctor` would run the tests, found by the test files themselves."""
    from tools.testing.project_files import Project
    from tools.testing.python import is_pure_unittest
    from tools.testing.runners import find_fitting_runners

    project = Project(_Place(root=root, files=Tree(root)))
    for runner in find_fitting_runners(project, ())[:1]:
        command = _PYTHON_TESTS.get(runner.name, "")
        if runner.name == "pytest" and is_pure_unittest(project):
            command = "python -m unittest"
        if command:
            yield ProjectCommand(kind="test", command=command, source=runner.found(project))


def _classify_name(name: str) -> str:
    return next((kind for pattern, kind in _WORDS if re.search(pattern, name.lower())), "other")


def _read_makefile(text: str, known: set[str]) -> Iterator[ProjectCommand]:
    for match in re.finditer(r"^([A-Za-z][\w.-]*)\s*:(?!=)[^#\n]*(?:##\s*(.+))?$", text, re.MULTILINE):
        yield ProjectCommand(
            kind=_classify_name(match[1]), command=f"make {match[1]}", source="Makefile", about=match[2] or ""
        )


def _read_justfile(text: str, known: set[str]) -> Iterator[ProjectCommand]:
    for match in re.finditer(r"^([a-z][\w-]*)[^:=\n]*:(?!=)", text, re.MULTILINE):
        yield ProjectCommand(kind=_classify_name(match[1]), command=f"just {match[1]}", source="justfile")


_PYTHON_RUNNERS = (("uv.lock", "uv run "), ("poetry.lock", "poetry run "), ("pdm.lock", "pdm run "))
_PYTHON_INSTALLS = (("uv.lock", "uv sync"), ("poetry.lock", "poetry install"), ("pdm.lock", "pdm install"))

_PYTHON_TOOLS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("tool", "pytest"), "test", "pytest"),
    (("tool", "ruff"), "lint", "ruff check ."),
    (("tool", "ruff", "format"), "format", "ruff format ."),
    (("tool", "black"), "format", "black ."),
    (("tool", "mypy"), "types", "mypy"),
    (("tool", "pyright"), "types", "pyright"),
)
"""A table of pyproject.toml, and the command that it configures."""


def _read_pyproject(text: str, known: set[str]) -> Iterator[ProjectCommand]:
    parsed, source = parse_toml(text), "pyproject.toml"
    runner = next((run for lock, run in _PYTHON_RUNNERS if lock in known), "")
    if get_table(parsed, "project") or get_table(parsed, "tool", "poetry"):
        install = next((run for lock, run in _PYTHON_INSTALLS if lock in known), "pip install -e .")
        yield ProjectCommand(kind="install", command=install, source=source)
    for keys, kind, command in _PYTHON_TOOLS:
        if get_table(parsed, *keys):
            yield ProjectCommand(kind=kind, command=runner + command, source=source)
    for keys in (("project", "scripts"), ("tool", "poetry", "scripts")):
        for name in sorted(get_table(parsed, *keys)):
            yield ProjectCommand(kind="run", command=runner + name, source=source)
    for name in sorted(get_table(parsed, "tool", "poe", "tasks")):
        yield ProjectCommand(kind=_classify_name(name), command=f"{runner}poe {name}", source=source)
    for environment, settings in sorted(get_table(parsed, "tool", "hatch", "envs").items()):
        prefix = "hatch run " if environment == "default" else f"hatch run {environment}:"
        for name in sorted(get_table(settings, "scripts")):
            yield ProjectCommand(kind=_classify_name(name), command=prefix + name, source=source)


_DEPENDENCIES = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
_NODE_LOCKS = (
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "bun.lock",
    "bun.lockb",
)
"""Without any of these there is nothing to install: projects in C have a package.json for clib, for example."""


def _read_package_json(text: str, known: set[str]) -> Iterator[ProjectCommand]:
    lock = (("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("bun.lockb", "bun"))
    manager = next((name for file, name in lock if file in known), "npm")
    parsed = parse_json(text)
    if any(get_table(parsed, each) for each in _DEPENDENCIES) or any(file in known for file in _NODE_LOCKS):
        yield ProjectCommand(kind="install", command=f"{manager} install", source="package.json")
    for name, line in get_table(parsed, "scripts").items():
        run = manager if name == "test" else f"{manager} run"
        yield ProjectCommand(
            kind=_classify_name(name), command=f"{run} {name}", source="package.json", about=f"`{line}`"
        )


def _read_gemfile(text: str, known: set[str]) -> Iterator[ProjectCommand]:
    yield ProjectCommand(kind="install", command="bundle install", source="Gemfile")
    specs = next((path for path in sorted(known) if re.match(r"spec/.*_spec\.rb$", path)), "")
    if source := ".rspec" if ".rspec" in known else specs:
        yield ProjectCommand(kind="test", command="bundle exec rspec", source=source)


def _read_cmake(text: str, known: set[str]) -> Iterator[ProjectCommand]:
    from tools.testing.build_trees import defines_ctest

    build = "cmake -B build && cmake --build build"
    yield ProjectCommand(kind="build", command=build, source="CMakeLists.txt")
    if defines_ctest(text):
        test = f"{build} && ctest --test-dir build --output-on-failure"
        yield ProjectCommand(kind="test", command=test, source="CMakeLists.txt")


def _read_tox(text: str, known: set[str]) -> Iterator[ProjectCommand]:
    yield ProjectCommand(kind="test", command="tox", source="tox.ini")
    for match in re.finditer(r"^\[testenv:([\w.-]+)\]", text, re.MULTILINE):
        yield ProjectCommand(kind=_classify_name(match[1]), command=f"tox -e {match[1]}", source="tox.ini")


def _read_nox(text: str, known: set[str]) -> Iterator[ProjectCommand]:
    for match in re.finditer(r"^@nox\.session.*\ndef (\w+)", text, re.MULTILINE):
        yield ProjectCommand(kind=_classify_name(match[1]), command=f"nox -s {match[1]}", source="noxfile.py")


def _make_fixed_reader(
    source: str, *entries: tuple[str, str]
) -> Callable[[str, set[str]], Iterator[ProjectCommand]]:
    """Return a reader for a file whose existence implies fixed commands."""

    def read(text: str, known: set[str]) -> Iterator[ProjectCommand]:
        return (ProjectCommand(kind=kind, command=command, source=source) for kind, command in entries)

    return read


_SOURCES: tuple[tuple[str, Callable[[str, set[str]], Iterator[ProjectCommand]]], ...] = (
    ("Makefile", _read_makefile),
    ("justfile", _read_justfile),
    ("pyproject.toml", _read_pyproject),
    ("package.json", _read_package_json),
    ("tox.ini", _read_tox),
    ("noxfile.py", _read_nox),
    ("pytest.ini", _make_fixed_reader("pytest.ini", ("test", "pytest"))),
    (
        "requirements.txt",
        _make_fixed_reader("requirements.txt", ("install", "pip install -r requirements.txt")),
    ),
    (
        "Cargo.toml",
        _make_fixed_reader(
            "Cargo.toml", ("test", "cargo test"), ("lint", "cargo clippy"), ("build", "cargo build")
        ),
    ),
    (
        "go.mod",
        _make_fixed_reader(
            "go.mod", ("test", "go test ./..."), ("lint", "go vet ./..."), ("build", "go build ./...")
        ),
    ),
    ("Gemfile", _read_gemfile),
    ("CMakeLists.txt", _read_cmake),
    ("pom.xml", _make_fixed_reader("pom.xml", ("test", "mvn test"), ("build", "mvn package"))),
    ("build.gradle", _make_fixed_reader("build.gradle", ("test", "gradle test"), ("build", "gradle build"))),
    (
        "build.gradle.kts",
        _make_fixed_reader("build.gradle.kts", ("test", "gradle test"), ("build", "gradle build")),
    ),
    (
        ".pre-commit-config.yaml",
        _make_fixed_reader(".pre-commit-config.yaml", ("lint", "pre-commit run --all-files")),
    ),
)

_WORKFLOW = compile_lazily(r"^(\.github/workflows/[^/]+\.ya?ml|\.gitlab-ci\.yml)$")


_WRAPPERS = {
    "bundle",
    "exec",
    "uv",
    "uvx",
    "run",
    "poetry",
    "pdm",
    "hatch",
    "npx",
    "npm",
    "pnpm",
    "yarn",
    "python",
    "python3",
    "sudo",
}
"""Words before the one that shows a command line's purpose."""


_GLUE = frozenset(
    ("echo", "rm", "cp", "mv", "mkdir", "cd", "export", "set", "git", "curl", "wget", "if", "for", "sudo")
)
"""Programs and words with which a workflow prepares its machine: what follows them is no command of the project."""


def _is_whole_command(line: str) -> bool:
    """Whether a line of a workflow is a command that works by itself: no part of a longer one, nothing filled in."""
    words = line.split()
    is_part = line.startswith("-") or line.endswith(("\\", "|", "&&")) or all("=" in each for each in words)
    return not is_part and not set("$`") & set(line) and words[0] not in _GLUE and len(line) <= 100


def _read_workflow(text: str, name: str) -> Iterator[ProjectCommand]:
    """Yield command lines of a CI file, with the kind shown by their first words."""
    import yaml

    try:
        parsed = yaml.safe_load(text)
    except yaml.YAMLError:  # a template, or invalid: there is nothing to quote
        return
    for line in _iterate_script_lines(parsed):
        words = [word for word in line.split() if not word.startswith("-") and word not in _WRAPPERS]
        kind = next(
            (found for word in words[:4] if (found := _classify_name(word.rpartition("/")[2])) != "other"),
            "other",
        )
        if _is_whole_command(line):
            yield ProjectCommand(kind=kind, command=line, source=name)


def _iterate_script_lines(node: object) -> Iterator[str]:
    """Yield the lines under every `run:` (GitHub) and `script:` (GitLab)."""
    if isinstance(node, list):
        for each in node:
            yield from _iterate_script_lines(each)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key in ("run", "script"):
                text = value if isinstance(value, list) else [value]
                lines = [line.strip() for each in text if isinstance(each, str) for line in each.splitlines()]
                yield from (line for line in lines if line and not line.startswith("#"))
            else:
                yield from _iterate_script_lines(value)
