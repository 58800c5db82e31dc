"""Profiles of test runners and their recorded runs: small projects, what the real runner said, how to play it again.

`NAME/profile.toml` describes a runner and its cases, with the verdict and the counts that are right. `NAME/CASE.toml`
is what `benchmarks/runners/record.py` recorded of a real run.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from sandbox.process.command import Capture, Command, Completed

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A small project and what is right to say of its tests.

    verdicts: right outcomes, the best first; a run that lost tests may be told as broken or as failed
    counts: passed, failed, errors, skipped by the runner's own closing line; () where it has none
    known: why our report differs from that, "" if it does not
    """

    files: Mapping[str, str]
    verdicts: tuple[str, ...]
    counts: tuple[int, ...] = ()
    known: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A runner at one release.

    kit: folder of the installation, which profiles may share; install: packages by registry ("npm", "pypi", "debian")
    native: command by which its users run it; version: command that prints its version
    says: pattern of the closing lines, in which it states its counts
    """

    name: str
    kit: str
    install: Mapping[str, Sequence[str]]
    native: str
    version: str
    says: str
    env: Mapping[str, str] = field(default_factory=dict)
    cases: Mapping[str, Case] = field(default_factory=dict)


@cache
def read_profiles() -> Mapping[str, Profile]:
    """Return all profiles by name; one that is `like` another has its files and cases."""
    tables = {
        path.parent.name: tomllib.loads(path.read_text("utf-8"))
        for path in sorted(FOLDER.glob("*/profile.toml"))
    }
    return {name: _build_profile(name, tables) for name in tables}


def _build_profile(name: str, tables: Mapping[str, Mapping[str, Any]]) -> Profile:
    table = dict(tables[name])
    if "like" in table:
        base = tables[table["like"]]
        cases = {**base["cases"], **table.get("cases", {})}
        table = {**base, **table, "cases": {key: each for key, each in cases.items() if each}}
        table["files"] = {**base.get("files", {}), **tables[name].get("files", {})}
    return Profile(
        name=name,
        kit=table.get("kit", name),
        install=table.get("install", {}),
        native=table["native"],
        version=table["version"],
        says=table["says"],
        env=table.get("env", {}),
        cases={
            key: Case(
                files={**table.get("files", {}), **each.get("files", {})},
                verdicts=tuple(each["verdict"].split(" or ")),
                counts=tuple(each.get("counts", ())),
                known=each.get("known", ""),
            )
            for key, each in table["cases"].items()
        },
    )


def list_recordings() -> Iterator[tuple[Profile, str, Path]]:
    """Yield each recorded case with its profile and file."""
    for profile in read_profiles().values():
        for name in profile.cases:
            path = FOLDER / profile.name / f"{name}.toml"
            if path.exists():
                yield profile, name, path


def place_files(root: Path, files: Mapping[str, str]) -> None:
    """Write files; those that begin with `#!` can be started."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        if text.startswith("#!"):
            path.chmod(0o755)


class PlayedSandbox:
    """A sandbox that starts nothing: it answers with recorded runs, in their order, and writes their reports."""

    name = "played"
    warning = ""

    def __init__(self, root: Path, recording: Mapping[str, Any], python: Path) -> None:
        self.root = root
        self._runs = iter(recording["runs"])
        self._version = str(recording["version"])
        self._python = python
        self._has_pytest = int("pytest" in str(recording["command"]))

    async def run(self, command: Command, on_output: Callable[[bytes], None] | None = None) -> Completed:
        """Return the next recorded run; the project's interpreter has pytest if the recorded run used it."""
        if command.argv[1:2] == ("-c",) and command.argv[0].endswith(("python", "python3")):
            answer = (
                f"answer {self._has_pytest} 0 0" if command.argv[0] == str(self._python) else "answer 0 0 0"
            )
            return self._complete(command, 0, answer)
        if command.argv[1:] == ("--version",):
            return self._complete(command, 0, f"v{self._version}\n")
        run = next(self._runs)
        reports = command.writable[0]
        places = {"{root}": str(self.root), "{reports}": str(reports), "{python}": str(self._python)}
        for base, files in ((reports, run.get("reports", {})), (self.root, run.get("files", {}))):
            place_files(base, {name: _fill_places(text, places) for name, text in files.items()})
        return self._complete(command, run["exit"], _fill_places(run["output"], places))

    def _complete(self, command: Command, status: int, output: str) -> Completed:
        shown = output.encode()
        return Completed(
            argv=command.argv,
            returncode=status,
            ended="exited",
            duration=0.1,
            stdout=Capture(head=shown, tail=b"", total=len(shown)),
            stderr=Capture(head=b"", tail=b"", total=0),
        )


def _fill_places(text: str, places: Mapping[str, str]) -> str:
    for word, place in places.items():
        text = text.replace(word, place)
    return text


def make_python(folder: Path) -> Path:
    """Create a stand-in for the interpreter of a virtual environment, which is never started."""
    place_files(folder, {"venv/bin/python": "#!/bin/sh\nexit 1\n"})
    return folder / "venv/bin/python"
