"""Packages of a repository with several: which of them a run of the tests at the root reached.

One table of ecosystems: the manifest of a package, the code that belongs to it, how its name and what it depends on
are read, and which folders a run at the root takes in. `None` means that this cannot be said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from pathlib import PurePosixPath

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.testing.java import find_class_folders
from tools.testing.package_coverage import (
    contains_place,
    cover_cargo,
    cover_go,
    cover_gradle,
    cover_maven,
    cover_node,
    cover_unknown,
    list_gradle_projects,
)
from tools.testing.project_files import Project, iterate_folders
from tools.testing.report import RUNNERS_JOIN

MOST_PACKAGES = 500
"""More are in few repositories, with build systems of their own."""

MOST_ADDED = 8
"""Packages that are run beside a suite that leaves them out."""

Covered = Callable[[Project, str, Collection[str]], Collection[str] | None]
"""Returns which of some package folders a command at the root reaches, None if that is not known."""

Locate = Callable[[Project, Collection[str], Collection[str]], Collection[str] | None]
"""Returns which of some package folders have tests of these names, None if that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ecosystem:
    """A kind of packages.

    manifests: names of the file at the top of a package; marker: pattern of its text below the root
    suffixes: of the code; runners: names of runners for it; name: pattern of a package's name in the manifest
    has_places: names of tests begin with their file or folder; unplaced: runners for it whose names do not
    covered: see `Covered`; locate: finds the packages of tests whose names are classes
    declared: folders that a file at the root declares as packages, with a manifest or without
    """

    manifests: tuple[str, ...]
    marker: re.Pattern[str]
    suffixes: tuple[str, ...]
    runners: Collection[str]
    name: re.Pattern[str]
    covered: Covered
    has_places: bool = False
    unplaced: Collection[str] = ()
    locate: Locate | None = None
    declared: Callable[[Project], Collection[str] | None] = lambda project: ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteScope:
    """A run of the whole suite. names: of its tests, as far as they are known"""

    runner: str
    command: str
    names: Collection[str]


def find_package(project: Project, path: str) -> tuple[Ecosystem, str] | None:
    """Return the innermost package that a file of code is in, None for one of the root or of no package."""
    for kind in ECOSYSTEMS:
        if path.endswith(kind.suffixes):
            for folder in PurePosixPath(path).parents:
                if str(folder) != "." and _is_package(project, str(folder), kind):
                    return kind, str(folder)
    return None


def _is_package(project: Project, folder: str, kind: Ecosystem) -> bool:
    return bool(_read_manifest(project, folder, kind)) or folder in (kind.declared(project) or ())


def find_enclosing_package(project: Project, folder: str) -> str:
    """Return the innermost package, "" for the root, that a folder is or is in."""
    places = [folder, *map(str, PurePosixPath(folder).parents)] if folder not in ("", ".") else []
    kept = (each for each in places if each != ".")
    return next((each for each in kept if any(_is_package(project, each, kind) for kind in ECOSYSTEMS)), "")


def list_outer_packages(project: Project) -> list[str]:
    """Return the folders of the packages that are in no other one."""
    found: list[str] = []
    for folder in iterate_folders(project.root):
        is_inner = any(contains_place(each, folder) for each in found)
        if not is_inner and any(_is_package(project, folder, kind) for kind in ECOSYSTEMS):
            found.append(folder)
    return found[:MOST_ADDED]


def list_package_folders(project: Project, suffix: str) -> list[str]:
    """Return the folders of the packages below the root with code of a suffix."""
    return [each for kind in ECOSYSTEMS if suffix in kind.suffixes for each in _list_folders(project, kind)]


def find_unreached(project: Project, paths: Sequence[str], scope: SuiteScope) -> tuple[list[str], list[str]]:
    """Return the packages of changed files of which, or of whose users, a test ran, and the others."""
    reached: dict[str, None] = {}
    missed: dict[str, None] = {}
    for path in paths:
        found = find_package(project, path)
        if found is None:
            if _is_beside_tests(project, path, scope):
                missed[str(PurePosixPath(path).parent) if "/" in path else path] = None
            continue
        kind, folder = found
        if folder not in reached and folder not in missed:
            is_reached = _is_reached(project, kind, folder, scope)
            if is_reached is not None:
                (reached if is_reached else missed)[folder] = None
    return list(reached), list(missed)


