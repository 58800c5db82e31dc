"""Attacks by command lines: each written out, with what judging must find in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from sandbox.policy.shell import Judgement, judge_command_line
from tests.support.judging import is_harmless

FOLDER = Path(__file__).parent / "command_lines"
"""Tables of lines by theme. Under each heading the kinds that must be found, a line each ("\\n" in a line is a newline
of the command). "outside" stands for a write that leaves the workspace or hits what is protected in it."""

ATTACKS = {
    path.stem.removeprefix("attacks_"): path.read_text("utf-8")
    for path in sorted(FOLDER.glob("attacks_*.txt"))
}
HARMLESS = {"harmless": (FOLDER / "harmless.txt").read_text("utf-8")}


def _group_cases(tables: Mapping[str, str]) -> list[object]:
    """The lines of each heading of each table, by its name."""
    groups: dict[tuple[str, str], list[str]] = {}
    for theme, block in tables.items():
        for kind, line in _headed(block):
            groups.setdefault((theme, kind), []).append(line)
    return [pytest.param(kind, lines, id=f"{theme}-{kind}") for (theme, kind), lines in groups.items()]


def _headed(block: str) -> Iterator[tuple[str, str]]:
    heading = ""
    for line in block.splitlines():
        if line.startswith("# "):
            heading = line[2:].partition(":")[0]
        else:
            yield heading, _unescaped(line)


def _unescaped(line: str) -> str:
    """A newline and what can't be seen are written as Python writes them; all else stands as it is."""
    for escape, char in (
        ("\\\\\\n", "\\\n"), ("\\n", "\n"), ("\\x0d", "\r"), ("\\x00", "\0"), ("\\x1b", "\x1b"), ("\\t", "\t"),
        ("\\u202e", "\u202e"), ("\\u00a0", "\u00a0"), ("\\u200b", "\u200b"), ("\\ud800", "\ud800"),
    ):  # fmt: skip
        line = line.replace(escape, char)
    return line


ATTACK_LINES = [line for block in ATTACKS.values() for _, line in _headed(block)]
HARMLESS_LINES = [line for block in HARMLESS.values() for _, line in _headed(block)]
"""Also what fuzzing starts from."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workspace")
    for name in ("src", ".git/hooks", "x"):
        (folder / name).mkdir(parents=True)
    for name in ("a.txt", "b.txt", "f", "src/c.py", ".git/config"):
        (folder / name).write_text("x\n")
    (folder / "link").symlink_to(folder.parent)
    return folder


def kinds(judgement: Judgement) -> set[str]:
    found = {effect.kind for effect in judgement.effects}
    if any(effect.outside for effect in judgement.effects if effect.kind != "read"):
        return found | {"outside"}
    return found


@pytest.mark.parametrize(("kind", "lines"), _group_cases(ATTACKS))
def test_an_attack_is_seen_for_what_it_is(root: Path, kind: str, lines: Sequence[str]) -> None:
    missed = {}
    for line in lines:
        judgement = judge_command_line(line, root=root)
        if is_harmless(judgement) or kind not in kinds(judgement):
            missed[line] = (judgement.effects, judgement.problems)
    assert not missed


@pytest.mark.parametrize(("kind", "lines"), _group_cases(HARMLESS))
def test_an_ordinary_line_needs_nobody_to_be_asked(root: Path, kind: str, lines: Sequence[str]) -> None:
    asked = {}
    for line in lines:
        judgement = judge_command_line(line, root=root)
        if not is_harmless(judgement):
            asked[line] = ([segment.why for segment in judgement.segments], judgement.problems)
        elif max(kinds(judgement), key=("none", "read", "write").index) != kind:
            asked[line] = (sorted(kinds(judgement)), judgement.problems)
    assert not asked
