"""`patchwright diagnose`: the step with the first error that a failed session rests on."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from agent.exit_codes import Exit
from cli.commands.options import ApiBase, Folder, Model, collect_flags
from packages.trace.session_folder import find_session_folder
from sandbox.sanitize import sanitize_text

NOTHING = 3


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command()(diagnose)


def diagnose(
    session: Annotated[
        str, typer.Argument(metavar="[ID]", help="The session; the newest of this project if not given.")
    ] = "",
    folder: Folder = Path("."),
    retry_from: Annotated[
        str,
        typer.Option(
            "--retry-from",
            metavar="error|STEP",
            help="Run on from the step of the error, or from another one, in a worktree, with the diagnosis.",
        ),
    ] = "",
    is_wrong: Annotated[
        bool, typer.Option("--wrong", help="Its result is wrong, though it ended as done.")
    ] = False,
    model: Model = None,
    api_base: ApiBase = None,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Say at which step a failed session went wrong.

    From the failed outcome backward: which edit, result or decision made what. Names the step, the kind of error, the
    evidence, and the agent where there were several. With --model, that model's opinion is printed beside it; with
    --retry-from, that model runs on. Exit code 3 if the session did not fail by its own account.
    """
    step = _parse_step(retry_from)
    found = find_session_folder(folder, session)
    flags = collect_flags(model=model, api_base=api_base)
    if step is not None:
        if is_wrong:
            raise typer.BadParameter("--wrong: whether a retry helped cannot be told from its end either")
        raise typer.Exit(retry(found, folder, step, flags, as_json=as_json))
    raise typer.Exit(
        print_diagnosis(found, folder, flags if model else {}, is_wrong=is_wrong, as_json=as_json)
    )


def _parse_step(text: str) -> int | None:
    """Return a step's number, 0 for that of the error, None for none."""
    if text in ("", "error"):
        return 0 if text else None
    if not (text.isascii() and text.isdigit() and int(text)):
        raise typer.BadParameter("--retry-from takes the number of a step, or: error")
    return int(text)


def print_diagnosis(
    session: Path, folder: Path, flags: Mapping[str, Any], *, is_wrong: bool, as_json: bool
) -> int:
    """Print the diagnosis of a session, and a model's opinion with flags. Returns 3 if there is nothing to diagnose."""
    from packages.trace import diagnosis
    from packages.trace.rows.traced_sessions import read_traces

    traces = read_traces(session)
    found = diagnosis.diagnose(traces, is_wrong=is_wrong)
    if found is None:
        return _report_nothing(session)
    told = asdict(found)
    if flags:
        rows = next(each.rows for each in traces if each.id == found.session)
        told["opinion"] = _ask_opinion(folder, flags, rows, found)
    _print(told, _format_diagnosis, as_json=as_json)
    return 0


def retry(session: Path, folder: Path, step: int, flags: Mapping[str, Any], *, as_json: bool) -> int:
    """Run a failed session on from a step, and say whether the diagnosis helped. Raises UserError."""
    from agent.app_dirs import Home
    from agent.workspace_root import find_workspace_root
    from cli.settings.layers import load_settings
    from packages.trace.diagnosis import diagnose
    from packages.trace.retry import retry_session
    from packages.trace.rows.traced_sessions import read_traces
    from sandbox.process.bounded_end import run_loop

    found = diagnose(read_traces(session))
    if found is None:
        return _report_nothing(session)
    home, (root, _) = Home.from_environment(), find_workspace_root(folder, need_git=True, without="")
    settings = load_settings(home, root, flags).session
    retried = run_loop(retry_session(session, root, home, settings, found, step))
    _print(asdict(retried), _format_retry, as_json=as_json)
    return int(Exit.DONE if retried.helped else Exit.NOT_ACHIEVED)


def _report_nothing(session: Path) -> int:
    told = f"session {session.name} did not fail, or has not ended; if its result is wrong: --wrong"
    print(sanitize_text(told), file=sys.stderr)
    return NOTHING


def _ask_opinion(folder: Path, flags: Mapping[str, Any], rows: Any, found: Any) -> dict[str, Any]:
    import os

    from agent.app_dirs import Home
    from agent.model_selection import ModelSelection
    from agent.workspace_root import find_workspace_root
    from cli.settings.layers import load_settings
    from packages.trace.model_opinion import ask_opinion
    from sandbox.process.bounded_end import run_loop

    home, (root, _) = Home.from_environment(), find_workspace_root(folder, need_git=False)
    models = ModelSelection(
        settings=load_settings(home, root, flags).session, env=os.environ, cache=home.cache
    )
    model = models.create_model(flags["model"], lambda text: print(sanitize_text(text), file=sys.stderr))
    return asdict(run_loop(ask_opinion(model, rows, found)))


def _print(told: Mapping[str, Any], form: Any, *, as_json: bool) -> None:
    from cli.output.standard_streams import print_json
    from sandbox.secrets.redaction import redact_values

    safe = redact_values(dict(told))
    assert isinstance(safe, dict)
    if as_json:
        print_json(safe)
        return
    for line in form(safe):
        print(sanitize_text(line).replace("\n", " "))


def _format_diagnosis(told: Mapping[str, Any]) -> Iterator[str]:
    where = f"step {told['step']}" if told["step"] else f"event {told['event']}"
    agent = f" of {told['agent']} (session {told['session']})" if told["agent"] else ""
    yield f"{where}{agent}: {told['kind']}"
    yield told["reason"]
    for each in told["evidence"]:
        yield f"  {each}"
    if opinion := told.get("opinion"):
        step = f"step {opinion['step']}" if opinion["step"] else "no step"
        same = "the same step" if opinion["agrees"] else step
        yield f"opinion of {opinion['model']}: {same}: {opinion['kind']}: {opinion['reason']}"


def _format_retry(told: Mapping[str, Any]) -> Iterator[str]:
    yield f"{'it helped' if told['helped'] else 'it did not help'}: {told['before']} before, {told['after']} now"
    if told["failing_before"] is not None or told["failing_after"] is not None:
        counts = (
            "no run" if each is None else str(each)
            for each in (told["failing_before"], told["failing_after"])
        )
        yield "failing tests: {} before, {} now".format(*counts)
    yield f"session {told['session']}, from step {told['step']}"
    if told["patch"]:
        yield f"what it changes in your files: git apply {told['patch']}"
    if (again := told["next_error"]) is not None:
        yield f"now step {again['step']}: {again['kind']}: {again['reason']}"
