"""A program in place of votes, where all files need the same change (code-driven planning).

It is trusted only as far as it was checked: on the files that were decided by votes it has to give the same results,
and in every other one the user's check has to pass after it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field

from agent.turn.runtime import Runtime
from packages.search.microsteps.answers import compute_key
from packages.search.microsteps.step_actions import run_script
from sandbox.fs.text_file import BinaryFile, NotInEncoding, decode_text, encode_text
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

MOST_SHOWN = 12_000
"""Characters of files that the model sees to write the program."""

BATCH = 4_000_000
"""Bytes of files given to one run of it."""

_FENCE = compile_lazily(r"^```(?:python|py)?[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)


def read_script(reply: str) -> str:
    """Return the program in a reply, "" if it offers none."""
    found = _FENCE.findall(reply)
    return found[0] if len(found) == 1 and "def transform(" in found[0] else ""


def choose_examples(files: Sequence[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """Return the files that the model sees: the first ones that fit."""
    chosen: list[tuple[str, bytes]] = []
    left = MOST_SHOWN
    for path, content in files:
        if len(content) <= left:
            chosen.append((path, content))
            left -= len(content)
    return chosen


@dataclass(slots=True, kw_only=True)
class Transformation:
    """Results of a program. contents: by path, what it makes of each file; problem: why it is not used"""

    contents: dict[str, bytes] = field(default_factory=dict)
    problem: str = ""

    @classmethod
    async def from_script(cls, runtime: Runtime, script: str, files: Mapping[str, bytes]) -> Transformation:
        """Run the program over files, in the sandbox."""
        found = cls()
        batch: dict[str, str] = {}
        size = 0
        for path, content in files.items():
            batch[path] = decode_text(content).text
            size += len(content)
            if size >= BATCH:
                await found._run_batch(runtime, script, batch, files)
                batch, size = {}, 0
        if batch and not found.problem:
            await found._run_batch(runtime, script, batch, files)
        return found

    async def _run_batch(
        self, runtime: Runtime, script: str, batch: dict[str, str], files: Mapping[str, bytes]
    ) -> None:
        made = await run_script(runtime.workspace, script, batch)
        if isinstance(made, str):
            self.problem = made
            return
        for path, text in made.items():
            try:
                self.contents[path] = encode_text(text, decode_text(files[path]))
            except (NotInEncoding, BinaryFile, UnicodeEncodeError) as error:
                self.problem = f"{path}: {error}"

    def compare(self, path: str, before: bytes, voted: bytes) -> None:
        """Note a file for which the program makes another change than the votes."""
        made = self.contents.get(path)
        if made is None or compute_key(path, before, made) != compute_key(path, before, voted):
            self.problem = self.problem or f"it differs from the votes in {path}"
