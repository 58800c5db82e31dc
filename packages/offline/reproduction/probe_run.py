"""Runs of drafts and of finished scripts in the sandbox, under the project's own Python. Nothing runs unconfined."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from pydantic import ValidationError

from packages.offline.reproduction.observation import RunFailed, RunSeen
from sandbox.errors import Fault, UserError
from sandbox.fs.untrusted_file import read_workspace_file
from sandbox.lazy_dataclass import dataclass
from sandbox.process.command import Command, Completed, Limits
from tools.core.workspace import Workspace
from tools.shell.environment import python_environment

PROBE = Path(__file__).parent / "probe" / "reproduction_probe.py"
LIMITS = Limits(memory=4 << 30, processes=256, file_size=64 << 20)
MOST_RESULT = 16 << 20
"""Bytes of a result that are read."""

SEEDS = ("0", "1", "2")
"""Hash seeds of the three runs: an order that comes from a set is no result."""

SKIPPED = {
    "test",
    "tests",
    "testing",
    "doc",
    "docs",
    "examples",
    "benchmarks",
    "bin",
    "scripts",
    "release",
    "utils",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Statements to run. known, letters, places: how names are defined that the statements lack"""

    statements: Sequence[str]
    setup: Sequence[str] = ()
    names: Sequence[str] = ()
    stars: Sequence[str] = ()
    known: Mapping[str, str] = field(default_factory=dict)
    letters: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, Sequence[str]] = field(default_factory=dict)
    mutant: tuple[str, str] | None = None


@dataclass(slots=True, kw_only=True)
class ProbeRunner:
    """Runs jobs in one project. python: its interpreter; runs: how many there were"""

    at: Workspace
    python: str
    packages: Sequence[str]
    timeout: float = 60.0
    runs: int = 0
    _compiled: Path | None = None

    def __post_init__(self) -> None:
        if self.at.sandbox.name == "unconfined":
            raise UserError(
                Fault.CONFIGURATION,
                "a report's code is not run without a sandbox, and this machine has none",
                "See patchwright doctor.",
            )

    async def run_job(self, job: Job, seed: str = "0") -> RunSeen:
        """Run a job once. Raises RunFailed."""
        folder = await asyncio.to_thread(self._make_folder)
        try:
            data = {
                "root": str(self.at.root),
                "paths": self._list_paths(),
                "packages": list(self.packages),
                "setup": list(job.setup),
                "statements": list(job.statements),
                "names": list(job.names),
                "stars": list(job.stars),
                "known": dict(job.known),
                "letters": dict(job.letters),
                "places": {name: list(each) for name, each in job.places.items()},
                "mutant": {"path": job.mutant[0], "text": job.mutant[1]} if job.mutant else None,
            }
            (folder / "job.json").write_text(json.dumps(data), "utf-8")
            done = await self._run(
                (str(PROBE), str(folder / "job.json"), str(folder / "result.json")), folder, seed
            )
            content = await asyncio.to_thread(read_workspace_file, folder, "result.json", MOST_RESULT)
            if content is None:
                raise RunFailed(_describe_end(done))
            return RunSeen.model_validate_json(content)
        except (ValidationError, UserError, OSError) as problem:
            raise RunFailed(str(problem)[:300]) from None
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def run_script(self, text: str) -> Completed:
        """Run a finished script as a program, in an empty folder."""
        folder = await asyncio.to_thread(self._make_folder)
        try:
            (folder / "test_reproduction.py").write_text(text, "utf-8")
            return await self._run((str(folder / "test_reproduction.py"),), folder, SEEDS[0])
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def _run(self, arguments: Sequence[str], folder: Path, seed: str) -> Completed:
        self.runs += 1
        if self._compiled is None:
            self._compiled = await asyncio.to_thread(self._make_folder)
        env = {
            **{key: value for key, value in python_environment().items() if key != "PYTHONDONTWRITEBYTECODE"},
            "PYTHONPYCACHEPREFIX": str(self._compiled),
            "PYTHONPATH": ":".join(self._list_paths()),
            "PYTHONHASHSEED": seed,
            "PYTHONIOENCODING": "utf-8",
            "MPLBACKEND": "Agg",
        }
        command = Command(
            argv=(self.python, *arguments),
            cwd=self.at.root,
            env=env,
            timeout=self.timeout,
            scope="read-only",
            readable=(PROBE.parent,),
            writable=(folder, self._compiled, *self._list_copies()),
            limits=LIMITS,
        )
        return await self.at.sandbox.run(command)

    async def close(self) -> None:
        """Remove the byte code: it is of no use once a source may have changed."""
        if self._compiled is not None:
            await asyncio.to_thread(shutil.rmtree, self._compiled, ignore_errors=True)
            self._compiled = None

    def _list_paths(self) -> list[str]:
        root = self.at.root
        return [str(each) for each in (root, root / "src", root / "lib") if each == root or each.is_dir()]

    def _list_copies(self) -> list[Path]:
        """Return the root if it is a copy of the project: commands run in the workspace, or where they may write."""
        return [self.at.root] if self.at.root.is_relative_to(self.at.folders.cache) else []

    def _make_folder(self) -> Path:
        self.at.folders.cache.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix="reproduction-", dir=self.at.folders.cache))


def find_packages(root: Path) -> list[str]:
    """Return the names of the project's importable packages and modules."""
    found = []
    for folder in (root, root / "src", root / "lib"):
        if not folder.is_dir():
            continue
        for entry in sorted(folder.iterdir()):
            name = entry.name.removesuffix(".py")
            if (
                not name.isidentifier()
                or name in SKIPPED
                or name.startswith(("test", "setup", "conftest", "_"))
            ):
                continue
            if (entry / "__init__.py").is_file() or (entry.suffix == ".py" and entry.is_file()):
                found.append(name)
    packages = [each for each in found if any((root / p / each).is_dir() for p in ("", "src", "lib"))]
    return packages or found


def _describe_end(done: Completed) -> str:
    if done.ended != "exited":
        return f"no end after {done.duration:.0f} s"
    text = done.stdout.text().strip().splitlines()
    return text[-1][:300] if text else f"the run ended with {done.returncode}"
