"""Tasks by faults put into a project: each is shown by a test that fails with it and passes without it."""

from __future__ import annotations

import ast
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import field
from hashlib import sha256
from itertools import islice, zip_longest
from pathlib import Path, PurePosixPath
from random import Random
from typing import TYPE_CHECKING

from packages.evaluation.mining.fix_commits import is_test_path
from packages.evaluation.mining.operators import Fault, generate_faults
from packages.evaluation.mining.template_inverse import find_undoing_template, generate_template_faults
from packages.evaluation.mining.test_runs import (
    TestRun,
    build_check,
    list_generated_files,
    list_mended,
    read_judges,
    restore_files,
    run_tests,
)
from packages.evaluation.suites.built_task import make_task_name
from packages.evaluation.suites.file_patch import render_patch
from packages.evaluation.suites.scratch_workspace import open_scratch
from packages.evaluation.suites.source_folder import GitHistory
from packages.evaluation.tasks.suite_folder import SUITE_FILE
from packages.evaluation.tasks.task_file import (
    BaseFiles,
    SuiteFile,
    TaskFile,
    TaskLimits,
    check_inner_path,
)
from packages.evaluation.tasks.task_folder import BASE_PATCH_FILE, TASK_FILE
from packages.evaluation.tasks.task_writer import TaskDraft, create_suite_folder, write_suite_file, write_task
from sandbox.errors import Fault as FaultKind
from sandbox.errors import UserError
from sandbox.fs.regular_file import SOURCE
from sandbox.fs.untrusted_file import read_workspace_file, read_workspace_text
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from sandbox.access_settings import AccessSettings
    from tools.core.workspace import Workspace

MOST_FAILING = 40
"""Failing tests of a fault; one that breaks more is one that nobody commits."""

LARGEST = 200_000
"""Bytes of a program that faults are put into."""

SECONDS = 600.0

STATEMENTS, CHANGES = 12, 8
"""Statements of a file that templates are applied to, and changes that are taken of each: the likeliest ones."""

_ASIDE = frozenset(
    {"setup.py", "conf.py", "conftest.py", "noxfile.py", "tasks.py", "__main__.py", "versioneer.py"}
)
_ASIDE_FOLDERS = frozenset(
    {"docs", "doc", "examples", "benchmarks", "bench", "scripts", "tools", "vendor", "_vendor"}
)

PROMPT = """\
There is a fault in this project: {number} of its tests fail.

{tests}

Find the fault and mend it in the program. Leave the tests as they are.
"""

PROMPT_HIDDEN = """\
There is a fault somewhere in this project, in or near {path}. Its tests that are here do not show it; others will check
the behaviour.

Find the fault and mend it.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectionLimits:
    """Limits of one run. tasks: written in all; per_file: faults of one file; attempts: faults whose tests are run;
    test_seconds: for one run of the tests; seconds: wall time after which no further fault is tried"""

    tasks: int = 20
    per_file: int = 3
    attempts: int | None = None
    test_seconds: float = 120.0
    seconds: float | None = None


@dataclass(slots=True, kw_only=True)
class InjectionSummary:
    """Counts of one run. unseen: faults that no test shows; broad: faults that too many tests show"""

    tried: int = 0
    written: int = 0
    kept: int = 0
    unseen: int = 0
    broad: int = 0
    unusable: int = 0
    operators: dict[str, int] = field(default_factory=dict)


def inject_faults(
    repository: Path,
    output: Path,
    *,
    limits: InjectionLimits,
    revision: str = "HEAD",
    seed: int = 0,
    hide_tests: bool = False,
    access: AccessSettings | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> InjectionSummary:
    """Write a task folder for each fault that tests show. Raises UserError if the project's tests do not pass.

    seed: another one draws other faults; hide_tests: the test files that show a fault are not in the worktree
    access: the user's settings, for the sandbox
    """
    history = GitHistory(repository)
    commit = history.resolve(revision)
    create_suite_folder(output)
    if not (output / SUITE_FILE).is_file():
        name = make_task_name(repository.resolve().name)
        write_suite_file(output, SuiteFile(name=f"{name}-faults", description=f"faults put into {name}"))
    known = _read_known(output)
    summary = InjectionSummary(kept=len(known))
    began = time.monotonic()
    with open_scratch(access) as at:
        history.export(commit, at.root)
        generated = {p: c for p, c in list_generated_files(repository).items() if not (at.root / p).exists()}
        for path in generated:
            report(f"taken along, though git ignores it: {path}")
        restore_files(at, dict(generated))
        sound = run_tests(at, (), limits.test_seconds)
        if not sound.usable or not sound.ran or sound.failed:
            raise UserError(
                FaultKind.CONFIGURATION,
                f"the tests of {str(repository)!r} cannot be used: {sound.note}",
                "All of them have to pass: see `patchwright doctor`.",
            )
        counts: dict[str, int] = dict.fromkeys(known.values(), 0)
        for path in known.values():
            counts[path] += 1
        for path, original, fault in _draw_faults(at.root, seed):
            late = limits.seconds is not None and time.monotonic() - began > limits.seconds
            if late or summary.written + summary.kept >= limits.tasks or summary.tried == limits.attempts:
                break
            name = make_task_name(PurePosixPath(path).stem, fault.operator, _digest(path, fault.text))
            if counts.get(path, 0) >= limits.per_file or name in known:
                continue
            summary.tried += 1
            run = _run_fault(at, path, original, fault, limits.test_seconds)
            failing = list_mended(run, sound)
            if not run.usable:
                summary.unusable += 1
            elif not failing:
                summary.unseen += 1
            elif len(failing) > MOST_FAILING:
                summary.broad += 1
            else:
                template = find_undoing_template(fault, original)
                draft = _draft_task(
                    repository, commit, path, original, fault, failing, sound, template, generated,
                    tests=_read_tests(at.root, failing), hide_tests=hide_tests,
                )  # fmt: skip
                write_task(output / name, draft)
                counts[path] = counts.get(path, 0) + 1
                summary.written += 1
                summary.operators[fault.operator] = summary.operators.get(fault.operator, 0) + 1
                report(f"{name}: {path}:{fault.line} {fault.operator}, {len(failing)} tests fail")
    return summary


def _digest(path: str, text: str) -> str:
    return sha256(f"{path}\0{text}".encode()).hexdigest()[:8]


def _read_known(output: Path) -> dict[str, str]:
    """Return the tasks that are there, with the file of each one's fault."""
    found: dict[str, str] = {}
    for place in output.iterdir():
        if (place / TASK_FILE).is_file() and (place / "fault.json").is_file():
            found[place.name] = str(json.loads((place / "fault.json").read_text("utf-8")).get("path", ""))
    return found


