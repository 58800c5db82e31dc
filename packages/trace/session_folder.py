"""The folder of the session that a command names."""

from __future__ import annotations

from pathlib import Path

from agent.app_dirs import Home
from agent.session.session_preview import list_logs
from agent.workspace_root import find_workspace_root
from sandbox.errors import Fault, UserError


def find_session_folder(folder: Path, session: str) -> Path:
    """Return the folder of a project's session, of the newest one for "". Raises UserError if there is none."""
    from cli.commands.run.resume import find_newest_session

    home = Home.from_environment()
    root, _ = find_workspace_root(folder, need_git=False)
    name = session or find_newest_session(home, root)
    sessions = home.get_project_folder(root) / "sessions"
    if Path(name).name != name or not list_logs(sessions / name, "log.jsonl"):
        raise UserError(
            Fault.USAGE, f"no session {name!r} in this project", "List them: patchwright sessions"
        )
    return sessions / name
