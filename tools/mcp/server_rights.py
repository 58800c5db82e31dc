"""What one server may do beyond reading the workspace: write, reach hosts, keep files. The user's settings say so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sandbox.fs.private_files import create_private_folder
from sandbox.process.command_line import CommandLine
from tools.core.surroundings import Surroundings
from tools.mcp.server_place import ServerPlace
from tools.mcp.server_settings import WORKSPACE, McpServerSettings

_KEPT_VARIABLES = ("XDG_DATA_HOME", "XDG_STATE_HOME", "TMPDIR")
"""Variables that lead a server to the folder that is kept."""


def fill_in_kept_folder(settings: McpServerSettings, at: Surroundings, name: str) -> McpServerSettings:
    """Return the settings with `${KEEP}` in the command line replaced by the server's own folder, which is made."""
    if not settings.keep:
        return settings
    folder = _get_kept_folder(at, name)
    try:
        create_private_folder(folder)
    except OSError as error:
        raise ValueError(f"no folder for what it keeps: {error.strerror}") from None
    return replace(settings, command=settings.command.replace("${KEEP}", str(folder)))


def grant_rights(place: ServerPlace, settings: McpServerSettings, at: Surroundings, name: str) -> ServerPlace:
    """Return the place of a server with what its settings allow. Raises ValueError."""
    if not isinstance(place, CommandLine):
        return place
    outside = tuple(Path(each).expanduser() for each in settings.writable if each != WORKSPACE)
    for each in outside:
        if not each.is_dir():
            raise ValueError(f"writable: there is no folder {str(each)!r}: make it first")
    environment = dict(place.environment)
    if settings.keep:
        folder = _get_kept_folder(at, name)
        environment = {**dict.fromkeys(_KEPT_VARIABLES, str(folder)), **environment}
        outside = (*outside, folder)
    return replace(
        place,
        environment=environment,
        writable=(*place.writable, *outside),
        hosts=tuple(settings.network),
        is_writer=WORKSPACE in settings.writable,
    )


def describe_rights(place: object) -> str:
    """Return what a server may do beyond reading, as a clause; "" for nothing."""
    if not isinstance(place, CommandLine):
        return ""
    folders = [WORKSPACE] * place.is_writer + [str(each) for each in place.writable]
    parts = [f"writes {', '.join(folders)}"] * bool(folders) + [f"reaches {', '.join(place.hosts)}"] * bool(
        place.hosts
    )
    return "; ".join(parts)


def _get_kept_folder(at: Surroundings, name: str) -> Path:
    spelled = "".join(each if each.isalnum() or each in "-_" else "_" for each in name)
    return (at.folders.kept or at.folders.cache / "kept") / spelled
