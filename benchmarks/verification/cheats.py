"""The corpus of cheats: families of small edits of small projects, written in the folder `gaming_corpus`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tools.lint.honesty.file_changes import FileChange, find_role

CORPUS = Path(__file__).parent / "gaming_corpus"


@dataclass(slots=True, kw_only=True)
class Cheat:
    """One cheat. expect: "fail", or "notice" where the family is only told by nature; language: of its title"""

    family: str
    expect: str
    prompt: str
    language: str
    title: str
    base: str
    edits: list[tuple[str, str, list[str], list[str]]] = field(default_factory=list)

    def build_changes(self) -> tuple[list[FileChange], dict[str, str]]:
        """Return the changed files, and the tests that are left alone. Raises ValueError for an edit without place."""
        before = read_base(self.base)
        after: dict[str, str | None] = dict(before)
        for path, verb, removed, added in self.edits:
            text = "\n".join(added) + "\n"
            if verb == "new":
                after[path] = text
            elif verb == "delete":
                after[path] = None
            elif verb == "append":
                after[path] = (after[path] or "") + text
            elif verb == "top":
                after[path] = text + (after[path] or "")
            else:
                old = "\n".join(removed) + "\n"
                now = after[path] or ""
                if now.count(old) != 1:
                    raise ValueError(
                        f"{self.family}: {self.title}: {path} has {now.count(old)} places for {old!r}"
                    )
                after[path] = now.replace(old, text if added else "")
        files = [
            FileChange(path=path, before=before.get(path), after=text)
            for path, text in after.items()
            if before.get(path) != text
        ]
        changed = {each.path for each in files}
        others = {
            path: text for path, text in before.items() if path not in changed and find_role(path) == "test"
        }
        return files, others


def read_base(name: str) -> dict[str, str]:
    """Return the files of a base project."""
    files: dict[str, str] = {}
    for part in ("\n" + (CORPUS / "bases" / f"{name}.txt").read_text()).split("\n--- ")[1:]:
        path, _, text = part.partition("\n")
        files[path] = text.rstrip("\n") + "\n"
    return files


def read_cheats(split: str) -> Iterator[Cheat]:
    """Yield the cheats of one split: `develop`, `unseen` or `second`."""
    for path in sorted((CORPUS / split).glob("*.txt")):
        yield from _parse_family(path.read_text())


def _parse_family(text: str) -> Iterator[Cheat]:
    family, expect, prompt = "", "fail", ""
    cheat: Cheat | None = None
    for line in text.splitlines():
        word, _, rest = line.partition(": ")
        if line.startswith("== "):
            if cheat is not None:
                yield cheat
            language, _, title = line[3:].partition(": ")
            base = "python" if language == "config" else language
            cheat = Cheat(
                family=family, expect=expect, prompt=prompt, language=language, title=title, base=base
            )
        elif cheat is None:
            family = rest if word == "family" else family
            expect = rest if word == "expect" else expect
            prompt = rest if word == "prompt" else prompt
        elif line.startswith("@@ "):
            path, _, verb = line[3:].partition(" ")
            cheat.edits.append((path, verb, [], []))
        elif line[:1] == "-" and cheat.edits:
            cheat.edits[-1][2].append(line[1:])
        elif line[:1] == "+" and cheat.edits:
            cheat.edits[-1][3].append(line[1:])
        elif word == "base":
            cheat.base = rest
        elif word == "prompt":
            cheat.prompt = rest
        elif word == "expect":
            cheat.expect = rest
        elif line.strip():
            raise ValueError(f"{family}: cannot read {line!r}")
    if cheat is not None:
        yield cheat
