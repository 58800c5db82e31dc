"""`patchwright select`: choose the best of several patches or programs by evidence."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.app_dirs import Home
from agent.exit_codes import Exit
from agent.workspace_root import find_workspace_root
from cli.commands.options import ApiBase, Folder, Model, Tests, collect_flags
from cli.output.standard_streams import print_json
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from agent.session_settings import SessionSettings
    from agent.turn.side_calls import SideCalls
    from packages.search.programs.checks import Check
    from packages.search.select.program_selection import ProgramSelection
    from packages.search.select.tournament import Ask
    from sandbox.process.command import Sandbox
    from tools.core.workspace import Workspace

LARGEST = 4 << 20
"""Bytes of a file with a candidate or with checks."""

PATIENCE, ANSWER = 60.0, 400
"""Seconds and tokens for one opinion: a word, and what a model may think before it."""


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command()(select)


def select(
    candidates: Annotated[
        list[str], typer.Argument(metavar="CANDIDATE…", help="Patches, or Python files with --function.")
    ],
    folder: Folder = Path("."),
    function: Annotated[
        str, typer.Option("--function", metavar="NAME", help="Candidates are programs with this function.")
    ] = "",
    checks: Annotated[
        str, typer.Option("--checks", metavar="FILE", help="Assertions or examples that have to hold.")
    ] = "",
    generated: Annotated[
        str, typer.Option("--generated", metavar="FILE", help="Assertions that may be wrong, as a model's.")
    ] = "",
    tests: Tests = None,
    task: Annotated[str, typer.Option("--task", metavar="TEXT", help="What the candidates are for.")] = "",
    least: Annotated[
        float, typer.Option("--confidence", min=0, max=1, help="Choose nothing below this confidence.")
    ] = 0.5,
    model: Model = None,
    api_base: ApiBase = None,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Choose the best of several patches or programs by evidence.

    Each candidate runs in the sandbox. A model, if one is set up, is asked only about those that evidence leaves equal.
    """
    request = _Request(
        candidates=candidates, function=function, checks=checks, generated=generated, task=task, least=least
    )
    flags = collect_flags(model=model, api_base=api_base, test_command=tests)
    raise typer.Exit(print_selection(folder, request, flags, as_json=as_json))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """Arguments of the command. candidates, checks, generated: paths; least: confidence"""

    candidates: Sequence[str]
    function: str
    checks: str
    generated: str
    task: str
    least: float


def print_selection(folder: Path, request: _Request, flags: Mapping[str, Any], *, as_json: bool) -> int:
    """Print a selection. Returns DONE for a choice, TESTS_FAIL if all candidates fail, NOT_ACHIEVED if it abstains.

    Raises UserError.
    """
    if len(request.candidates) < 2:
        raise UserError(Fault.USAGE, "there is nothing to choose: give two or more candidates")
    if not request.function and (request.checks or request.generated):
        raise UserError(Fault.USAGE, "--checks and --generated are for programs", "Name their --function.")
    texts = [_read_text(each) for each in request.candidates]
    root, _ = find_workspace_root(folder, need_git=False)
    from sandbox.process.bounded_end import run_loop

    found = run_loop(_select(root, request, texts, flags))
    if as_json:
        print_json(_build_data(request, found))
    else:
        print(sanitize_text("\n".join(_format_selection(request, found))))
    if found.choice.abstained:
        return int(Exit.TESTS_FAIL if found.choice.is_refused else Exit.NOT_ACHIEVED)
    return int(Exit.DONE)


async def _select(
    root: Path, request: _Request, texts: Sequence[str], flags: Mapping[str, Any]
) -> ProgramSelection:
    from cli.settings.layers import load_settings

    home = Home.from_environment()
    settings = load_settings(home, root, flags).session
    async with _Judge(settings=settings, home=home) as judge:
        if request.function:
            return await _select_program(root, request, texts, judge.ask)
        return await _select_patch(root, request, texts, settings, judge.ask)


async def _select_program(
    root: Path, request: _Request, texts: Sequence[str], ask: Ask | None
) -> ProgramSelection:
    from packages.search.programs.program_runner import Program, ProgramRunner
    from packages.search.select.program_selection import Evidence, select_program

    evidence = Evidence(
        checks=_read_checks(request.checks, request.function),
        suggested=_read_checks(request.generated, request.function),
        task=request.task,
    )
    programs = [
        Program(name=name, function=request.function, source=text)
        for name, text in zip(request.candidates, texts, strict=True)
    ]
    runner = ProgramRunner(sandbox=_choose_sandbox(root, None), folder=root)
    return await select_program(programs, evidence, runner, ask=ask, least_confidence=request.least)


async def _select_patch(
    root: Path, request: _Request, texts: Sequence[str], settings: SessionSettings, ask: Ask | None
) -> ProgramSelection:
    import shutil
    import tempfile

    from agent.app_dirs import make_private_folder
    from packages.search.select.patch_selection import PatchTask, select_patch

    cache = make_private_folder(Home.from_environment().cache)
    place = Path(tempfile.mkdtemp(prefix="select-", dir=cache))
    try:
        at = _open_workspace(root, place, settings)
        task = PatchTask(text=request.task, seconds=settings.tools.tests.timeout)
        return await select_patch(texts, at, task, ask=ask, least_confidence=request.least)
    finally:
        shutil.rmtree(place, ignore_errors=True)  # leftovers are only a cache


