"""Reads of commands that nothing confines: whether one may reach keys, or files that the user's rules deny."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from fnmatch import translate
from pathlib import Path

from sandbox.policy.effects import Effect
from sandbox.policy.rules import Rules


def explain_vague_read(effect: Effect, root: Path, rules: Rules) -> str:
    """Return why the place of a read is not certain, or holds what may not be read; "" if it is harmless.

    A folder counts with all that is below it: most programs that are given one read it so.
    """
    if effect.kind != "read" or (effect.is_vague and not effect.glob):
        return "reads a place that is not known before it runs" if effect.is_vague else ""
    places = [*(str(root / each) for each in effect.paths), *_list_matches(effect.glob)]
    found = {place: Path(os.path.realpath(place)) for place in places}
    top = Path(os.path.realpath(root))
    for place, real in found.items():
        if effect.is_vague and os.path.islink(place) and not real.is_relative_to(top):  # noqa: PTH114
            return f"may read {place!r}, a link that leads out of the workspace"
    for guarded in _list_guarded(root, rules) if found else ():
        for place, real in found.items():
            if real == guarded or real in guarded.parents:
                return f"reads {place!r}, which holds {str(guarded)!r}"
            if guarded in real.parents:
                return f"reads {place!r}, in {str(guarded)!r}"
    return ""


def _list_matches(glob: str) -> list[str]:
    """Return the entries that a pattern may match, rather too many."""
    folder, _, pattern = glob.rpartition("/")
    # Bash and Python read classes of characters differently: any character stands for one.
    name = re.compile(translate(re.sub(r"\[[^\]]*\]", "?", pattern)))
    try:
        with os.scandir(folder or "/") as entries:
            names = [entry.name for entry in entries] if glob else []
    except OSError:  # missing, or not readable: then nothing is read
        return []
    shown = [each for each in names if pattern.startswith(".") or not each.startswith(".")]
    return [f"{folder}/{each}" for each in shown if name.match(each)]


def _list_guarded(root: Path, rules: Rules) -> Iterator[Path]:
    from sandbox.secrets.child_environment import list_secret_paths

    yield from list_secret_paths(())
    if rules.read_denials:
        from sandbox.backends.deny_read import find_denied_paths

        yield from find_denied_paths(root, rules)
