"""How a small real model does on twenty small bugs: alone, the engine without a model, and both together.

    python -m benchmarks.small_models [--folder FOLDER] [--limit SECONDS] [--ways alone,engine,both] [--record FILE]
        [NAME…]

Needs the model of `python -m tests.support.small_model FOLDER`. Each bug is a repository of its own, given to
`patchwright run` as a new user would. Whether it is mended is judged here, by the tests as they were, in the sandbox.
With a record, each outcome is kept in a file, and what is in it already is not run again: a run can be broken off.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks._measure import COMMAND, environment
from benchmarks.small_models.bugs import BUGS, Bug
from sandbox.backends.selection import choose_sandbox
from sandbox.process.command import Command
from tests.support.small_model import get_folder, is_installed, serve

TARGETS = "targets: done is never said while tests fail; both mend more than the engine alone"
WAYS: Mapping[str, str] = {
    "alone": '[lead]\nwhen = "never"\nfallback = "never"\n',
    "engine": "",
    "both": '[lead]\nfallback = "always"\n',
}
_GRACE = 60.0
"""Seconds beyond the limit for the end of a run; a run that needs more is reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One run: exit code, whether the tests of the bug pass afterwards, seconds, and how it ended in its own words."""

    code: int
    mended: bool
    seconds: float
    said: str

    @property
    def false_done(self) -> bool:
        """Whether success was claimed while the tests fail."""
        return self.code == 0 and not self.mended


def run_bug(bug: Bug, way: str, model: Sequence[str], limit: float) -> Outcome:
    """Let one way work on one bug in a new repository."""
    with tempfile.TemporaryDirectory() as folder:
        root, home = Path(folder, "project"), Path(folder, "home")
        root.mkdir()
        settings = home / ".config/patchwright/settings.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(WAYS[way])
        write_project(root, bug)
        env = environment(home, OPENAI_API_KEY="none")
        name, email = ["config", "user.name", "A"], ["config", "user.email", "a@example.org"]
        for command in (["init", "-q"], name, email, ["add", "."], ["commit", "-qm", "Begin"]):
            subprocess.run(["git", *command], cwd=root, env=env, check=True)
        prompt = f"The tests fail. Fix {bug.name}.py."
        options = ["--model", "offline"] if way == "engine" else list(model)
        argv = [COMMAND, "run", *options, "--max-time", str(limit), "--output", "json", prompt]
        started = time.monotonic()
        try:
            done = subprocess.run(
                argv, cwd=root, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                timeout=limit + _GRACE,
            )  # fmt: skip
            code, said = done.returncode, _read_ending(done.stdout) or done.stderr.strip()[-200:]
        except subprocess.TimeoutExpired:
            code, said = -1, "not ended in time"
        seconds = time.monotonic() - started
        return Outcome(code=code, mended=judge(root, bug), seconds=seconds, said=said)


def write_project(root: Path, bug: Bug) -> None:
    """Write the program and its tests."""
    (root / f"{bug.name}.py").write_text(bug.code)
    (root / f"test_{bug.name}.py").write_text(f"from {bug.name} import *\n\n\n{bug.tests}")


def judge(root: Path, bug: Bug) -> bool:
    """Return whether the program passes the bug's tests as they were; it runs in the sandbox."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        write_project(place, bug)
        program = root / f"{bug.name}.py"
        if not program.is_file():
            return False
        (place / program.name).write_bytes(program.read_bytes())
        return _run_confined([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], place)


def _run_confined(argv: Sequence[str], place: Path) -> bool:
    command = Command(argv=tuple(argv), cwd=place.resolve(), timeout=60.0)
    return asyncio.run(choose_sandbox(place.resolve()).run(command)).returncode == 0


def _read_ending(output: str) -> str:
    try:
        result = json.loads(output)
    except ValueError:
        return ""
    return str(result.get("outcome") or result.get("error") or "")


class Record:
    """Outcomes by way and bug, in a file of JSON lines; without a file nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: dict[tuple[str, str], Outcome] = {}
        lines = path.read_text().splitlines() if path is not None and path.exists() else []
        for line in lines:
            entry = json.loads(line)
            key = (entry.pop("way"), entry.pop("bug"))
            self._known[key] = Outcome(**entry)

    def find(self, way: str, bug: Bug) -> Outcome | None:
        """Return the outcome of an earlier run."""
        return self._known.get((way, bug.name))

    def add(self, way: str, bug: Bug, outcome: Outcome) -> None:
        """Keep an outcome."""
        if self._path is not None:
            with self._path.open("a") as file:
                file.write(json.dumps({"way": way, "bug": bug.name, **asdict(outcome)}) + "\n")


def run_way(way: str, bugs: Sequence[Bug], model: Sequence[str], limit: float, record: Record) -> None:
    """Run one way on every bug; print a row for each, and the sums."""
    print(f"\n{way}:")
    outcomes: list[Outcome] = []
    for bug in bugs:
        known = record.find(way, bug)
        each = known or run_bug(bug, way, model, limit)
        if known is None:
            record.add(way, bug, each)
        outcomes.append(each)
        word = "FALSE DONE" if each.false_done else "mended" if each.mended else "not mended"
        print(
            f"  {bug.name:12} exit {each.code:2}  {each.seconds:6.1f} s  {word:10}  {each.said}", flush=True
        )
    false = sum(each.false_done for each in outcomes)
    mended = sum(each.mended for each in outcomes)
    seconds = sum(each.seconds for each in outcomes)
    print(f"  {mended} of {len(outcomes)} mended, done said {false} times while tests fail, {seconds:.0f} s")


def main() -> None:
    """Run the ways one after another, and print what came of each bug."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--folder", type=Path, default=get_folder(), help="where the model is installed")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for a bug")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--record", type=Path, help="file of outcomes, with which a run goes on")
    parser.add_argument("names", nargs="*", help="bugs; all if none is named")
    options = parser.parse_args()
    if options.ways != "engine" and not is_installed(options.folder):
        raise SystemExit(
            f"python -m tests.support.small_model {options.folder} installs the model; it is not there"
        )
    bugs = [bug for bug in BUGS if not options.names or bug.name in options.names]
    record = Record(options.record)
    print(TARGETS)
    for way in options.ways.split(","):
        with ExitStack() as stack:
            model: Sequence[str] = ()
            if way != "engine":
                name, base = stack.enter_context(serve(options.folder))
                model = ("--model", name, "--api-base", base)
            run_way(way, bugs, model, options.limit, record)


if __name__ == "__main__":
    main()