def _open_workspace(root: Path, place: Path, settings: SessionSettings) -> Workspace:
    from agent.app_dirs import make_private_folder
    from sandbox.fs.workspace_tree import Tree
    from tools.core.artifacts import Artifacts
    from tools.core.tool_folders import ToolFolders
    from tools.core.workspace import Workspace

    home = Home.from_environment()
    return Workspace(
        root=root,
        files=Tree(root),
        sandbox=_choose_sandbox(root, make_private_folder(place / "spill")),
        artifacts=Artifacts(place / "artifacts"),
        settings=settings.tools,
        journal=place / "journal",
        folders=ToolFolders(cache=place / "cache", shared=home.cache),
    )


def _choose_sandbox(root: Path, spill: Path | None) -> Sandbox:
    """Return a sandbox without network. Raises UserError if commands cannot be confined here."""
    from sandbox.backends.selection import choose_sandbox

    chosen = choose_sandbox(root, spill=spill)
    if chosen.name == "unconfined":
        hint = "See `patchwright doctor`."
        raise UserError(Fault.CONFIGURATION, "candidates run only in a sandbox, and none works here", hint)
    return chosen


@dataclass(slots=True, kw_only=True)
class _Judge:
    """The model of the role "judge". ask: None without a model"""

    settings: SessionSettings
    home: Home
    ask: Ask | None = None
    _side: SideCalls | None = None

    async def __aenter__(self) -> _Judge:
        from agent.model.routing.roles import Role
        from agent.model_selection import ModelSelection

        models = ModelSelection(settings=self.settings, env=os.environ, cache=self.home.cache)
        if models.main_name == "offline" and not self.settings.models.judge:
            return self
        self._side = models.create_side_calls()
        if self._side.roles.get_writer(Role.JUDGE) is not None:
            self.ask = self._request_opinion
        return self

    async def __aexit__(self, *_: object) -> None:
        from agent.model.routing.roles import Role

        if self._side is not None:
            await self._side.roles.get_model(Role.JUDGE).close()
            await self._side.roles.close()

    async def _request_opinion(self, prompt: str) -> str:
        from agent.model.routing.roles import Role
        from cli.output.error_output import write_user_error

        assert self._side is not None
        try:
            return await self._side.request_text(
                prompt, purpose="selection", role=Role.JUDGE, patience=PATIENCE, max_output=ANSWER
            )
        except UserError as error:
            write_user_error(error)
            return ""


def _read_text(path: str) -> str:
    from sandbox.fs.regular_file import read_regular_file

    content = read_regular_file(path, LARGEST)
    if content is None:
        raise UserError(Fault.USAGE, f"no such file: {path!r}")
    return content.decode("utf-8", "replace")


def _read_checks(path: str, function: str) -> list[Check]:
    from packages.search.programs.checks import parse_checks

    if not path:
        return []
    found = parse_checks(_read_text(path), function)
    if not found:
        hint = f"For example a line: assert {function}(1) == 2"
        raise UserError(Fault.USAGE, f"{path!r} has no assertion or example of {function!r}", hint)
    return found


def _format_selection(request: _Request, found: ProgramSelection) -> list[str]:
    choice, names = found.choice, request.candidates
    head = f"abstained: {choice.abstained}" if choice.abstained else f"chosen: {names[choice.best]}"
    lines = [*([choice.caution] if choice.caution else []), head, f"confidence: {choice.confidence:.2f}"]
    if choice.abstained:
        lines.append(f"first in order: {names[choice.best]}")
    if choice.decided_by:
        lines.append(f"decided by: {choice.decided_by}")
    for level in choice.levels:
        note = f" ({level.note})" if level.note else ""
        lines.append(f"{level.name}, {level.evidence}{note}")
        lines += [
            f"  {names[each]}: {level.details[each]}" for each in choice.ranking if each in level.details
        ]
    if found.difference is not None:
        told = found.difference
        call = f"{request.function or 'the function'}{_format_call(told.call)}"
        lines.append(
            f"{call} → {told.result} by {names[choice.best]}, {told.other_result} by {names[told.other]}"
        )
    if found.runs:
        lines.append(f"{found.runs} runs, {found.seconds:.1f} s")
    return lines


def _format_call(text: str) -> str:
    """Return the arguments of a call as a person writes them."""
    import ast

    positional, named = ast.literal_eval(text)
    return f"({', '.join([*map(repr, positional), *(f'{name}={value!r}' for name, value in named.items())])})"


def _build_data(request: _Request, found: ProgramSelection) -> dict[str, Any]:
    choice, names = found.choice, request.candidates
    told = found.difference
    return {
        "chosen": None if choice.abstained else names[choice.best],
        "abstained": choice.abstained,
        "caution": choice.caution,
        "confidence": round(choice.confidence, 3),
        "decided_by": choice.decided_by,
        "ranking": [names[each] for each in choice.ranking],
        "levels": [
            {
                "name": each.name,
                "evidence": each.evidence,
                "note": each.note,
                "details": {names[number]: text for number, text in each.details.items()},
                "left": [names[number] for number in each.left],
            }
            for each in choice.levels
        ],
        "difference": None
        if told is None
        else {
            "call": _format_call(told.call),
            "best": told.result,
            "other": names[told.other],
            "other_result": told.other_result,
        },
        "runs": found.runs,
        "seconds": round(found.seconds, 2),
    }
