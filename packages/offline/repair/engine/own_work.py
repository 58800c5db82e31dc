"""Changes that take back a person's fresh work: they name the suspect, and are not written unasked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from packages.offline.repair.engine.candidates.candidate_generation import NAMED
from packages.offline.repair.result import Fix, RepairResult
from packages.offline.repair.templates import PRECISION
from tools.core.workspace import Workspace
from tools.git.fresh_work import EarlierVersion, find_taken_back, read_earlier_versions

Versions = Mapping[str, Sequence[EarlierVersion]]


def mark_own_work(at: Workspace, result: RepairResult) -> RepairResult:
    """Return the result whose fixes name the fresh work that they take back. Blocking.

    A rival of such a change is marked as well: the tests pass without the work, so that it is the suspect wherever
    else they can be made to pass. A change of what the failure itself names (a misspelt name) is none: it mends the
    work.
    """
    patches = [result.fixes, *result.alternatives]
    paths = {fix.path for patch in patches for fix in patch}
    if not paths:
        return result
    versions = read_earlier_versions(at.root, paths)
    if not versions:
        return result
    texts: dict[str, str] = {}
    for path in paths:
        with suppress(OSError, ValueError):
            texts[path] = at.files.read_text(path).text
    alternatives = tuple(tuple(_mark_patch(each, texts, versions)) for each in result.alternatives)
    suspects = [(fix.tests, fix.own_work) for patch in alternatives for fix in patch if fix.own_work]
    fixes = [
        fix if fix.own_work else replace(fix, own_work=_find_suspect(fix, suspects))
        for fix in _mark_patch(result.fixes, texts, versions)
    ]
    return replace(result, fixes=tuple(fixes), alternatives=alternatives)


def _find_suspect(fix: Fix, suspects: Sequence[tuple[tuple[str, ...], str]]) -> str:
    if _is_named_by_failure(fix):
        return ""
    return next((work for tests, work in suspects if set(fix.tests) <= set(tests)), "")


def _mark_patch(patch: Sequence[Fix], texts: Mapping[str, str], versions: Versions) -> list[Fix]:
    """Return the fixes of a patch, which are applied one after the other."""
    now, marked = dict(texts), []
    for fix in patch:
        before = now.get(fix.path, "")
        after = before.replace(fix.old, fix.new, 1)
        now[fix.path] = after
        found = find_taken_back(before, after, versions.get(fix.path, ()))
        marked.append(replace(fix, own_work="" if _is_named_by_failure(fix) else found))
    return marked


def _is_named_by_failure(fix: Fix) -> bool:
    return PRECISION.get(fix.template, 0.0) >= NAMED