_HAS_TESTS = compile_lazily(r"^\s*(?:async )?def test|^class \w*Test", re.M)


def _is_beside_tests(project: Project, path: str, scope: SuiteScope) -> bool:
    """Return whether code of no package has no test that ran: those of its language, or all that reach it, did not."""
    kinds = [kind for kind in ECOSYSTEMS if path.endswith(kind.suffixes)]
    ran = set(scope.runner.split(RUNNERS_JOIN))
    if not kinds or not ran <= _LANGUAGE_RUNNERS:
        return False
    if not any(ran & {*kind.runners, *kind.unplaced} for kind in kinds):
        return True
    places = set(map(_get_folder, scope.names))
    if not path.endswith(".py") or None in places or set(project.python_tests) <= places:
        return False
    if path in project.python_tests and not _HAS_TESTS.search(project.read_text(path)):
        return False  # whether tests are lost is judged by their names
    from tools.testing.affected_tests import find_affected_tests

    files = [
        each.relative_to(project.root).as_posix()
        for folder in ("", *iterate_folders(project.root))
        for each in (project.root / folder).glob("*.py")
    ]
    reaching = find_affected_tests(project.root, files, [path])
    return bool(reaching) and places.isdisjoint(reaching or ())


def _is_reached(project: Project, kind: Ecosystem, folder: str, scope: SuiteScope) -> bool | None:
    """Return whether a test of a package, or of one that depends on it, ran; None if that cannot be said."""
    users = _collect_users(project, kind, folder, _list_folders(project, kind))
    entered, scope = _leave_entered_folders(scope)
    if not users.isdisjoint(entered):  # run from its own folder
        named = [each for each in users if any(name.startswith(f"{each}/") for name in scope.names)]
        return True if named else None if "node" in kind.runners or not scope.names else False
    if entered and not scope.command:
        return False
    ran = set(scope.runner.split(RUNNERS_JOIN))
    if not ran & set(kind.runners):
        if ran <= _LANGUAGE_RUNNERS and not ran & set(
            kind.unplaced
        ):  # none runs tests of this kind of package
            return False
        named = _list_named_folders(project, scope.command)
        is_named = any(contains_place(folder, each) or contains_place(each, folder) for each in named)
        return False if named and not is_named else None
    folders = _list_folders(project, kind)
    places = [_get_folder(name) for name in scope.names] if kind.has_places else []
    known = [place for place in places if place is not None]
    if known and len(known) == len(places):  # every test says where it is
        inner = {each: [one for one in folders if not each or one.startswith(f"{each}/")] for each in users}
        return any(_is_inside(place, each, inner[each]) for place in known for each in users)
    if kind.locate is not None and (located := kind.locate(project, [*folders, ""], scope.names)) is not None:
        return not users.isdisjoint(located)
    covered = kind.covered(project, scope.command, folders)
    return covered is None or bool(users & set(covered))


_ENTERED = compile_lazily(r"\(cd (?P<folder>'[^']*'|\S+) && .*?\)(?: && (?=\S)|$)")


def _leave_entered_folders(scope: SuiteScope) -> tuple[list[str], SuiteScope]:
    """Return the packages from whose folders a run was started, and the run at the root alone."""
    entered = [each["folder"].strip("'") for each in _ENTERED.finditer(scope.command)]
    if not entered:
        return [], scope
    rest = _ENTERED.sub("", scope.command).removesuffix(" && ")
    return entered, SuiteScope(runner=scope.runner, command=rest, names=scope.names)


