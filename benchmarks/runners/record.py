"""Run real test runners on the small projects of tests/runners and record what they say, and what we make of it.

    python benchmarks/runners/record.py --kit FOLDER [--case CASE] [PROFILE …]

Installs what is missing into the kit folder (from npm and PyPI; Debian's packages have to be there already), runs each
case by the runner's own command and by ours, runs each failing name again alone, and writes PROFILE/CASE.toml.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from sandbox.backends.unconfined import Unconfined
from sandbox.fs.workspace_tree import Tree
from sandbox.process.command import Command, Completed
from tests.runners.recordings import FOLDER, Case, Profile, place_files, read_profiles
from tools.core.artifacts import Artifacts
from tools.core.text import strip_terminal_codes
from tools.core.tool_folders import ToolFolders
from tools.core.tool_settings import TestSettings, ToolSettings
from tools.core.workspace import Workspace
from tools.testing.report import TestReport
from tools.testing.selection import INSIDE
from tools.testing.suite_run import run_project

MOST_AGAIN = 4
"""Failing names of a case that are run again."""

KEPT_FILES = re.compile(r"(surefire-reports|test-results|testlogs)/.*\.(xml|txt)$")
"""Files below the project that our parsers read after a run."""


class RecordingSandbox:
    """A sandbox that keeps the output and the report files of each run but those of questions to interpreters."""

    name = "recording"
    warning = ""

    def __init__(self, root: Path) -> None:
        self._inner = Unconfined(root)
        self.root = root
        self.runs: list[dict[str, Any]] = []

    async def run(self, command: Command, on_output: Callable[[bytes], None] | None = None) -> Completed:
        """Run the command and record it."""
        done = await self._inner.run(command, on_output)
        if (command.argv[1:2] == ("-c",) and "answer" in command.argv[2]) or command.argv[1:] == (
            "--version",
        ):
            return done
        reports = command.writable[0]
        self.runs.append(
            {
                "exit": done.returncode,
                "output": done.stdout.text(),
                "reports": _read_files(reports, lambda _: True),
                "files": _read_files(self.root, KEPT_FILES.search),
                "folder": str(reports),
            }
        )
        return done


def _read_files(folder: Path, is_kept: Callable[[str], object]) -> dict[str, str]:
    found: dict[str, str] = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in ("node_modules", ".git", "build")]
        for name in sorted(names):
            relative = str(Path(place, name).relative_to(folder))
            if is_kept(relative):
                found[relative] = Path(place, name).read_text("utf-8", "replace")
    return found


def install(profile: Profile, kit: Path) -> Path:
    """Install a profile's packages where they are missing. Returns its folder in the kit."""
    folder = kit / profile.kit
    if folder.is_dir():
        return folder
    folder.mkdir(parents=True)
    for registry, names in profile.install.items():
        if registry == "npm":
            (folder / "package.json").write_text('{"private": true}')
            _call(("npm", "install", "--no-audit", "--no-fund", "--loglevel=error", *names), folder)
        elif registry == "pypi":
            _call((sys.executable, "-m", "venv", str(folder)), kit)
            _call((str(folder / "bin/python"), "-m", "pip", "install", "-q", *names), folder)
    return folder


def _call(argv: Sequence[str], folder: Path) -> None:
    subprocess.run(argv, cwd=folder, check=True, stdin=subprocess.DEVNULL)


@contextmanager
def enter_kit(profile: Profile, folder: Path) -> Iterator[None]:
    """Put a profile's programs on the PATH."""
    before = dict(os.environ)
    os.environ.update(profile.env)
    bins = [str(each) for each in (folder / "node_modules/.bin", folder / "bin") if each.is_dir()]
    os.environ["PATH"] = os.pathsep.join((*bins, before["PATH"]))
    os.environ.pop("VIRTUAL_ENV", None)
    if (folder / "bin/python").exists():
        os.environ["VIRTUAL_ENV"] = str(folder)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def open_project(case: Case, kit: Path) -> Iterator[tuple[Workspace, RecordingSandbox]]:
    """Create the project of a case in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="runner-") as name:
        root = Path(name) / "work"
        place_files(root, case.files)
        if (kit / "node_modules").is_dir():
            (root / "node_modules").symlink_to(kit / "node_modules")
        sandbox = RecordingSandbox(root)
        yield (
            Workspace(
                root=root,
                files=Tree(root),
                sandbox=sandbox,
                artifacts=Artifacts(Path(name) / "artifacts"),
                journal=Path(name) / "journal",
                folders=ToolFolders(cache=kit / ".cache"),  # builds of Go's own packages take minutes
                settings=ToolSettings(tests=TestSettings(timeout=170)),
            ),
            sandbox,
        )


def record_case(profile: Profile, name: str, kit: Path) -> dict[str, Any]:
    """Run a case by the runner's own command and by ours, and return the recording."""
    case = profile.cases[name]
    with open_project(case, kit) as (at, sandbox):
        native = subprocess.run(
            ("bash", "-c", profile.native),
            cwd=at.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=240,
            env={**os.environ, "CI": "true", "NO_COLOR": "1"},
            check=False,
        )
        said = strip_terminal_codes(native.stdout.decode("utf-8", "replace"))
    with open_project(case, kit) as (at, sandbox):
        report = asyncio.run(run_project(at, ()))
        trim = _make_trimmer(at, kit)
        runs = [_trim_run(run, trim) for run in sandbox.runs]
        failing = [_run_again(at, each.id, trim) for each in report.failures[:MOST_AGAIN]]
    closing = "; ".join(" ".join(match[0].split()) for match in re.finditer(profile.says, said, re.M))
    return {
        "version": _ask_version(profile, kit),
        "their_exit": native.returncode,
        "their_words": trim(closing),
        "command": _trim_python(trim(report.command)),
        "verdict": report.outcome,
        "counts": [report.passed, report.failed, report.errors, report.skipped],
        "runs": runs,
        "failing": failing,
    }


