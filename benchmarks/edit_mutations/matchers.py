"""What is compared: our engine, the plain ways, and other agents' own code in their own interpreters."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from benchmarks.edit_mutations.catalogue import Case, Form
from sandbox.fs.text_file import decode_text, encode_text
from tools.edit.apply import edit_engine
from tools.edit.apply.edit_engine import edit_text
from tools.edit.apply.line_endings import create_origins
from tools.edit.decide import decision
from tools.edit.edit_model import Edit, Hunk, Replace
from tools.edit.match import anchors
from tools.edit.match.matchers import Source
from tools.edit.refusal import EditRefused

WORKER = Path(__file__).with_name("worker.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The file's new content, or why there is none; and the seconds that the matcher itself took."""

    content: bytes | None
    why: str = ""
    seconds: float = 0.0


class Matcher(Protocol):
    """Something that applies an edit of one form to a file, or refuses."""

    @property
    def name(self) -> str: ...

    @property
    def forms(self) -> Sequence[Form]: ...

    @property
    def by_line(self) -> bool:
        """Old and new are whole lines to it, not parts of a text."""

    def answer(self, case: Case) -> Answer: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ours:
    """Patchwright's engine, with reading and writing as its tools do it."""

    name: str = "patchwright"
    forms: Sequence[Form] = ("block", "patch", "diff")
    by_line: bool = True

    def answer(self, case: Case) -> Answer:
        started = time.perf_counter()
        try:
            content = _written(case, edit(case))
        except EditRefused as error:
            return Answer(content=None, why=str(error), seconds=time.perf_counter() - started)
        return Answer(content=content, seconds=time.perf_counter() - started)

    def close(self) -> None:
        """Nothing is held."""


def hurry() -> None:
    """From now on our engine keeps how it sees a text, since many edits of the same one follow each other, and what
    refuses an edit names no nearest place. What it answers is the same."""
    edit_engine.Source = lru_cache(8)(Source)  # type: ignore[misc, assignment]
    decision.format_not_found = _in_short
    anchors._measure_likeness = lru_cache(400_000)(anchors._measure_likeness)


def _in_short(source: Source, old: str) -> str:
    return "not found"


def _written(case: Case, change: Edit) -> bytes:
    """The file's new content, as our tools write it. Raises EditRefused."""
    file = decode_text(case.before)
    origins = create_origins(file.text) if file.exceptions else None
    result = edit_text(file.text, [change], path=case.draft.source.path, origins=origins)
    return encode_text(result.text, file, result.origins)


