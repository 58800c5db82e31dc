"""Judging held against bash itself: what it calls harmless is run, and must have been."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from random import Random

import pytest

from sandbox.backends.bubblewrap import PRIVILEGES
from sandbox.policy.shell import Judgement, judge_command_line
from sandbox.policy.shell.commands.options import index_lines
from tests.sandbox.boxes import bwrap, privilege
from tests.sandbox.policy.shell.lines import NAMES, line
from tests.security.test_commands import ATTACK_LINES, HARMLESS_LINES
from tests.support.judging import is_harmless
from tests.support.stubs import Ran, Stage

STRESS = int(os.environ.get("PATCHWRIGHT_STRESS", "1"))
SEED = int(os.environ.get("PATCHWRIGHT_SEED", "20261121"))

RUN = 300
"""Lines that are run (only harmless ones are); some milliseconds each."""

READ = 4_000
"""Lines that are only judged."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    folder = tmp_path_factory.mktemp("stage")
    return Stage(folder / "stage", {*index_lines("commands"), *NAMES, "x", "sh", "id", "evil"})


def unlike(ran: Ran, judgement: Judgement, root: Path) -> str:
    """How what a line did differs from what was judged, "" if it doesn't."""
    if ran.outside:
        return f"changed {ran.outside}"
    forms = {form for segment in judgement.segments for form in segment.forms}
    all_known = all(segment.argv is not None for segment in judgement.segments)
    for argv in ran.runs:
        spelled = " ".join(argv)
        judged = {form.split(" ")[0] for form in forms}
        if all_known and argv[0] in judged and spelled not in forms and not judged & _CHANGE_ARGUMENTS:
            return f"ran {argv!r}, which was not among the commands judged"
        if argv[0] in _SHELLS and spelled in forms:
            continue
        plain = [_CONTROL.sub("_", _DESCRIPTOR.sub("/dev/stdout", each)) for each in argv]
        again = judge_command_line(
            f"command {shlex.join(plain)}", root=root
        )  # a program, also when its name is reserved
        if not is_harmless(again):
            return f"ran {argv!r}: {[segment.why for segment in again.segments]}"
    return ""


_CHANGE_ARGUMENTS = {"xargs", "find", "time", "env"}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_DESCRIPTOR = re.compile(r"/dev/fd/[0-9]+")
_SHELLS = ("bash", "sh", "dash", "ash")
"""Run with a script that was judged with the line, as it stood there."""


@pytest.mark.slow
def test_what_is_judged_harmless_does_no_harm_when_bash_runs_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(stage.home))
    program, rights = bwrap(), PRIVILEGES[privilege()]
    random = Random(SEED)
    wrong: list[str] = []
    tried = ran_programs = 0
    while tried < RUN * STRESS:
        batch: dict[str, Judgement] = {}
        while len(batch) < 100:
            text = line(random, ATTACK_LINES + HARMLESS_LINES)
            judgement = judge_command_line(text, root=stage.work)
            if is_harmless(judgement) and "sleep" not in text:
                batch[text] = judgement
        for ran in stage.run(list(batch), program, rights):
            tried += 1
            ran_programs += len(ran.runs)
            if difference := unlike(ran, batch[ran.line], stage.work):
                wrong.append(f"{ran.line!r} {difference}")
    assert not wrong, "\n".join(wrong)
    assert ran_programs > tried / 10  # else the stage is broken and nothing was tested


@pytest.mark.slow
def test_no_line_is_too_odd_to_be_judged(tmp_path: Path) -> None:
    random = Random(SEED + 1)
    for _ in range(READ * STRESS):
        text = line(random, ATTACK_LINES)
        judgement = judge_command_line(text, root=tmp_path)
        assert judgement.segments or not text.strip() or is_harmless(judgement), repr(text)
