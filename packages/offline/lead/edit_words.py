"""Edits of a turn that the harness leads, in words for its answer and its commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Edit = Mapping[str, str]
"""Arguments of the tool `edit`: path, old, new."""


def describe_fix(edits: Sequence[Edit], before: str = "") -> str:
    """Return the answer of a turn with these edits: its first line is the subject of the commit."""
    names = ", ".join(dict.fromkeys(each["path"] for each in edits))
    return f"Fix {names}\n\n{before}{list_edits(edits)}"


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
