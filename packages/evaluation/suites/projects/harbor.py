"""Task folders of Harbor (`task.toml`, `instruction.md`) and of terminal-bench (`task.yaml`), without a container.

A task can be made if its Dockerfile copies files, installs programs that are on this machine, and runs commands that
work in the sandbox. The container's absolute paths become paths of the worktree: its working folder is the root, its
tests, solution and logs are in `.harbor/`. The reference is what the task's own solution changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any

from packages.evaluation.suites.built_task import BASE, BuildRequest, BuiltTask, MissingTask, make_task_name
from packages.evaluation.suites.ending_checks import add_report_check, read_report_judge
from packages.evaluation.suites.file_patch import render_patch
from packages.evaluation.suites.projects.dockerfile import Obstacle, Recipe, parse_dockerfile, rewrite_paths
from packages.evaluation.suites.scratch_workspace import open_scratch
from packages.evaluation.tasks.folder_files import FolderFile, list_folder_files, write_contents, write_files
from packages.evaluation.tasks.task_file import BaseFiles, TaskFile, TaskLimits
from packages.evaluation.tasks.task_writer import TaskDraft
from sandbox.access_settings import AccessSettings
from sandbox.errors import UserError
from sandbox.fs.regular_file import SOURCE
from sandbox.fs.untrusted_file import read_workspace_file
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from tools.core.workspace import Workspace

OWN = ".harbor"
"""Folder of the worktree for the container's folders outside its working folder."""

SECONDS, CHECK_SECONDS = 600.0, 120.0

_RUN = """\
mkdir -p .harbor/logs/verifier .harbor/logs/agent
export TEST_DIR="$PWD/.harbor/tests"
{command}
status=$?
if [ -s .harbor/logs/verifier/reward.txt ]; then
    reward=$(cat .harbor/logs/verifier/reward.txt)
    echo "score: $reward"
    case $reward in 1|1.0) exit 0 ;; *) exit 1 ;; esac
fi
exit $status
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Harbor:
    """A task as its folder has it. command: runs the tests; build: folder of the Dockerfile and what it copies"""

    folder: Path
    prompt: str
    tags: tuple[str, ...]
    seconds: float
    check_seconds: float
    build: Path
    solution: Path
    command: str


def build_tasks(request: BuildRequest) -> Iterator[BuiltTask | MissingTask]:
    """Yield the tasks by path, however deep their folders are."""
    places = sorted(
        {each.parent for name in ("task.toml", "task.yaml") for each in request.source.rglob(name)}
    )
    for folder in places:
        key = folder.name
        name = make_task_name(key)
        if not request.selects(key) or not request.is_wanted(name):
            continue
        try:
            yield _build_task(name, _read_task(folder), request.access)
        except Obstacle as reason:
            yield MissingTask(name=name, reason=str(reason))


def _read_task(folder: Path) -> Harbor:
    """Read either format. Raises Obstacle, also for a file that says something else."""
    import yaml

    try:
        about = _read_text(folder, "task.toml")
        return _parse_old_task(folder) if about is None else _parse_task(folder, about)
    except (ValueError, TypeError, AttributeError, KeyError, yaml.YAMLError):
        raise Obstacle("its task.toml or task.yaml cannot be read") from None


def _read_text(folder: Path, name: str) -> str | None:
    """Return a file of a task, None if there is none. Raises Obstacle for a link that leads out of its folder."""
    try:
        content = read_workspace_file(folder, name, SOURCE)
    except UserError:
        raise Obstacle(f"its {name} is no plain file") from None
    return None if content is None else content.decode("utf-8", "replace")


def _parse_task(folder: Path, text: str) -> Harbor:
    import tomllib

    values: dict[str, Any] = tomllib.loads(text)
    instruction = _read_text(folder, "instruction.md")
    if instruction is None:
        raise Obstacle("it has no instruction.md")
    return Harbor(
        folder=folder,
        prompt=instruction,
        tags=tuple(map(str, values.get("metadata", {}).get("tags", ()))),
        seconds=float(values.get("agent", {}).get("timeout_sec", SECONDS)),
        check_seconds=float(values.get("verifier", {}).get("timeout_sec", CHECK_SECONDS)),
        build=folder / "environment",
        solution=folder / "solution" / "solve.sh",
        command=f"bash {OWN}/tests/test.sh",
    )


def _parse_old_task(folder: Path) -> Harbor:
    import yaml

    values = yaml.safe_load(_read_text(folder, "task.yaml") or "")
    described = [each["description"] for each in values.get("descriptions", ()) if each.get("key") == "base"]
    prompt = values.get("instruction") or next(iter(described), "")
    if not prompt:
        raise Obstacle("its task.yaml has no instruction")
    return Harbor(
        folder=folder,
        prompt=str(prompt),
        tags=tuple(map(str, values.get("tags", ()))),
        seconds=float(values.get("max_agent_timeout_sec", SECONDS)),
        check_seconds=float(values.get("max_test_timeout_sec", CHECK_SECONDS)),
        build=folder,
        solution=folder / "solution.sh",
        # Its run-tests.sh installs pytest from the network first.
        command=add_report_check(f"python3 -m pytest -q {OWN}/tests/test_outputs.py", 1),
    )


def _build_task(name: str, task: Harbor, access: AccessSettings) -> BuiltTask:
    _refuse_links(task.folder, *(each.relative_to(task.folder) for each in (task.build, task.solution)))
    dockerfile = _read_text(task.folder, (task.build / "Dockerfile").relative_to(task.folder).as_posix())
    if dockerfile is None:
        raise Obstacle("it has no Dockerfile: its image has to be pulled")
    try:
        recipe = parse_dockerfile(dockerfile)
    except ValueError:
        raise Obstacle("its Dockerfile cannot be read") from None
    with open_scratch(access) as at:
        _lay_base(recipe, task, at)
        base = _read_files(at.root)
        reference = _run_solution(recipe, task, at, base)
    checker = _rewrite_folder(task.folder / "tests", f"{OWN}/tests", recipe)
    if not checker:
        raise Obstacle("it has no tests")
    checker |= read_report_judge()
    checker[f"{OWN}/run.sh"] = _RUN.format(command=task.command).encode()
    file = TaskFile(
        base=BaseFiles(folder=BASE),
        check=f"bash {OWN}/run.sh",
        limits=TaskLimits(seconds=task.seconds, check_seconds=task.check_seconds),
        tags=tuple(dict.fromkeys(("harbor", *(make_task_name(each) for each in task.tags)))),
    )
    draft = TaskDraft(
        file=file,
        prompt=recipe.localize(task.prompt),
        reference=reference,
        base_files=base or {".gitkeep": b""},
        checker_files=checker,
    )
    return BuiltTask(name=name, draft=draft)


def _lay_base(recipe: Recipe, task: Harbor, at: Workspace) -> None:
    """Copy what the Dockerfile copies, and run what it runs, in the sandbox. Raises Obstacle."""
    left_out = {"Dockerfile", "docker-compose.yaml", "docker-compose.yml"}
    if task.build == task.folder:
        left_out |= {"task.yaml", "solution.sh", "solution.yaml", "run-tests.sh"}
    for step in recipe.steps:
        if step.command:
            _run_command(
                at, step.command, f"its Dockerfile runs a command that fails here: {step.command[:60]}"
            )
            continue
        for source in step.sources:
            place = task.build / source
            _refuse_links(task.build, PurePosixPath(source))
            _refuse_links(at.root, PurePosixPath(step.target))
            if not place.exists():
                raise Obstacle(f"its Dockerfile copies {source!r}, which is not there")
            target = at.root / step.target
            if place.is_dir():
                files = [
                    each
                    for each in list_folder_files(place)
                    if each.path not in left_out
                    and not (task.build == task.folder and each.path.startswith("tests/"))
                ]
                target.mkdir(parents=True, exist_ok=True)
                write_files(files, target)
            else:
                file = target / place.name if step.target_is_folder else target
                copied = FolderFile(root=place.parent, path=place.name, kind="file").read()
                write_contents({file.relative_to(at.root).as_posix(): copied}, at.root)
    texts = _read_files(at.root)
    changed = {path: rewrite_paths(content, recipe) for path, content in texts.items()}
    write_contents({path: content for path, content in changed.items() if content != texts[path]}, at.root)


def _refuse_links(root: Path, *paths: PurePath) -> None:
    """Raise Obstacle for a path with a link in it: a task's own files or commands may lead it anywhere."""
    for path in paths:
        if any((root / each).is_symlink() for each in (path, *path.parents)):
            raise Obstacle("it copies through a link")


