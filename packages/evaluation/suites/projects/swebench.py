"""SWE-bench (Jimenez et al., ICLR 2024): issues of real projects, with the tests that came with their fixes.

The instances are a file of JSON, or of JSON lines. A task begins with the commit in a clone of the project, makes an
environment with uv as its set-up, and is checked by the fix's own tests.
"""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from packages.evaluation.suites.built_task import BuildRequest, BuiltTask, MissingTask, make_task_name
from packages.evaluation.suites.ending_checks import add_report_check, read_report_judge
from packages.evaluation.suites.patched_files import apply_patch, list_patched_paths
from packages.evaluation.suites.source_folder import GitHistory
from packages.evaluation.tasks.task_file import BaseFiles, TaskFile, TaskLimits
from packages.evaluation.tasks.task_writer import TaskDraft
from sandbox.errors import Fault, UserError
from sandbox.fs.regular_file import read_regular_file
from sandbox.fs.untrusted_file import read_workspace_file
from sandbox.parsed_data import parse_json

SECONDS, CHECK_SECONDS, SETUP_SECONDS = 1800.0, 1800.0, 1200.0

_LARGEST = 1 << 30
"""Bytes of a file of instances: the largest published one has 19,000."""

PYTHONS: Mapping[str, str] = {
    "matplotlib/matplotlib": "3.11",
    "pydata/xarray": "3.10",
    "pallets/flask": "3.11",
}
"""Python of a project's environment where it is not 3.9, which most of the instances were made with."""

EXTRAS: Mapping[str, Sequence[str]] = {
    "sympy/sympy": ("mpmath",),
    "sphinx-doc/sphinx": ("html5lib", "setuptools<80"),
    "astropy/astropy": ("hypothesis", "pytest-astropy", "setuptools<60"),
}
"""Packages that a project's tests need besides its own requirements."""


def build_tasks(request: BuildRequest) -> Iterator[BuiltTask | MissingTask]:
    """Yield the instances in the file's order."""
    if request.repositories is None:
        raise UserError(
            Fault.USAGE,
            "swebench needs clones of the projects",
            "Name the folder with them: --repositories DIR.",
        )
    missing = "" if shutil.which("uv") else "uv is not installed"
    for instance in read_instances(request.source):
        name = make_task_name(instance["instance_id"])
        if not request.selects(instance["instance_id"], "python") or not request.is_wanted(name):
            continue
        clone = find_clone(request.repositories, instance["repo"])
        if missing or clone is None:
            yield MissingTask(name=name, reason=missing or f"there is no clone of {instance['repo']}")
            continue
        history = GitHistory(clone)
        try:
            commit = history.resolve(instance["base_commit"])
            yield BuiltTask(name=name, draft=_build_draft(instance, clone.resolve(), commit, history))
        except UserError as error:
            yield MissingTask(name=name, reason=f"{instance['repo']}: {error.message.rpartition(': ')[2]}")


def read_instances(path: Path) -> list[dict[str, Any]]:
    """Return the instances of a file, or of the only file of its kind in a folder. Raises UserError."""
    if path.is_dir():
        found = sorted([*path.glob("*.jsonl"), *path.glob("*.json")])
        if len(found) != 1:
            raise UserError(
                Fault.USAGE, f"{str(path)!r} has {len(found)} files of instances", "Name one of them."
            )
        content = read_workspace_file(path, found[0].name, _LARGEST)
        path = found[0]
    else:
        content = read_regular_file(path, _LARGEST)
    if content is None:
        raise UserError(Fault.USAGE, f"there is no file {str(path)!r}")
    try:
        rows = parse_json(content) if content.lstrip().startswith(b"[") else [
            parse_json(line) for line in content.splitlines() if line.strip()
        ]  # fmt: skip
    except ValueError as error:
        raise UserError(Fault.CONFIGURATION, f"{path}: no JSON: {error}") from None
    needed = {"instance_id", "repo", "base_commit", "problem_statement", "patch", "test_patch"}
    for row in rows:
        if not isinstance(row, dict) or needed - row.keys():
            lacks = ", ".join(sorted(needed - row.keys())) if isinstance(row, dict) else "an object"
            raise UserError(Fault.CONFIGURATION, f"{path}: an instance lacks {lacks}")
    return list(rows)


def find_clone(folder: Path, repository: str) -> Path | None:
    """Return a clone of OWNER/NAME below a folder, under one of the usual names."""
    owner, _, name = repository.partition("/")
    stems = (f"{owner}__{name}", f"{owner}+{name}", f"swe-bench+{owner}__{name}", name, repository)
    places = [folder / stem / inner for stem in stems for inner in ("", "repo", ".git")]
    return next((each for each in places if (each / ".git").exists() or (each / "HEAD").is_file()), None)


def _build_draft(instance: Mapping[str, Any], clone: Path, commit: str, history: GitHistory) -> TaskDraft:
    repository = str(instance["repo"])
    tests = apply_to_commit(history, commit, str(instance["test_patch"]).encode())
    extras = ("pytest", *EXTRAS.get(repository, ()))
    python = PYTHONS.get(repository, "3.9")
    setup = (
        f"uv venv --quiet --python {python} .venv",
        f"uv pip install --quiet --python .venv/bin/python -e . {shlex.join(extras)}",
    )
    return TaskDraft(
        file=TaskFile(
            base=BaseFiles(repository=str(clone), commit=commit),
            setup=setup,
            check=_build_check(repository, instance, sorted(tests)),
            limits=TaskLimits(seconds=SECONDS, setup_seconds=SETUP_SECONDS, check_seconds=CHECK_SECONDS),
            tags=("swebench", make_task_name(repository)),
            language="python",
        ),
        prompt=str(instance["problem_statement"]),
        reference=str(instance["patch"]).encode(),
        checker_files={**tests, **read_report_judge()},
    )


def _build_check(repository: str, instance: Mapping[str, Any], changed: Sequence[str]) -> str:
    files = [path for path in changed if path.endswith(".py")]
    if repository == "django/django":
        labels = [path.removeprefix("tests/").removesuffix(".py").replace("/", ".") for path in files]
        return f"cd tests && ../.venv/bin/python runtests.py --parallel 1 --settings=test_sqlite {shlex.join(labels)}"
    named = [*_read_names(instance, "FAIL_TO_PASS"), *_read_names(instance, "PASS_TO_PASS")]
    ids = [each for each in named if "::" in each]
    command = ".venv/bin/python -m pytest -q -p no:cacheprovider"
    if named and not ids:  # names of functions: sympy's own runner knows no files
        return add_report_check(
            f"{command} {shlex.join(files)} -k {shlex.quote(' or '.join(dict.fromkeys(named)))}", 1
        )
    return add_report_check(f"{command} {shlex.join(ids or files)}", 1)


def _read_names(instance: Mapping[str, Any], field: str) -> list[str]:
    value = instance.get(field, [])
    names = json.loads(value) if isinstance(value, str) and value.strip() else value
    return [str(each) for each in names or []]


def apply_to_commit(history: GitHistory, commit: str, patch: bytes) -> dict[str, bytes]:
    """Return the files that a patch changes or adds, as they are after it. Raises UserError if it does not apply."""
    contents = {path: history.read_blob(commit, path) for path in list_patched_paths(patch)}
    return apply_patch({path: content for path, content in contents.items() if content is not None}, patch)