def list_packages_to_run(project: Project, paths: Sequence[str], scope: SuiteScope) -> list[str]:
    """Return the packages of changed files, and those that depend on them, that a run of the suite did not take in;
    "" stands for the root, where a changed file is of no package and the run was of packages only."""
    found: dict[str, None] = {}
    entered, at_root = _leave_entered_folders(scope)
    for path in paths:
        package = find_package(project, path)
        if package is None:
            if entered and not at_root.command and any(path.endswith(kind.suffixes) for kind in ECOSYSTEMS):
                found[""] = None
            continue
        kind, folder = package
        folders = _list_folders(project, kind)
        users = _collect_users(project, kind, folder, folders) - {""}
        for each in sorted(users, key=lambda one: (one != folder, one)):
            if each not in entered and not _is_taken_in(project, kind, each, folders, at_root):
                found[each] = None
    return list(found)[:MOST_ADDED]


def _is_taken_in(
    project: Project, kind: Ecosystem, folder: str, folders: Sequence[str], scope: SuiteScope
) -> bool:
    """Return whether a run at the root takes a package in, whether it has tests or not; also if that is not known."""
    ran = set(scope.runner.split(RUNNERS_JOIN))
    if not scope.command:
        return False
    if not ran & {*kind.runners, *kind.unplaced}:
        return not ran <= _LANGUAGE_RUNNERS
    covered = kind.covered(project, scope.command, folders)
    if covered is not None:
        return folder in covered
    places = [_get_folder(name) for name in scope.names] if kind.has_places else []
    if not places or None in places:
        return True
    return any(place is not None and contains_place(folder, place) for place in places)


_TARGET = compile_lazily(r"^make(?:\s+-\w+)*\s+(?P<target>\w[\w.-]*)$")
_WORDS = compile_lazily(r"[^\s'\"=:;&|<>()`$]+")
_RUNS_TESTS = compile_lazily(
    r"\b(?:py)?tests?\b|\bunittest\b|\bjest\b|\bvitest\b|\bmocha\b|\brspec\b|\bphpunit\b"
)

_RUNS_MORE = compile_lazily(r"\$|\b(?:make|for|while|sh|bash|xargs|find|cd)\b")


def _list_named_folders(project: Project, command: str) -> list[str]:
    """Return the files and folders that a target of a Makefile gives to its runners, [] if that cannot be said.

    A recipe with another target, a loop or a script may run anything.
    """
    if (target := _TARGET.match(command)) is None:
        return []
    text = next(filter(None, map(project.read_text, ("GNUmakefile", "makefile", "Makefile"))), "")
    recipe = re.search(rf"^{re.escape(target['target'])}:[ \t]*(?:#.*)?\n((?:\t.*\n?)+)", text, re.M)
    lines = recipe[1].splitlines() if recipe else []
    if not lines or not all(_RUNS_TESTS.search(line) and not _RUNS_MORE.search(line) for line in lines):
        return []
    words = [word.removeprefix("./").rstrip("/") for line in lines for word in _WORDS.findall(line)[1:]]
    return [each for each in words if each not in ("", ".") and (project.root / each).exists()]


def _is_inside(place: str, folder: str, inner: Sequence[str]) -> bool:
    """Return whether a place is in a package, and in none of those inside it."""
    return (folder == "" or contains_place(folder, place)) and not any(
        contains_place(each, place) for each in inner
    )


def _get_folder(name: str) -> str | None:
    """Return the file or folder in a test's name, None if it has none."""
    head = name.partition("::")[0] if "::" in name else name.partition(" › ")[0]
    return head if "::" in name or "/" in head else None


def _collect_users(project: Project, kind: Ecosystem, folder: str, folders: Sequence[str]) -> set[str]:
    """Return a package and those that depend on it, directly or not; "" stands for the root."""
    texts = {each: _read_manifest(project, each, kind) for each in (*folders, "")}
    names = {each: match[1] for each, text in texts.items() if (match := kind.name.search(text))}
    names |= {each: f":{each.replace('/', ':')}" for each in kind.declared(project) or ()}
    found, waiting = {folder}, [folder]
    while waiting:
        name = names.get(waiting.pop())
        for each, text in texts.items():
            if name and each not in found and _mentions(text, name, kind):
                found.add(each)
                waiting.append(each)
    return found


