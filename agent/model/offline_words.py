"""What the offline engine says to a person: of its changes, how sure it is of them, and the tests that they mend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tools.repair.result import LOW


def commit_message(fixes: Sequence[Mapping[str, Any]]) -> str:
    """Imperative subject saying what is fixed where; the body lists each fix."""
    places = list(dict.fromkeys(str(fix["function"] or fix["path"]) for fix in fixes))
    subject = f"Fix {listed(places)}"
    if len(subject) > 72:
        files = list(dict.fromkeys(str(fix["path"]) for fix in fixes))
        subject = f"Fix {len(fixes)} bugs in {listed(files)}"
    if len(subject) > 72:
        subject = f"Fix {len(fixes)} bugs in {len(set(files))} files"
    body = [f"- {fix['path']}: {fix['why']}" for fix in fixes]
    return "\n".join([subject, "", *body])


def block(text: str) -> str:
    """Indented by four: verbatim in Markdown, and easy to read where nothing renders it."""
    return "\n".join(f"    {line}" for line in text.splitlines())


def sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def doubt(fix: Mapping[str, Any]) -> str:
    """Said only where there is doubt: what to look at before it is relied on."""
    return " (low confidence: it may only fit the tests)" if doubtful(fix) else ""


def doubtful(fix: Mapping[str, Any]) -> bool:
    return bool(fix.get("confidence", 1.0) < LOW)


def tests_passing(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"{names[0]} passes and no other test breaks"
    return f"{len(names)} failing tests pass and no other test breaks"


def listed(names: Sequence[str]) -> str:
    if len(names) > 3:
        return f"{', '.join(names[:3])} and {len(names) - 3} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
