"""Every attack by a command line, carried out in the sandbox: whatever judging says of it, the kernel holds."""

from __future__ import annotations

import os
import random
import re

import pytest

from sandbox.backends import landlock
from tests.sandbox.boxes import living
from tests.security.conftest import Scene
from tests.security.test_commands import ATTACK_LINES

STRESS = int(os.environ.get("PATCHWRIGHT_STRESS", "1"))
SEED = int(os.environ.get("PATCHWRIGHT_SEED", "1"))
SLICE = 30
"""Of about a thousand lines, in an ordinary run and for each sandbox; all of them under stress."""

_WAITS = re.compile(r"\byes\b|/dev/(zero|full|u?random)|\bwatch\b|tail -f|\bsleep\b|:\(\)|\bread\b")
"""Lines that only use up the time limit: bombs have tests of their own."""


_MODES = re.compile(r"\b(chmod|chown|chgrp|setfacl|chattr)\b")
"""Landlock has no rights for these, as the documents say; for signals it has from its sixth version on."""

_SIGNALS = re.compile(r"\bp?kill(all)?\b")


def lines(box: str) -> list[str]:
    """What can be an argument of a program, those that nothing but wait left out."""
    fit = [each for each in ATTACK_LINES if "\0" not in each and (each.isprintable() or "\n" in each)]
    fit = [each for each in fit if not _WAITS.search(each) and each.encode(errors="replace").decode() == each]
    if box == "landlock":
        fit = [each for each in fit if not _MODES.search(each)]
        fit = [each for each in fit if landlock.query_abi_version() >= 6 or not _SIGNALS.search(each)]
    return fit if STRESS > 1 else random.Random(SEED).sample(fit, SLICE)


@pytest.mark.slow
@pytest.mark.timeout(120 if STRESS == 1 else 3600)
def test_no_line_of_the_catalogue_changes_anything_outside(scene: Scene) -> None:
    chosen = lines(scene.box)
    for name in ("a.txt", "b.txt", "f"):
        (scene.root / name).write_text("x\n")
    scene.own()
    before = outside(scene)
    scene.run(*(["bash", "-c", each] for each in chosen), timeout=2)
    assert outside(scene) == before, chosen
    assert living(str(scene.base)) == []


def outside(scene: Scene) -> dict[str, str]:
    """What lies beside the workspace, and its git folder."""
    return {
        name: what
        for name, what in scene.state().items()
        if not f"{name}/".startswith("shop/") or f"{name}/".startswith("shop/.git/")
    }
