"""Corrections of requirements and rules: the text without what makes the task impossible, for a person to decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from agent.verify.requirement import Requirement
from packages.search.spec_check.finding import PROMPT, Correction, SpecFinding


def correct_impossible(
    finding: SpecFinding, requirements: Sequence[Requirement], prompt: str, files: Mapping[str, str]
) -> SpecFinding:
    """Return the finding with a proposal: of two requirements that exclude each other the restriction is left out.

    files: texts of files of requirements, by path
    """
    by_place = {f"{each.id} ({each.source})": each for each in requirements}
    involved = [by_place[place] for place in finding.places if place in by_place]
    restricting = [each for each in involved if each.kind in _RESTRICTIONS]
    if not restricting:
        return finding
    each = restricting[-1]
    sentence = _find_sentence(each, requirements)
    path = each.source.removeprefix("file:") if each.source.startswith("file:") else PROMPT
    before = files.get(path, "") if path != PROMPT else prompt
    after = _drop_sentence(before, sentence)
    if not before or after == before:
        return finding
    return replace(finding, corrections=(Correction(path=path, before=before, after=after),))


def close_loophole(finding: SpecFinding, prompt: str, sentence: str) -> SpecFinding:
    """Return the finding with a proposal: a sentence more in the prompt."""
    after = f"{prompt.rstrip()}\n{sentence}\n"
    return replace(finding, corrections=(Correction(path=PROMPT, before=prompt, after=after),))


_RESTRICTIONS = ("file-unchanged", "only-files", "name-unchanged", "signature", "max-files", "max-lines")


def _find_sentence(each: Requirement, requirements: Sequence[Requirement]) -> str:
    above = next((other for other in requirements if other.id == each.parent), None)
    if above is None or above.kind != "group" or _is_list(above, requirements):
        return each.text
    return above.text


def _is_list(group: Requirement, requirements: Sequence[Requirement]) -> bool:
    """Return whether a group is an item with others below it, and not one sentence that says several things."""
    return any(other.kind == "group" and other.parent == group.id for other in requirements) or any(
        other.parent == group.id and other.text in group.text for other in requirements
    )


def _drop_sentence(text: str, sentence: str) -> str:
    place = text.find(sentence)
    if not sentence or place < 0:
        return text
    start, end = text.rfind("\n", 0, place) + 1, text.find("\n", place)
    end = len(text) if end < 0 else end + 1
    line = text[start:end]
    rest = (line[: place - start] + line[place - start + len(sentence) :].lstrip(".!; ")).rstrip()
    is_empty = not rest.strip(" -*+[]xX.0123456789)")
    kept = "" if is_empty else rest + ("\n" if line.endswith("\n") else "")
    return text[:start] + kept + text[end:]
