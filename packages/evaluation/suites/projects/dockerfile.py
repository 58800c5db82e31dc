"""A Dockerfile read as steps that a sandbox can take: files to copy and commands to run, without its image."""

from __future__ import annotations

import json
import posixpath
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution

from sandbox.lazy_dataclass import dataclass

PROGRAMS: Mapping[str, str] = {
    "build-essential": "gcc",
    "python3-pip": "",
    "python3-venv": "",
    "python3-dev": "",
    "nodejs": "node",
    "golang": "go",
    "golang-go": "go",
    "default-jdk": "javac",
    "openjdk-17-jdk": "javac",
    "rustc": "rustc",
    "ca-certificates": "",
    "procps": "",
    "tmux": "",
    "asciinema": "",
    "coreutils": "",
}
"""Programs by the system package that brings them, where the names differ; "" for one that no task's files need."""

_IGNORED = {
    "ENV",
    "LABEL",
    "EXPOSE",
    "CMD",
    "ENTRYPOINT",
    "USER",
    "ARG",
    "SHELL",
    "MAINTAINER",
    "HEALTHCHECK",
    "VOLUME",
}


class Obstacle(Exception):
    """A task cannot be made without its container: the text is the reason, a clause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Either files to copy or a command to run. target: relative to the worktree; command: with rewritten paths"""

    sources: tuple[str, ...] = ()
    target: str = ""
    target_is_folder: bool = False
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Steps of a Dockerfile. workdir: absolute folder of the container that is the worktree"""

    workdir: str
    steps: tuple[Step, ...]

    def localize(self, text: str) -> str:
        """Return a text with the container's paths as paths of the worktree."""
        places = {
            "/tests": ".harbor/tests",
            "/solution": ".harbor/solution",
            "/oracle": ".harbor/solution",
            "/logs": ".harbor/logs",
            self.workdir: ".",
        }
        for place, local in places.items():
            # only where a path begins, and where this part of it ends
            text = re.sub(rf"(?<![\w./-]){re.escape(place)}(?=[/\s\"'`;),\]]|$)", local, text, flags=re.M)
        return text


def parse_dockerfile(text: str) -> Recipe:
    """Return the steps. Raises Obstacle for what needs the image or the network."""
    lines = _join_lines(text)
    workdirs = [argument for word, argument in lines if word == "WORKDIR"]
    recipe = Recipe(workdir=posixpath.normpath(workdirs[-1].strip()) if workdirs else "/app", steps=())
    here = "/"
    steps: list[Step] = []
    for word, argument in lines:
        if word == "WORKDIR":
            here = posixpath.normpath(posixpath.join(here, argument.strip()))
        elif word in ("COPY", "ADD"):
            steps.append(_parse_copy(argument, here, recipe))
        elif word == "RUN":
            steps += _parse_run(argument, recipe)
        elif word not in _IGNORED and word != "FROM":
            raise Obstacle(f"its Dockerfile has {word}")
    return Recipe(workdir=recipe.workdir, steps=tuple(steps))


def rewrite_paths(content: bytes, recipe: Recipe) -> bytes:
    """Return a text file with the worktree's paths; any other file as it is."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return content
    return content if "\0" in text else recipe.localize(text).encode()


def _join_lines(text: str) -> list[tuple[str, str]]:
    """Return (instruction, argument) pairs, continued lines joined, comments left out."""
    kept = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\s*\n", " ", "\n".join(kept))
    words = [line.strip().partition(" ") for line in joined.splitlines() if line.strip()]
    return [(word.upper(), argument.strip()) for word, _, argument in words]


def _parse_copy(argument: str, here: str, recipe: Recipe) -> Step:
    if "--from" in argument:
        raise Obstacle("its Dockerfile copies from another image")
    words = json.loads(argument) if argument.startswith("[") else shlex.split(argument)
    *sources, target = [word for word in words if not word.startswith("--")]
    place = posixpath.normpath(posixpath.join(here, target))
    inner = posixpath.relpath(place, recipe.workdir)
    if inner.startswith(".."):
        raise Obstacle(f"its Dockerfile copies files to {place}")
    if any("*" in each or ".." in each.split("/") or "://" in each for each in sources):
        raise Obstacle("its Dockerfile copies files by a pattern or an address")
    is_folder = target.endswith("/") or target == "." or len(sources) > 1 or place == recipe.workdir
    return Step(sources=tuple(each.lstrip("/") for each in sources), target=inner, target_is_folder=is_folder)


def _parse_run(argument: str, recipe: Recipe) -> list[Step]:
    """Return the commands that are left once the installation of what is here has been taken out."""
    words = shlex.split(argument) if argument.startswith(("bash ", "sh ", "/bin/")) else []
    if len(words) == 3 and words[1] in ("-c", "-lc", "-ec"):
        argument = words[2]
    left: list[str] = []
    for part in re.split(r"\s*(?:&&|;)\s*", argument.strip()):
        bare = re.sub(r"^(?:\w+=\S+\s+)+", "", part).strip()
        if re.match(r"(apt-get|apt|apk)\b", bare):
            _require_programs(bare)
        elif re.match(r"(pip3?|python3? -m pip|uv pip)\s+install\b", bare):
            _require_modules(bare)
        elif re.match(r"(curl|wget|git clone|npm|yarn|cargo add|cargo install|go get|go mod|gem)\b", bare):
            raise Obstacle(f"its Dockerfile downloads files: {bare[:40]}")
        elif bare and not re.match(r"(rm -rf /var|set -|useradd|chown|locale-gen|update-)", bare):
            left.append(recipe.localize(part))
    return [Step(command=" && ".join(left))] if left else []


def _require_programs(command: str) -> None:
    words = shlex.split(command)
    if "install" not in words and "add" not in words:
        return
    for package in words[words.index("install" if "install" in words else "add") + 1 :]:
        if package.startswith("-") or "=" in package:
            continue
        program = PROGRAMS.get(package, package)
        if program and shutil.which(program) is None:
            raise Obstacle(f"{package} is not installed")


def _require_modules(command: str) -> None:
    words = shlex.split(command)
    for word in words[words.index("install") + 1 :]:
        name = re.split(r"[=<>!~\[;]", word)[0]
        if word.startswith("-") or name == "pytest":
            continue
        if not _is_installed(name):
            raise Obstacle(f"the Python package {name} is not installed")


def _is_installed(package: str) -> bool:
    """Return whether a package that a stranger names is installed, by its metadata: to look for one of its modules may
    import what it is in, and so run a stranger's code in this process."""
    try:
        distribution(package)
    except (PackageNotFoundError, ValueError):
        return package.lower().replace("-", "_") in sys.stdlib_module_names
    return True