def _make_trimmer(at: Workspace, kit: Path) -> Callable[[str], str]:
    """Return a function that replaces this machine's folders in a text."""
    words = {
        str(at.root): "{root}",
        str(at.root.parent): "{temp}",
        str(kit / "bin/python"): "{python}",
        str(kit): "{kit}",
        str(kit.resolve()): "{kit}",
        sys.base_prefix: "{prefix}",
        str(Path.home()): "{home}",
    }

    def trim(text: str) -> str:
        for place, word in words.items():
            text = text.replace(place, word)
        return re.sub(r"/tmp/runner-\w+/work", "{root}", text)

    return trim


def _trim_python(command: str) -> str:
    """Replace the path of an interpreter, which is this machine's."""
    return re.sub(r"(?<!\S)/\S+/python[\d.]*(?= )", "{python}", command)


def _trim_run(run: Mapping[str, Any], trim: Callable[[str], str]) -> dict[str, Any]:
    def shorten(text: str) -> str:
        return trim(text.replace(run["folder"], "{reports}"))

    kept: dict[str, Any] = {"exit": run["exit"], "output": shorten(run["output"])}
    for key in ("reports", "files"):
        if run[key]:
            kept[key] = {name: shorten(text) for name, text in run[key].items()}
    return kept


def _run_again(at: Workspace, name: str, trim: Callable[[str], str]) -> dict[str, Any]:
    """Run one failing test, or file, by its name; it is alone if it is all that ran, and fails again."""
    report: TestReport = asyncio.run(run_project(at, (name,)))
    ran = report.passed + report.failed + report.errors
    same = {each.id for each in report.failures} == {name}
    inside = bool(report.passed_tests) and all(
        each.startswith((f"{name}/", f"{name}{INSIDE}")) for each in report.passed_tests
    )
    alone = same and (inside or report.collected - report.skipped <= 1 or (at.root / name).is_file())
    told = "" if alone else f"{report.outcome}, ran {ran}: {', '.join(each.id for each in report.failures)}"
    return {"id": name, "command": _trim_python(trim(report.command)), "alone": alone, "instead": trim(told)}


def _ask_version(profile: Profile, kit: Path) -> str:
    done = subprocess.run(
        ("bash", "-c", profile.version),
        cwd=kit,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    found = re.search(r"\d+(?:\.\d+)+\S*", done.stdout + done.stderr)
    return found[0].rstrip(",)\"'") if found else "?"


def format_toml(recording: Mapping[str, Any]) -> str:
    """Format a recording; texts of several lines are kept readable."""
    lines = [
        f"{key} = {_format_value(recording[key])}" for key in recording if key not in ("runs", "failing")
    ]
    for run in recording["runs"]:
        lines += ["", "[[runs]]", f"exit = {run['exit']}", f"output = {_format_value(run['output'])}"]
        for key in ("reports", "files"):
            if key in run:
                lines += [
                    f"[runs.{key}]",
                    *(f"{json.dumps(n)} = {_format_value(t)}" for n, t in run[key].items()),
                ]
    for each in recording["failing"]:
        lines += [
            "",
            "[[failing]]",
            *(f"{key} = {_format_value(value)}" for key, value in each.items() if value != ""),
        ]
    return "\n".join(lines) + "\n"


def _format_value(value: object) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    escaped = re.sub(
        r'[\x00-\x08\x0b-\x1f\x7f"\\]',
        lambda each: {'"': '\\"', "\\": "\\\\"}.get(each[0], f"\\u{ord(each[0]):04x}"),
        value,
    )
    if "\n" not in value:
        return f'"{escaped.replace(chr(9), chr(92) + "t")}"'
    return '"""\n' + escaped.replace('\\"', '"').replace('"""', '""\\"') + '"""'


def main() -> None:
    """Record the named profiles, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kit", type=Path, required=True)
    parser.add_argument("--case", default="")
    parser.add_argument("--new", action="store_true", help="only what is not recorded yet")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["PATCHWRIGHT_HOME"] = home
        for name, profile in read_profiles().items():
            if options.names and name not in options.names:
                continue
            try:
                kit = install(profile, options.kit.resolve())
            except (OSError, subprocess.CalledProcessError) as error:
                print(f"{name}: not installed: {error}")
                continue
            with enter_kit(profile, kit):
                for case in profile.cases:
                    path = FOLDER / name / f"{case}.toml"
                    if options.case in ("", case) and not (options.new and path.exists()):
                        _record(profile, case, kit, path)


def _record(profile: Profile, case: str, kit: Path, path: Path) -> None:
    try:
        found = record_case(profile, case, kit)
    except subprocess.TimeoutExpired as error:
        print(f"{profile.name} {case}: {error}")
        return
    path.parent.mkdir(exist_ok=True)
    path.write_text(format_toml(found), "utf-8")
    right = profile.cases[case]
    marks = [
        ""
        if found["verdict"] in right.verdicts
        else f"VERDICT {found['verdict']}, not {' or '.join(right.verdicts)}",
        ""
        if not right.counts or tuple(found["counts"]) == right.counts
        else f"COUNTS {found['counts']}, not {list(right.counts)}",
        *(f"AGAIN {each['id']!r}: {each['instead']}" for each in found["failing"] if not each["alone"]),
    ]
    said = f"exit {found['their_exit']} {found['their_words'][:150]!r}"
    print(
        f"{profile.name} {found['version']} {case}: {said} → {found['verdict']} {found['counts']}",
        *filter(None, marks),
        sep="\n    ",
        flush=True,
    )


if __name__ == "__main__":
    main()
