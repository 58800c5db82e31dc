"""Aider's polyglot benchmark: Exercism exercises in six languages, a stub to be filled in so that the tests pass."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from packages.evaluation.suites.built_task import (
    BuildRequest,
    BuiltTask,
    MissingTask,
    build_program_task,
    make_task_name,
)
from packages.evaluation.suites.ending_checks import build_tests_check, read_tests_judge
from packages.evaluation.suites.programs.toolchains import find_missing_tool
from packages.evaluation.suites.source_folder import read_data_file
from packages.evaluation.tasks.folder_files import list_folder_files
from sandbox.lazy_dataclass import dataclass

SECONDS = 600.0

PROMPT = """\
{instructions}

Write the solution into {solution}, which {has} only a stub: keep the names and signatures, others call them. The tests
in {tests} have to pass; leave them as they are. Use the standard library only.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """How exercises of a language are checked. check: command line with {tests}; tools: programs besides the language's
    own; lacks: why none can be made without a package registry, "" where some can"""

    check: str
    tools: tuple[str, ...] = ()
    lacks: str = ""


LANGUAGES: Mapping[str, Language] = {
    "python": Language(check=build_tests_check("unittest", ()) + "{tests}"),
    "javascript": Language(check="npx --no-install jest", tools=("jest",)),
    "go": Language(check="go test ./..."),
    "rust": Language(check="cargo test --offline --quiet -- --include-ignored"),
    "java": Language(check="gradle --offline test", tools=("gradle",)),
    "cpp": Language(
        check="cmake -DEXERCISM_RUN_ALL_TESTS=1 -S . -B build && cmake --build build", tools=("cmake",)
    ),
}
"""Languages by the folder's name."""


def build_tasks(request: BuildRequest) -> Iterator[BuiltTask | MissingTask]:
    """Yield the exercises by language, in order of name."""
    for language, how in LANGUAGES.items():
        folder = request.source / language / "exercises" / "practice"
        if not folder.is_dir():
            continue
        missing = find_missing_tool(language, *how.tools)
        for exercise in sorted(each for each in folder.iterdir() if (each / ".meta/config.json").is_file()):
            name = make_task_name(language, exercise.name)
            key = f"{language}/{exercise.name}"
            if not request.selects(key, language) or not request.is_wanted(name):
                continue
            reason = f"{missing} is not installed" if missing else _find_obstacle(exercise, language)
            yield (
                MissingTask(name=name, reason=reason)
                if reason
                else _build_task(name, exercise, language, how)
            )


def _build_task(name: str, exercise: Path, language: str, how: Language) -> BuiltTask:
    config: dict[str, Any] = json.loads(read_data_file(exercise, ".meta/config.json") or b"{}")
    named: dict[str, list[str]] = config["files"]
    files = {
        each.path: each.read()
        for each in list_folder_files(exercise)
        if each.kind != "link" and ".meta" not in each.path.split("/")
    }
    solution = _pair_examples(exercise, named)
    checker = {path: files[path] for path in files if _is_of_tests(path, named)}
    if language == "python":
        checker |= read_tests_judge()
    tests = [each for each in named["test"] if each in files]
    return build_program_task(
        name,
        prompt=PROMPT.format(
            instructions=_read_instructions(exercise),
            solution=_list_paths(named["solution"]),
            has="has" if len(named["solution"]) == 1 else "have",
            tests=_list_paths(named["test"]),
        ),
        files=files,
        check=how.check.format(tests=" ".join(tests)),
        checker_files=checker,
        solution=solution,
        language=language,
        tags=["polyglot", language],
        seconds=SECONDS,
        check_seconds=300.0,
    )


def _pair_examples(exercise: Path, named: Mapping[str, Sequence[str]]) -> dict[str, bytes]:
    """Return the reference's files by the path of the stub that each replaces."""
    examples = {
        each: content
        for each in named.get("example", ())
        if (content := read_data_file(exercise, each)) is not None
    }
    found: dict[str, bytes] = {}
    for path in named["solution"]:
        suffix = Path(path).suffix
        same_name = [each for each in examples if Path(each).name == Path(path).name]
        same_kind = [each for each in examples if Path(each).suffix == suffix]
        for each in (same_name or same_kind)[:1]:
            found[path] = examples.pop(each)
    cargo = read_data_file(exercise, ".meta/Cargo-example.toml")
    if cargo is not None:
        found["Cargo.toml"] = cargo
    return found


def _is_of_tests(path: str, named: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a file belongs to the checker: the tests, and what they alone need."""
    return path in named["test"] or path in named.get("editor", ()) or path.startswith(("test/", "tests/"))


def _find_obstacle(exercise: Path, language: str) -> str:
    """Return what an exercise needs that no plain installation has, "" if nothing."""
    if language == "rust":
        import tomllib

        for name in ("Cargo.toml", ".meta/Cargo-example.toml"):
            content = read_data_file(exercise, name)
            if content is not None and tomllib.loads(content.decode()).get("dependencies"):
                return "crates are not installed"
    return ""


def _read_instructions(exercise: Path) -> str:
    parts = ("introduction.md", "instructions.md", "instructions.append.md")
    contents = [read_data_file(exercise, f".docs/{each}") for each in parts]
    return "\n\n".join(each.decode().strip() for each in contents if each is not None)


def _list_paths(paths: Sequence[str]) -> str:
    return " and ".join(f"`{each}`" for each in paths)
