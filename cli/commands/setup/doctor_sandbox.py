"""`patchwright doctor --sandbox`: all that commands can see and reach on this machine, and why."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from agent.app_dirs import Home
from agent.exit_codes import Exit
from cli.output.standard_streams import print_json
from sandbox.lazy_dataclass import dataclass
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from sandbox.access_settings import AccessSettings
    from sandbox.process.command import Sandbox
    from sandbox.view.machine_view import MachineView

ACCESS = {
    "system": "read",
    "toolchain": "read",
    "cache": "read; what is written is thrown away",
    "setting": "read",
}
"""Rights of commands in a place, by its kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxReport:
    """What a session's commands could see now.

    hidden: existing places of keys, which stay hidden also where they are in visible ones
    overlays: overlays work; None where the backend has none
    sockets: which Unix sockets commands can reach, in words
    """

    root: Path
    name: str
    warning: str
    view: MachineView
    hidden: tuple[Path, ...]
    overlays: bool | None
    sockets: str


def run_sandbox_report(folder: Path, *, as_json: bool) -> int:
    """Print what commands can see. Raises UserError: no folder, or no such sandbox."""
    from agent.workspace_root import find_workspace_root
    from cli.settings.layers import load_settings

    root, _ = find_workspace_root(folder, need_git=False)
    home = Home.from_environment()
    report = build_sandbox_report(root, home, load_settings(home, root, {}, os.environ).session.access)
    if as_json:
        print_json(_build_page(report))
    else:
        print(sanitize_text("\n".join(_format_lines(report))))
    return int(Exit.DONE)


def build_sandbox_report(root: Path, home: Home, access: AccessSettings) -> SandboxReport:
    """Choose the sandbox as a session does, and ask for its view. Raises UserError as `choose_sandbox` does."""
    from sandbox.backends.constraints import Constraints
    from sandbox.backends.selection import choose_sandbox
    from sandbox.secrets.child_environment import build_child_environment
    from sandbox.view.visible_paths import resolve_visible_paths

    shown = resolve_visible_paths(access.visible_paths)
    hidden = (home.data, home.config)
    with tempfile.TemporaryDirectory(prefix="patchwright-doctor-") as scratch:
        sandbox = choose_sandbox(
            root,
            access.sandbox,
            cache=home.cache,
            spill=Path(scratch),
            hidden=hidden,
            image=access.container_image,
            visible=shown,
        )
    bounds = Constraints(root, hidden=hidden, visible=shown)
    secrets = bounds.collect_secret_paths()
    return SandboxReport(
        root=bounds.root,
        name=sandbox.name,
        warning=sandbox.warning,
        view=bounds.get_view(build_child_environment({}, bounds.root), secrets),
        hidden=tuple(sorted(secrets)),
        overlays=getattr(sandbox, "overlays", None),
        sockets=_describe_sockets(sandbox),
    )


def _describe_sockets(sandbox: Sandbox) -> str:
    return _SOCKETS.get(sandbox.name, "all that the image has")


_SOCKETS = {
    "bubblewrap": "their own, those shown by visible_paths, and those that other programs make in the workspace "
    "while a command runs",
    "landlock": "none at all, not even their own: Landlock cannot tell them apart",
    "seatbelt": "none of other programs",
    "unconfined": "all",
}


def _build_page(report: SandboxReport) -> dict[str, object]:
    return {
        "sandbox": report.name,
        "warning": report.warning,
        "workspace": str(report.root),
        "overlays": report.overlays,
        "visible": [
            {"path": str(each.path), "kind": each.kind, "access": ACCESS[each.kind], "reason": each.reason}
            for each in report.view.places
        ],
        "empty": [str(each) for each in report.view.emptied],
        "hidden": [str(each) for each in report.hidden],
        "sockets": report.sockets,
    }


def _format_lines(report: SandboxReport) -> list[str]:
    lines = [f"sandbox    {report.name}", *([f"           {report.warning}"] if report.warning else [])]
    if report.name in ("unconfined", "container"):
        seen = "everything" if report.name == "unconfined" else "the image, and the workspace"
        return [*lines, f"           Commands see {seen}."]
    if report.overlays is not None:
        state = (
            "work: what commands write to caches is thrown away"
            if report.overlays
            else ("do not work here: caches are read-only, and named pipes in them can be written")
        )
        lines.append(f"overlays   {state}")
    lines += [f"sockets    {report.sockets}", "", "Commands can see"]
    lines.append(f"  {report.root}: the workspace")
    for each in report.view.places:
        lines.append(f"  {each.path}: {each.reason} ({ACCESS[each.kind]})")
    empty = (
        "are empty, and what is written there is thrown away"
        if report.name == "bubblewrap"
        else "cannot be read"
    )
    lines += ["", f"Everything else is hidden. These {empty}:"]
    lines += [f"  {each}" for each in report.view.emptied]
    if report.hidden:
        lines += ["", "Hidden wherever they are, because keys or histories are stored there:"]
        lines += [f"  {each}" for each in report.hidden]
    return [*lines, "", "To show more, list it in `visible_paths` of your settings."]
