"""Build of a suite: tasks are written one by one, those that exist already are left as they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from packages.evaluation.suites.built_task import BuildRequest, BuiltTask, HalfName
from packages.evaluation.suites.source_folder import open_source
from packages.evaluation.suites.suite_table import SUITES
from packages.evaluation.tasks.suite_folder import SUITE_FILE
from packages.evaluation.tasks.task_file import Expectation, SuiteFile
from packages.evaluation.tasks.task_folder import TASK_FILE
from packages.evaluation.tasks.task_writer import TaskDraft, write_suite_file, write_task
from sandbox.access_settings import AccessSettings
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSummary:
    """Result of a build. written, kept: tasks that are new, and that were there; missing: number of tasks by what they
    lack"""

    written: int
    kept: int
    missing: Mapping[str, int] = field(default_factory=dict)


def build_suite(
    name: str,
    source: Path,
    output: Path,
    *,
    cache: Path,
    half: HalfName | None = None,
    limit: int | None = None,
    languages: Sequence[str] = (),
    repositories: Path | None = None,
    expect: Expectation = "solve",
    access: AccessSettings | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> BuildSummary:
    """Write the tasks of a suite below `output`, at most `limit`. Raises UserError.

    cache: folder for what is unpacked; expect: what is written into each task; report: called with a line for each task
    access: the user's settings, for the sandbox
    """
    entry = SUITES.get(name)
    if entry is None:
        raise UserError(Fault.USAGE, f"no suite {name!r}", f"Suites: {', '.join(SUITES)}.")
    output = output.absolute()  # git works in other folders
    kept: list[str] = []

    def is_wanted(task: str) -> bool:
        if (output / task / TASK_FILE).is_file():
            kept.append(task)
            return False
        return True

    request = BuildRequest(
        source=open_source(source, cache, entry.paths),
        output=output,
        half=half,
        languages=languages,
        repositories=repositories,
        access=access or AccessSettings(),
        is_wanted=is_wanted,
    )
    written = 0
    missing: Counter[str] = Counter()
    if not (output / SUITE_FILE).is_file():
        about = SuiteFile(
            name=name, description=entry.description, licence=entry.licence, source=entry.address
        )
        write_suite_file(output, about.model_copy(update={"half": half or ""}))
    for found in entry.load()(request):
        if isinstance(found, BuiltTask):
            write_task(
                output / found.name, _expect_refusal(found.draft) if expect == "refuse" else found.draft
            )
            written += 1
            report(found.name)
        else:
            missing[found.reason] += 1
        if limit is not None and written + len(kept) >= limit:
            break
    if not written and not kept:
        reasons = "; ".join(f"{number} × {reason}" for reason, number in missing.most_common(3))
        raise UserError(
            Fault.USAGE, f"no task of {name} could be made: {reasons or 'none fits what was asked for'}"
        )
    return BuildSummary(written=written, kept=len(kept), missing=dict(missing))


def _expect_refusal(draft: TaskDraft) -> TaskDraft:
    """Return a task whose right result is no change: nothing of its solution and its checker is left."""
    file = draft.file.model_copy(update={"expect": "refuse", "check": ""})
    return replace(draft, file=file, reference=None, failures={}, checker_files={})
