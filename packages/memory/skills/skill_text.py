"""Files of a learned skill or command, and the files of the repository that a skill depends on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from agent.extension.extension_files import SKILL_FILE, SKILL_FOLDERS
from agent.memory.command_purposes import split_words
from agent.memory.lesson_checks import compute_file_digest
from agent.memory.records import Check
from packages.memory.skills.procedures import Procedure

RUN, CHECK = "scripts/run.sh", "scripts/check.sh"

_UNTOLD = "disable-model-invocation: true\n"

_MANIFESTS: Mapping[str, str] = {
    "make": "Makefile makefile GNUmakefile",
    "just": "justfile Justfile",
    "npm pnpm yarn bun npx": "package.json",
    "cargo": "Cargo.toml",
    "go": "go.mod",
    "tox": "tox.ini pyproject.toml",
    "nox": "noxfile.py",
    "pytest py.test": "pyproject.toml pytest.ini setup.cfg",
    "gradle gradlew": "build.gradle build.gradle.kts",
    "mvn": "pom.xml",
}
"""Files that say what a program does here, by its name."""


def make_skill_path(name: str) -> str:
    """Return the folder of a learned skill, relative to the root."""
    return f"{SKILL_FOLDERS[0]}/{name}"


def render_skill(found: Procedure) -> Mapping[str, str]:
    """Return the texts of a skill's files by name."""
    return {
        SKILL_FILE: _render_instructions(found),
        RUN: _render_script(found.steps),
        CHECK: _render_script(found.checks),
    }


def render_command(found: Procedure) -> str:
    """Return the text of a slash command that runs the steps, up to the first that fails, and has the result told."""
    description = json.dumps(f"Runs {describe_steps(found.steps)}", ensure_ascii=False)
    body = [
        f"Steps of {len(found.sessions)} earlier sessions were run one after the other, up to the first that failed:",
        f"!`{' && '.join(found.steps)}`",
        "Say in one sentence whether all of them passed, else which one failed and why. $ARGUMENTS",
    ]
    return "\n\n".join([f"---\ndescription: {description}\n---", *body, ""])


def mark_retired(text: str, *, retired: bool) -> str:
    """Return the text of a SKILL.md of which models are told no more, or again."""
    text = text.replace(_UNTOLD, "", 1)
    return text.replace("---\n", f"---\n{_UNTOLD}", 1) if retired else text


def describe_steps(steps: Sequence[str]) -> str:
    """Return the steps as a clause."""
    return ", then ".join(f"`{each}`" for each in steps)


def list_dependencies(steps: Sequence[str], root: Path) -> tuple[Check, ...]:
    """Return the digests of the files that steps name, and of those that say what their programs do."""
    paths = dict.fromkeys(path for step in steps for path in _list_named(step))
    digests = {each: compute_file_digest(root, each) for each in paths}
    return tuple(Check(kind="digest", value=f"{each}:{digest}") for each, digest in digests.items() if digest)


def _list_named(step: str) -> Iterator[str]:
    words = split_words(step)
    for each in words:
        path = each.rpartition("=")[2].partition("::")[0].removeprefix("./")
        if path and not path.startswith("-"):
            yield path
        for programs, files in _MANIFESTS.items():
            if each.rpartition("/")[2] in programs.split():
                yield from files.split()
    if "-m" in words[:-1]:
        module = words[words.index("-m") + 1].replace(".", "/")
        yield from (f"{module}.py", f"{module}/__main__.py")


def _render_script(steps: Sequence[str]) -> str:
    return "\n".join(["#!/bin/sh", "# From the root of the repository.", "set -eu", *steps, ""])


def _render_instructions(found: Procedure) -> str:
    folder = make_skill_path(found.name)
    places = ", ".join(found.places)
    when = f"after work on {places}" if places else "before such work is called done"
    description = f"Runs {describe_steps(found.steps)}. Use it {when}."
    head = ["---", f"name: {found.name}", f"description: {json.dumps(description, ensure_ascii=False)}"]
    body = [
        f"Learned from {len(found.sessions)} sessions that did this, and replayed in a fresh worktree.",
        "",
        f"1. Run `sh {folder}/{RUN}` from the root of the repository: {describe_steps(found.steps)}.",
        f"2. It is done when `sh {folder}/{CHECK}` ends with 0. If it does not, say so, and do not repeat it.",
    ]
    return "\n".join([*head, "metadata:", "  learned: patchwright", "---", "", *body, ""])
