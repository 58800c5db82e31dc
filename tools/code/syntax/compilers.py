"""The project's own compilers and interpreters as witnesses of a changed text's syntax.

They are asked only about what a grammar does not understand, read-only in the sandbox, and never without one: an
interpreter in a virtual environment is a file of the repository.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass
from tools.code.syntax.compiler_table import COMPILERS, ENVIRONMENT, Compiler
from tools.code.syntax.newer_constructs import Version, may_be_newer
from tools.code.syntax.syntax_problem import Judgement, Problem, is_known

if TYPE_CHECKING:
    from sandbox.process.command import Completed, Sandbox

TIMEOUT = 5.0
"""Seconds for one start: node takes 0.05, javac half a second, the shim of a version manager 0.3 more."""

TOTAL_SECONDS = 20.0
"""Seconds for all questions about a change: of many files that no grammar understands only the first are judged."""

MAX_OUTPUT = 1 << 16
MAX_MESSAGE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """A compiler's answer. program: its path; version: empty if unknown; problem: None if it accepts the text"""

    program: str
    version: Version
    problem: Problem | None


class Compilers:
    """The compilers of one project, for one change. Blocking; not to be used in a thread that runs an event loop.

    sandbox: creates what confines them; called at the first question
    """

    def __init__(self, root: Path, sandbox: Callable[[], Sandbox]) -> None:
        self._root = root
        self._create_sandbox = sandbox
        self._sandbox: Sandbox | None = None
        self._seconds_left = TOTAL_SECONDS

    def can_judge(self, path: str, text: str) -> bool:
        """Return whether there is a compiler for a file; nothing is run."""
        compiler = _find_compiler(path, text)
        return compiler is not None and next(self._list_programs(compiler), None) is not None

    def judge_change(self, path: str, before: str | None, after: str) -> Judgement | None:
        """Return what the compiler of a file's language says of `after`; None if it proves nothing.

        Its refusal proves nothing if it refused `before` for the same reason, if the project asks for a later version,
        or if a construct of a later version is near (an interpreter in the project's own environment excepted).
        """
        compiler = _find_compiler(path, after)
        if compiler is None or (answer := self._ask(compiler, after)) is None:
            return None
        if answer.problem is None:
            return Judgement(problem=None)
        if not self._is_certain(compiler, answer, path, before, after):
            return None
        if before is not None:
            old = self._ask(compiler, before)
            if old is None or (old.problem and is_known(before, old.problem, after, answer.problem)):
                return None
        return Judgement(problem=answer.problem)

    def _is_certain(
        self, compiler: Compiler, answer: _Answer, path: str, before: str | None, after: str
    ) -> bool:
        assert answer.problem is not None
        if self._is_own(answer.program):
            return True
        wanted = self._read_declared_version(compiler, path)
        if not wanted and not may_be_newer(compiler.language, (), answer.problem, before, after):
            return True  # whatever its version is
        version = answer.version or self._read_version(compiler)
        if version < wanted:
            return False
        return not may_be_newer(compiler.language, version, answer.problem, before, after)

    def _ask(self, compiler: Compiler, text: str) -> _Answer | None:
        """Return the answer of the first program that gives one."""
        source = text.encode("utf-8", "replace")
        answers = (self._ask_program(compiler, each, source) for each in self._list_programs(compiler))
        return next((each for each in answers if each is not None), None)

    def _ask_program(self, compiler: Compiler, program: str, source: bytes) -> _Answer | None:
        refusals: list[tuple[int, str]] = []
        version: Version = ()
        for form in compiler.forms:
            done = self._run((*compiler.wrapper, program, *form), source)
            if done is None or done.ended != "exited" or done.stdout.omitted_bytes:
                return None
            output = done.stdout.text()
            if not compiler.version:
                version = _parse_version(output)
            if done.returncode == 0:
                return _Answer(program=program, version=version, problem=None)
            found = re.search(compiler.complaint, output)
            if found is None:
                return None
            refusals.append((int(found["line"]), found["message"].strip()[:MAX_MESSAGE]))
        # The form that the text is in is the one in which most of it was read.
        line, message = max(refusals, key=lambda each: each[0])
        return _Answer(program=program, version=version, problem=Problem(line=line, message=message))

    def _run(self, argv: tuple[str, ...], source: bytes = b"") -> Completed | None:
        """Run a program; None where nothing confines it, it cannot be started, or the time is over."""
        import asyncio

        from sandbox.process.command import Command, Limits

        if self._seconds_left <= 0:
            return None
        if self._sandbox is None:
            self._sandbox = self._create_sandbox()
        if self._sandbox.name == "unconfined":
            return None
        command = Command(
            argv=argv,
            cwd=self._root,
            env=ENVIRONMENT,
            stdin=source,
            timeout=min(TIMEOUT, self._seconds_left),
            scope="read-only",
            limits=Limits(memory=2 << 30, processes=256, open_files=256),
            whole=MAX_OUTPUT,
        )
        try:
            done = asyncio.run(self._sandbox.run(command))
        except UserError:  # the sandbox does not show it, or it is no program
            return None
        self._seconds_left -= done.duration
        return done

    def _list_programs(self, compiler: Compiler) -> Iterator[str]:
        if compiler.program == "python":
            from tools.testing.python import list_interpreter_paths

            yield from list_interpreter_paths(self._root)
        elif found := _find_program(compiler.program):
            yield found

    def _is_own(self, program: str) -> bool:
        """Return whether a program is in the project, or in the virtual environment that is active."""
        places = (str(self._root), os.environ.get("VIRTUAL_ENV", ""))
        return any(each and Path(program).is_relative_to(each) for each in places)

    def _read_version(self, compiler: Compiler) -> Version:
        program = _find_program(compiler.version[0]) if compiler.version else ""
        done = self._run((program, *compiler.version[1:])) if program else None
        return _parse_version(done.stdout.text()) if done is not None and done.returncode == 0 else ()

    def _read_declared_version(self, compiler: Compiler, path: str) -> Version:
        """Return the version that the nearest folder with a declaration asks for; empty if there is none."""
        from sandbox.fs.regular_file import MANIFEST, read_regular_text

        folder = (self._root / path).parent
        for place in (folder, *folder.parents):
            if place != self._root and self._root not in place.parents:
                break
            for name, pattern in compiler.declared.items():
                text = read_regular_text(place / name, MANIFEST, "replace")
                if text and (found := re.search(pattern, text, re.MULTILINE)):
                    return _parse_version(found[1])
        return ()


def _find_compiler(path: str, text: str) -> Compiler | None:
    from tools.code.languages import match_languages

    names = {each.name for each in match_languages(path)}
    for each in COMPILERS:
        if each.language in names and (not each.suffixes or path.lower().endswith(each.suffixes)):
            return None if each.foreign and re.search(each.foreign, text) else each
    return None


def _find_program(name: str) -> str:
    """Return the path of a program that the user has, "" if there is none."""
    return _find_on_path(name, os.environ.get("PATH"))


@cache
def _find_on_path(name: str, path: str | None) -> str:
    """Return the path of a program. Looked for once: an edit would ask for it each time, at the cost of its parse."""
    import shutil

    found = shutil.which(name, path=path)
    return str(Path(found).absolute()) if found else ""


def _parse_version(text: str) -> Version:
    found = re.search(r"(\d+)(?:\.(\d+))?", text)
    return tuple(int(each) for each in found.groups() if each) if found else ()
