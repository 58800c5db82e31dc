"""Edits as weak models write them: the cases beside this file, read from their text.

A `.cases` file begins with what its family is about and the files that all its cases share. Then, for each case:

    %%% name: what the model did wrong
    %% file PATH          a file that is there, and that the model has read
    %% unread PATH        a file that is there, and that the model has not read
    %% edit PATH [all]    a call of `edit`, with its arguments in two sections, `%% old` and `%% new`
    %% text               or the text of a call of `apply_patch`
    %% applied PATH       what the file holds afterwards; files that are not named stay as they are
    %% gone PATH          a file that is not there afterwards
    %% refused            or: regular expressions, one a line, that the refusal has to match

A section is made of whole lines. Only `old` and `new` lack the last line end, as arguments of a call do: an empty
line at their end stands for it. The empty line before `%%%` belongs to no case. What can't be seen is written as a
sign: ␉ tab, ␍ carriage return, ␠ blank at a line end, ␄ no line end here, ⟨U+200B⟩ any character by its number, and
⟨root⟩ the folder in which the case runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent

_SIGNS = {"␉": "\t", "␍": "\r", "␠": " "}
_NUMBERED = re.compile(r"⟨U\+([0-9A-F]{4,6})⟩")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A tree, one call, and what has to come of it: the tree afterwards, or patterns of a refusal.

    tool: "edit" or "apply_patch"
    """

    name: str
    title: str
    before: Mapping[str, bytes]
    unread: frozenset[str]
    tool: str
    arguments: Mapping[str, str | bool]
    after: Mapping[str, bytes]
    refusal: tuple[str, ...]


def cases() -> list[Case]:
    """All cases, family by family."""
    return [
        case for path in sorted(FOLDER.glob("*.cases")) for case in family(path.stem, path.read_text("utf-8"))
    ]


def family(name: str, text: str) -> Iterator[Case]:
    """The cases of one family."""
    shared, *rest = re.split(r"^%%% ", text, flags=re.MULTILINE)
    common = _Draft()
    for head, body in _sections(shared.removesuffix("\n")):
        common.take(head, body)
    for part in rest:
        title, _, body = part.partition("\n")
        draft = _Draft(files=dict(common.files), unread=set(common.unread))
        for head, lines in _sections(body.removesuffix("\n") if body.endswith("\n\n") else body):
            draft.take(head, lines)
        yield draft.case(name, title)


def _sections(text: str) -> Iterator[tuple[list[str], str]]:
    """Words of the head and body of each section."""
    for part in re.split(r"^%% ", text, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        yield head.split(), body


@dataclass(slots=True)
class _Draft:
    """What the sections of a case have said so far."""

    files: dict[str, bytes] = field(default_factory=dict)
    unread: set[str] = field(default_factory=set)
    tool: str = ""
    arguments: dict[str, str | bool] = field(default_factory=dict)
    changed: dict[str, bytes] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    refusal: tuple[str, ...] = ()

    def take(self, head: list[str], body: str) -> None:
        match head:
            case ["file", path]:
                self.files[path] = _written(body).encode()
            case ["unread", path]:
                self.files[path] = _written(body).encode()
                self.unread.add(path)
            case ["edit", path, *rest]:
                self.tool, self.arguments = "edit", {"path": path, "all": rest == ["all"]}
            case ["old" | "new" as which]:
                self.arguments[which] = _written(body.removesuffix("\n"))
            case ["text"]:
                self.tool, self.arguments = "apply_patch", {"patch": _written(body)}
            case ["applied", path]:
                self.changed[path] = _written(body).encode()
            case ["gone", path]:
                self.gone.add(path)
            case ["refused"]:
                self.refusal = tuple(body.splitlines())
            case _:
                raise ValueError(f"unknown section: {' '.join(head)!r}")

    def case(self, family: str, title: str) -> Case:
        name, colon, title = title.partition(": ")
        if not (colon and self.tool) or bool(self.refusal) == bool(self.changed or self.gone):
            raise ValueError(f"{family}/{name}: a case has a title, a call, and either a result or a refusal")
        after = {
            path: content for path, content in (self.files | self.changed).items() if path not in self.gone
        }
        return Case(
            name=f"{family}/{name}",
            title=title,
            before=self.files,
            unread=frozenset(self.unread),
            tool=self.tool,
            arguments=self.arguments,
            after=after,
            refusal=self.refusal,
        )


def _written(text: str) -> str:
    """The text that the signs of a section stand for."""
    for sign, meaning in _SIGNS.items():
        text = text.replace(sign, meaning)
    text = _NUMBERED.sub(lambda match: chr(int(match[1], 16)), text)
    return text.replace("␄\n", "").replace("␄", "")
