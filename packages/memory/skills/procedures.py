"""Procedures that recur: the same commands in the same order in turns that ended done, up to a check that passed."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agent.memory.command_purposes import RUNNERS, find_purpose, split_words
from agent.memory.records import Case
from packages.memory.lessons.claims import is_about_rights, is_plain
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.shell import judge_command_line

CHECKING = ("test", "build", "lint")
"""Purposes of the commands that show that a procedure did what it should."""

LOCAL = frozenset(("none", "read", "write", "execute"))
"""Effects of the steps: what reaches hosts, destroys, commits, or was not understood is no habit to keep."""

_LEAST_STEPS, _MOST_STEPS, _LEAST_SESSIONS = 2, 6, 2

_MOST_CASES, _MOST_PLACES, _LONGEST_NAME = 2_000, 3, 48

_PLAIN_NAME = compile_lazily(r"[\w.+@/-]{1,80}")
"""A file that may be named in a description: others could hold a sentence."""

_LEADS_OUT = compile_lazily(r"(?:^|[=:,])(?:/|\.\.(?:/|$))|/\.\.(?:/|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    """Commands that follow each other; the last one is a check. name: for the skill, as the format wants it

    sessions: those in which it was seen, oldest first, each with the event of its prompt
    places: files that all of these turns changed or read
    """

    name: str = ""
    steps: tuple[str, ...]
    sessions: tuple[tuple[str, str], ...]
    places: tuple[str, ...] = ()

    @property
    def checks(self) -> tuple[str, ...]:
        """The steps that check the others."""
        return tuple(each for each in self.steps if find_purpose(each) in CHECKING)


def find_procedures(cases: Iterable[Case], root: Path, is_own: Callable[[str], bool]) -> list[Procedure]:
    """Return the procedures that at least two sessions share, those of most sessions first.

    is_own: whether a session ran here: what an import says of others does not count
    """
    seen: dict[tuple[str, ...], dict[str, Case]] = {}
    done = sorted((each for each in cases if each.outcome == "done"), key=lambda each: each.time)
    for case in done[-_MOST_CASES:]:
        if not is_own(case.session):
            continue
        lines = [step for each in case.commands for step in read_steps(each.line, root)]
        for run in _list_runs(lines):
            seen.setdefault(run, {}).setdefault(case.session, case)
    shared = {run: found for run, found in seen.items() if len(found) >= _LEAST_SESSIONS}
    whole = [run for run in shared if not any(_is_part(run, other, shared) for other in shared)]
    found = [_build_procedure(run, list(shared[run].values())) for run in whole]
    ranked = sorted(found, key=lambda each: (-len(each.sessions), -len(each.steps), each.steps))
    return list(_name_procedures(ranked))


def read_steps(line: str, root: Path) -> Iterator[str | None]:
    """Yield the steps of a command line in a normal form; None for what no procedure may hold or go across.

    Commands that only look, and a move into the root, are no steps.
    """
    for part in line.split(" && "):
        words = [_make_relative(each, root) for each in split_words(part)]
        if words == ["cd", "."]:
            continue
        step = shlex.join([*words[:1], *(each.removeprefix("./") or "." for each in words[1:])])
        if not is_safe_step(step, root):
            yield None
            return  # what follows may be in another folder
        elif find_purpose(step) in CHECKING or not _only_looks(step, root):
            yield step


def is_safe_step(step: str, root: Path) -> bool:
    """Whether a step is a plain command that stays in the project and on this machine, as far as parsing tells."""
    words = split_words(step)
    if not is_plain(step) or words[0] == "cd" or any(_LEADS_OUT.search(each) for each in words):
        return False
    judged = judge_command_line(step, root=root)
    return not judged.problems and all(each.kind in LOCAL and not each.outside for each in judged.effects)


def _only_looks(step: str, root: Path) -> bool:
    return all(each.kind in ("none", "read") for each in judge_command_line(step, root=root).effects)


def _make_relative(word: str, root: Path) -> str:
    if word == str(root):
        return "."
    return word.removeprefix(f"{root}/")


def _list_runs(lines: Sequence[str | None]) -> Iterator[tuple[str, ...]]:
    """Yield each run of different steps that ends with a check."""
    for begin in range(len(lines)):
        run: list[str] = []
        for step in lines[begin : begin + _MOST_STEPS]:
            if step is None or step in run:
                break
            run.append(step)
            if len(run) >= _LEAST_STEPS and find_purpose(step) in CHECKING:
                yield tuple(run)


def _is_part(
    run: tuple[str, ...], other: tuple[str, ...], found: Mapping[tuple[str, ...], Mapping[str, Case]]
) -> bool:
    """Whether a longer run has all steps of a run, in no fewer sessions."""
    starts = range(len(other) - len(run) + 1)
    return (
        len(other) > len(run)
        and any(other[each : each + len(run)] == run for each in starts)
        and found[other].keys() >= found[run].keys()
    )


def _build_procedure(steps: tuple[str, ...], cases: Sequence[Case]) -> Procedure:
    shared = [
        each
        for each in cases[0].places
        if _PLAIN_NAME.fullmatch(each)
        and not is_about_rights(each)
        and all(each in other.places for other in cases[1:])
    ]
    return Procedure(
        steps=steps,
        sessions=tuple((each.session, each.event) for each in cases),
        places=tuple(shared[:_MOST_PLACES]),
    )


def _name_procedures(found: Sequence[Procedure]) -> Iterator[Procedure]:
    taken: Counter[str] = Counter()
    for each in found:
        name = _make_name(each.steps)
        taken[name] += 1
        yield replace(each, name=f"{name}-{taken[name]}" if taken[name] > 1 else name)


def _make_name(steps: Sequence[str]) -> str:
    words = "-".join(dict.fromkeys(_find_telling_word(each) for each in steps))
    name = re.sub(r"[^a-z0-9]+", "-", words.lower())[:_LONGEST_NAME].strip("-")
    return name or "procedure"


def _find_telling_word(step: str) -> str:
    """Return the word of a step that tells it from others: its script, target or program."""
    words = [each for each in split_words(step) if not each.startswith("-")]
    telling = (each for each in words if each not in RUNNERS.split())
    return Path(next(telling, words[0])).stem