_NO_DEPENDENCY = compile_lazily(r"<(?P<tag>modules|dependencyManagement)>.*?</(?P=tag)>", re.DOTALL)
"""Lists of modules, by which a parent does not depend on them."""


def _mentions(text: str, name: str, kind: Ecosystem) -> bool:
    """Return whether a manifest names another package, beside giving itself that name."""
    own = kind.name.search(text)
    rest = _NO_DEPENDENCY.sub("", text[: own.start(1)] + text[own.end(1) :] if own else text)
    if name[0] == ":":
        accessor = ".".join(
            re.sub(r"[-_](\w)", lambda found: found[1].upper(), part) for part in name.split(":")
        )
        return (
            re.search(rf"[\"']:?{re.escape(name[1:])}[\"']|\bprojects{re.escape(accessor)}\b", rest)
            is not None
        )
    return re.search(rf"(?<![\w/-]){re.escape(name)}(?![\w/-])", rest) is not None


def _list_folders(project: Project, kind: Ecosystem) -> list[str]:
    return [each for each in iterate_folders(project.root) if _is_package(project, each, kind)][
        :MOST_PACKAGES
    ]


def _read_manifest(project: Project, folder: str, kind: Ecosystem) -> str:
    for name in kind.manifests:
        text = project.read_text(f"{folder}/{name}" if folder else name)
        if text and (kind.marker.search(text) or not folder):
            return text
    return ""


_ANY = compile_lazily("")
_TOML_NAME = compile_lazily(r"^name\s*=\s*[\"']([^\"']+)", re.M)

ECOSYSTEMS = (
    Ecosystem(
        manifests=("Cargo.toml",), marker=compile_lazily(r"^\[package\]", re.M), suffixes=(".rs",), runners=("cargo",),
        name=_TOML_NAME, covered=cover_cargo,
    ),
    Ecosystem(
        manifests=("package.json",), marker=compile_lazily(r'"name"'),
        suffixes=(".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".vue", ".svelte"),
        runners=(
            "npm", "pnpm", "yarn", "bun", "node", "jest", "vitest", "mocha", "ava", "tap", "uvu", "deno", "playwright",
        ),
        name=compile_lazily(r'"name"\s*:\s*"([^"]+)"'), covered=cover_node, has_places=True,
    ),
    Ecosystem(
        manifests=("go.mod",), marker=_ANY, suffixes=(".go",), runners=("go",),
        name=compile_lazily(r"^module\s+(\S+)", re.M), covered=cover_go, has_places=True,
    ),
    Ecosystem(
        manifests=("pyproject.toml", "setup.py"),
        marker=compile_lazily(r"^\[project\]|^\[tool\.poetry\]|\bsetup\(", re.M),
        suffixes=(".py", ".pyi"), runners=("pytest",), name=_TOML_NAME, covered=cover_unknown, has_places=True,
        unplaced=("unittest", "django"),
    ),
    Ecosystem(
        manifests=("pom.xml",), marker=_ANY, suffixes=(".java", ".kt", ".groovy", ".scala"), runners=("maven",),
        name=compile_lazily(r"\A(?:.*?</parent>)?.*?<artifactId>\s*([^<\s]+)", re.DOTALL), covered=cover_maven,
        locate=find_class_folders,
    ),
    Ecosystem(
        manifests=("build.gradle", "build.gradle.kts"), marker=_ANY, suffixes=(".java", ".kt", ".groovy", ".scala"),
        runners=("gradle",), covered=cover_gradle, locate=find_class_folders, declared=list_gradle_projects,
        name=compile_lazily(r"^rootProject\.name\s*=\s*[\"']([^\"']+)", re.M),
    ),
)  # fmt: skip

_LANGUAGE_RUNNERS = frozenset(name for kind in ECOSYSTEMS for name in (*kind.runners, *kind.unplaced))
"""Runners of one kind of packages; others, as make or tox, may run anything."""