def edit(case: Case) -> Edit:
    """The case as our engine takes it."""
    if case.form == "block":
        return Replace(old=unix(case.draft.old()), new=unix(case.draft.new()), whole_lines=True)
    return Hunk(
        lines=case.draft.given, heads=(case.head,) if case.head else (), start=case.line, counted=case.counted
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OursInLine:
    """Patchwright's engine where the old text need not be whole lines: the `edit` tool."""

    name: str = "patchwright, edit"
    forms: Sequence[Form] = ("block",)
    by_line: bool = False

    def answer(self, case: Case) -> Answer:
        old, new = spliced(case)
        started = time.perf_counter()
        try:
            content = _written(case, Replace(old=unix(old), new=unix(new)))
        except EditRefused as error:
            return Answer(content=None, why=str(error), seconds=time.perf_counter() - started)
        return Answer(content=content, seconds=time.perf_counter() - started)

    def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strict:
    """The old text must stand in the file once, to the letter: the floor of all."""

    name: str = "exact, once"
    forms: Sequence[Form] = ("block",)
    by_line: bool = False

    def answer(self, case: Case) -> Answer:
        old, new = spliced(case)
        file = decode_text(case.before)
        started = time.perf_counter()
        places = file.text.count(old)
        made = file.text.replace(old, new) if places == 1 else None
        seconds = time.perf_counter() - started
        if made is None:
            return Answer(content=None, why=f"{places} places", seconds=seconds)
        return Answer(content=encode_text(made, file), seconds=seconds)

    def close(self) -> None:
        """Nothing is held."""


def unix(text: str) -> str:
    """With a newline for any line ending, as our tools hand text to the engine."""
    return text.replace("\r\n", "\n")


def spliced(case: Case) -> tuple[str, str]:
    """Old and new as arguments of a tool: without the last line ending, unless whole lines are to go, or one blank line
    is to come, of which nothing would be left."""
    old, new = case.draft.old(), case.draft.new()
    return (old.removesuffix("\n"), new.removesuffix("\n")) if unix(new) not in ("", "\n") else (old, new)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program that applies a patch to the files of a folder, or fails."""

    name: str
    forms: Sequence[Form]
    argv: Sequence[str]
    by_line: bool = True
    on_stdin: bool = False
    folder: tempfile.TemporaryDirectory[str] = field(default_factory=tempfile.TemporaryDirectory)

    def answer(self, case: Case) -> Answer:
        file = Path(self.folder.name) / "file.txt"
        file.write_bytes(case.before)
        sent = case.sent.replace(case.draft.source.path, file.name)
        if case.draft.source.newline == "\r\n" and self.on_stdin:
            sent = sent.replace("\n", "\r\n")  # it takes them from the patch
        words = [*self.argv] if self.on_stdin else [*self.argv, sent]
        started = time.perf_counter()
        done = subprocess.run(
            words, cwd=self.folder.name, input=sent.encode() if self.on_stdin else b"", capture_output=True
        )
        seconds = time.perf_counter() - started
        if done.returncode:
            return Answer(content=None, why=done.stderr.decode(errors="replace"), seconds=seconds)
        return Answer(content=file.read_bytes(), seconds=seconds)

    def close(self) -> None:
        self.folder.cleanup()


@dataclass(slots=True, kw_only=True)
class Peer:
    """Another agent's own functions, in its own interpreter: a process that is asked line by line."""

    name: str
    forms: Sequence[Form]
    by_line: bool
    process: subprocess.Popen[bytes]

    def answer(self, case: Case) -> Answer:
        old, new = spliced(case)
        asked = {
            "matcher": self.name,
            "content": case.before.decode(),
            "old": case.draft.old(),
            "new": case.draft.new(),
            "old_spliced": old,
            "new_spliced": new,
            "sent": case.sent,
            "path": case.draft.source.path,
        }
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(asked).encode() + b"\n")
        stdin.flush()
        said = json.loads(stdout.readline())
        content = said["content"]
        return Answer(
            content=None if content is None else content.encode(errors="surrogatepass"),
            why=said["why"],
            seconds=said["seconds"],
        )

    def close(self) -> None:
        if self.process.poll() is None:
            assert self.process.stdin is not None
            self.process.stdin.close()
            self.process.wait()


PEERS: dict[str, tuple[tuple[str, Form, bool], ...]] = {
    "aider": (
        ("aider, diff", "block", True),
        ("aider, patch", "patch", True),
        ("aider, udiff", "diff", True),
    ),
    "gptme": (("gptme", "block", False),),
    "openhands": (("openhands", "block", False),),
}
"""Worker by name; and the matchers that it answers for, the form of each and whether it goes by lines."""


def peers(name: str, program: str) -> list[Matcher]:
    """The matchers of another agent: of its interpreter, or of its own program."""
    if name == "codex":
        return [Program(name="codex", forms=("patch",), argv=(program, "--codex-run-as-apply-patch"))]
    if name == "git":
        return [git_apply(program)]
    process = subprocess.Popen(
        [program, "-I", str(WORKER), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    return [
        Peer(name=each, forms=(form,), by_line=by_line, process=process)
        for each, form, by_line in PEERS[name]
    ]


def git_apply(program: str) -> Matcher:
    """`git apply`, which looks near the line numbers and takes nothing but the letter."""
    argv = (program, "apply", "--unidiff-zero", "-")
    return Program(name="git apply", forms=("diff",), argv=argv, on_stdin=True)