def _run_solution(recipe: Recipe, task: Harbor, at: Workspace, base: Mapping[str, bytes]) -> bytes | None:
    """Return what the task's own solution changes; None if it changes nothing here, or fails."""
    if not task.solution.is_file():
        return None
    own = _rewrite_folder(task.solution.parent, "", recipe)
    if task.build == task.folder:
        own = {path: content for path, content in own.items() if path == task.solution.name}
    write_contents({f"{OWN}/solution/{path}": content for path, content in own.items()}, at.root)
    try:
        _run_command(at, f"bash {OWN}/solution/{task.solution.name}", "its solution fails here")
    except Obstacle:
        return None
    after = {
        path: content for path, content in _read_files(at.root).items() if not path.startswith(f"{OWN}/")
    }
    before = {path: content for path, content in base.items() if not path.startswith(f"{OWN}/")}
    if any(b"\0" in content for content in after.values()) or after == before:
        return None  # no patch of texts
    return render_patch(before, after)


def _run_command(at: Workspace, command: str, failure: str) -> None:
    from sandbox.process.command import Command

    request = Command(argv=("bash", "-c", command), cwd=at.root, timeout=CHECK_SECONDS)
    try:
        done = asyncio.run(at.sandbox.run(request))
    except UserError as error:
        raise Obstacle(error.message) from None
    if done.returncode or done.ended != "exited":
        raise Obstacle(failure)


def _read_files(root: Path) -> dict[str, bytes]:
    return {each.path: each.read() for each in list_folder_files(root) if each.kind != "link"}


def _rewrite_folder(folder: Path, target: str, recipe: Recipe) -> dict[str, bytes]:
    if not folder.is_dir() or folder.is_symlink():
        return {}
    head = f"{target}/" if target else ""
    files = [each for each in list_folder_files(folder) if each.kind != "link"]
    return {f"{head}{each.path}": rewrite_paths(each.read(), recipe) for each in files}