def _draw_faults(root: Path, seed: int) -> Iterator[tuple[str, str, Fault]]:
    """Yield (path, original text, fault), one of each file in turn, so that no file comes first with all of its own."""
    draw = Random(seed)
    waiting: list[tuple[str, str, Iterator[Fault]]] = []
    for place in sorted(root.rglob("*.py")):
        path = place.relative_to(root).as_posix()
        if _is_program(path) and not place.is_symlink():
            text = read_workspace_text(root, path, LARGEST)
            waiting.append((path, text, _draw_from_file(text, Random(f"{seed} {path}"))))
    draw.shuffle(waiting)
    while waiting:
        left = []
        for path, text, faults in waiting:
            fault = next(faults, None)
            if fault is not None:
                yield path, text, fault
                left.append((path, text, faults))
        waiting = left


def _draw_from_file(text: str, draw: Random) -> Iterator[Fault]:
    """Yield distinct faults of one file in random order, those of operators and those of templates in turn."""
    by_operators = list(generate_faults(text))
    draw.shuffle(by_operators)
    lines = _list_body_lines(text)
    by_templates: list[Fault] = []
    for line in draw.sample(lines, min(STATEMENTS, len(lines))):
        by_templates += list(islice(generate_template_faults(text, [line]), CHANGES))
    draw.shuffle(by_templates)
    seen: set[str] = set()
    for pair in zip_longest(by_operators, by_templates):
        for fault in pair:
            if fault is not None and (meaning := _describe_program(fault.text)) not in ("", *seen):
                seen.add(meaning)
                yield fault


def _describe_program(text: str) -> str:
    """Return a digest of what a program says, "" if it cannot be parsed."""
    try:
        return sha256(ast.dump(ast.parse(text)).encode()).hexdigest()
    except (SyntaxError, ValueError):
        return ""


def _list_body_lines(text: str) -> Sequence[int]:
    """Return the first lines of the statements in functions."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return ()
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    inside = (node for each in functions for part in each.body for node in ast.walk(part))
    return sorted({node.lineno for node in inside if isinstance(node, ast.stmt)})


def _is_program(path: str) -> bool:
    parts = path.split("/")
    aside = parts[-1] in _ASIDE or any(each in _ASIDE_FOLDERS or each.startswith(".") for each in parts[:-1])
    return not aside and not is_test_path(path)


def _run_fault(at: Workspace, path: str, original: str, fault: Fault, seconds: float) -> TestRun:
    restore_files(at, {path: fault.text.encode()})
    try:
        return run_tests(at, (), seconds)
    finally:
        restore_files(at, {path: original.encode("utf-8")})


def _read_tests(root: Path, failing: Sequence[str]) -> dict[str, bytes]:
    """Return the files of tests; the ids come out of a run of the project's own tests, and may name any path."""
    found: dict[str, bytes] = {}
    for path in sorted({each.partition("::")[0] for each in failing}):
        with suppress(UserError, ValueError):
            content = read_workspace_file(root, check_inner_path(path), SOURCE)
            if content is not None:
                found[path] = content
    return found


def _draft_task(
    repository: Path,
    commit: str,
    path: str,
    original: str,
    fault: Fault,
    failing: Sequence[str],
    sound: TestRun,
    template: str,
    generated: dict[str, bytes],
    *,
    tests: dict[str, bytes],
    hide_tests: bool,
) -> TaskDraft:
    before, after = {path: original.encode()}, {path: fault.text.encode()}
    hidden = tests if hide_tests else {}
    about = {
        "path": path,
        "line": fault.line,
        "operator": fault.operator,
        "template": template,
        "tests": list(failing),
    }
    if hide_tests:
        prompt = PROMPT_HIDDEN.format(path=f"`{PurePosixPath(path).parent}`")
    else:
        listed = "\n".join(f"- {each}" for each in failing[:10])
        prompt = PROMPT.format(number=len(failing), tests=listed)
    file = TaskFile(
        base=BaseFiles(repository=str(repository.resolve()), commit=commit, patch=BASE_PATCH_FILE),
        check=build_check(sound, sorted(tests)),
        limits=TaskLimits(seconds=SECONDS, check_seconds=max(120.0, 10 * sound.seconds)),
        tags=("injected", fault.operator, "in-reach-of-templates" if template else "beyond-templates"),
        language="python",
    )
    return TaskDraft(
        file=file,
        prompt=prompt,
        reference=render_patch(after, before),
        checker_files={**tests, **read_judges(sound)},
        other_files={
            BASE_PATCH_FILE: render_patch({**before, **hidden}, {**generated, **after}),
            "fault.json": json.dumps(about, indent=1).encode(),
        },
    )
