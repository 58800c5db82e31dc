"""Edits of a turn that the harness leads, in words for its answer and its commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

MOST_CHANGE = 48
"""Characters of a change in the row of a proposal: what became of it has to fit behind it."""

Edit = Mapping[str, str]
"""Arguments of the tool `edit`: path, old, new."""


def describe_fix(edits: Sequence[Edit], before: str = "") -> str:
    """Return the answer of a turn with these edits: its first line is the subject of the commit."""
    names = ", ".join(dict.fromkeys(each["path"] for each in edits))
    return f"Fix {names}\n\n{before}{list_edits(edits)}"


def describe_no_fix(rounds: int, kept: Sequence[Edit], candidates: Sequence[Sequence[Edit]]) -> str:
    """Return the answer of a turn without one: what was kept, and what the engine knows. rounds: proposals"""
    text = "No change of one place was found that makes the tests pass."
    if rounds:
        text = f"The model found no change in {rounds} proposals that makes the tests pass."
    if kept:
        text += f" These made fewer of them fail, and are in your files:\n{list_edits(kept)}"
    if candidates:
        text += (
            " The offline engine knows one: run again with --model offline, or set lead.fallback to"
            f" always:\n{list_edits(candidates[0])}"
        )
    return text


def describe_proposal(change: str, outcome: str) -> str:
    """Return a proposal and what became of it, for the person. change: as listed, outcome: as told to the model"""
    told = outcome.removeprefix("Your last reply ").removeprefix("Your last ").partition("\n")[0]
    told = told.removeprefix("change did not help and was ")
    what = change.replace("\n- ", "; ").removeprefix("- ") or "no change"
    what = what if len(what) <= MOST_CHANGE else f"{what[: MOST_CHANGE - 1]}…"
    return f"{what}: {told}"


def list_edits(edits: Sequence[Edit]) -> str:
    """Return a line for each edit, with the first line that it takes away and the first that it brings."""
    return "\n".join(f"- {each['path']}: {_first_change(each)}" for each in edits)


def _first_change(edit: Edit) -> str:
    old, new = edit["old"].splitlines(), edit["new"].splitlines()
    gone = next((line.strip() for line in old if line not in new), "")
    come = next((line.strip() for line in new if line not in old), "")
    return describe_replacement(gone, come)


def describe_replacement(gone: str, come: str) -> str:
    """Return words for a text in place of another; one of them may be empty."""
    if not gone:
        return f"adds `{come}`"
    return f"`{gone}` becomes `{come}`" if come else f"removes `{gone}`"
