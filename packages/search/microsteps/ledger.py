"""The ledger of a migration: every vote and every step, on disk, so that a killed one goes on where it was.

One line of JSON a record, synced before the next thing happens; the contents of files stand beside it, by their hash.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from sandbox.errors import Fault, UserError
from sandbox.fs.private_files import create_private_folder, open_private, write_private_file
from sandbox.lazy_dataclass import dataclass
from sandbox.parsed_data import parse_json

Outcome = Literal["changed", "unchanged", "failed"]


@dataclass(slots=True, kw_only=True)
class StepRecord:
    """What the ledger knows of one file.

    before: hash of the content that the votes are about
    votes: keys of the answers, None for malformed ones; contents: how often each content was given, by key
    decided: hash of the winner's content; outcome: of a finished step; reason: why it failed; by: votes or a script
    """

    before: str = ""
    votes: list[str | None] = field(default_factory=list)
    contents: dict[str, dict[str, int]] = field(default_factory=dict)
    decided: str = ""
    outcome: Outcome | None = None
    reason: str = ""
    by: str = "votes"

    @property
    def expected(self) -> set[str]:
        """Hashes of the contents that the file may have: with another one somebody has changed it, or undone."""
        return {self.decided} if self.outcome == "changed" else {self.before, self.decided}

    def choose_content(self, key: str) -> str:
        """Return the hash of the content that was given most often among the answers with this key."""
        counts = self.contents[key]
        return max(counts, key=lambda name: (counts[name], name))


class Ledger:
    """Records of one migration. Use as a context: one process has it at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / "ledger.jsonl"
        self._file: int = -1
        self.steps: dict[str, StepRecord] = {}
        self.facts: dict[str, Any] = {}
        self.usage: dict[str, float] = {}

    @classmethod
    def locate(cls, project: Path, *identity: str) -> Ledger:
        """Return the ledger of the migration with this identity (instruction, files, check, model)."""
        digest = sha256(json.dumps(identity).encode()).hexdigest()[:16]
        return cls(project / "migrations" / digest)

    def __enter__(self) -> Ledger:
        create_private_folder(self._folder)
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            raise UserError(
                Fault.USAGE, "this migration is running already", "Wait until it has ended, or stop it."
            ) from None
        for record in self._read_records():
            self._apply(record)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def clear(self) -> None:
        """Forget everything: the migration begins anew."""
        os.ftruncate(self._file, 0)
        self.steps.clear()
        self.facts.clear()
        self.usage.clear()

    def get_step(self, path: str, before: bytes) -> StepRecord:
        """Return the record of a file with this content; votes about another content do not count."""
        name = _hash(before)
        found = self.steps.get(path)
        if found is None or name not in found.expected:
            self.add("step", path=path, before=name)
        return self.steps[path]

    def add(self, kind: str, **fields: Any) -> None:
        """Append a record, and apply it."""
        record = {"kind": kind, **fields}
        line = json.dumps(record, ensure_ascii=True).encode() + b"\n"
        os.write(self._file, line)
        os.fsync(self._file)
        self._apply(record)

    def set_fact(self, name: str, value: Any) -> None:
        """Record something about the whole migration."""
        self.add("fact", name=name, value=value)

    def save_content(self, content: bytes) -> str:
        """Store a file's content; return its hash."""
        name = _hash(content)
        path = self._folder / name
        if not path.exists():
            temporary = self._folder / f"{name}.tmp"
            write_private_file(temporary, content)
            temporary.rename(path)
        return name

    def read_content(self, name: str) -> bytes:
        """Return a stored content. Raises FileNotFoundError."""
        with open(self._folder / name, "rb", opener=open_private) as file:
            return file.read()

    def _read_records(self) -> Iterator[Mapping[str, Any]]:
        with open(self._path, "rb", opener=open_private) as file:
            content = file.read()
        end = content.rfind(b"\n") + 1
        if end < len(content):  # a kill cut the last line off
            os.ftruncate(self._file, end)
        for line in content[:end].splitlines():
            try:
                yield parse_json(line)
            except ValueError:
                raise UserError(
                    Fault.CONFIGURATION,
                    f"the ledger is damaged: {str(self._path)!r}",
                    "Begin anew: --restart",
                ) from None

    def _apply(self, record: Mapping[str, Any]) -> None:
        match record:
            case {"kind": "step", "path": path, "before": before}:
                self.steps[path] = StepRecord(before=before)
            case {"kind": "vote", "path": path, "key": key}:
                step = self.steps[path]
                step.votes.append(key)
                if key is not None:
                    counts = step.contents.setdefault(key, {})
                    counts[record["content"]] = counts.get(record["content"], 0) + 1
                self._add_usage(record.get("usage", {}))
            case {"kind": "decided", "path": path, "content": content}:
                self.steps[path].decided = content
                self.steps[path].by = record.get("by", "votes")
            case {"kind": "done", "path": path, "outcome": outcome}:
                self.steps[path].outcome = outcome
                self.steps[path].reason = record.get("reason", "")
            case {"kind": "usage", "usage": usage}:
                self._add_usage(usage)
            case {"kind": "fact", "name": name, "value": value}:
                self.facts[name] = value

    def _add_usage(self, usage: Mapping[str, Any]) -> None:
        for name, value in usage.items():
            if isinstance(value, int | float):
                self.usage[name] = self.usage.get(name, 0) + value


def _hash(content: bytes) -> str:
    return sha256(content).hexdigest()[:32]


__all__ = ["Ledger", "Outcome", "StepRecord"]
