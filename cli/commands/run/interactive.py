"""The interactive session: a prompt at once, with the session loading behind it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.app_dirs import Home
from agent.workspace_root import find_workspace_root
from cli.main_guard import run_guarded
from cli.settings.terminal_settings import read_terminal_settings
from cli.tui.terminal_session import Opening, run_conversations

if TYPE_CHECKING:
    from cli.tui.conversation.opened_session import OpenedSession


def open_interactive(folder: Path, flags: Mapping[str, Any], *, session: str, commit: bool) -> int:
    """Open the REPL in a folder, in a new or an existing session. Nothing is committed without a request."""
    home = Home.from_environment()
    root, _ = find_workspace_root(folder, need_git=commit)

    def open_session(session: str, proceed: Callable[[], None]) -> OpenedSession:
        from agent.model_selection import ModelSelection
        from agent.session.model_notices import make_notice_callback
        from cli.invocation import (
            NO_MODEL,
            Invocation,
            load_invocation_settings,
            make_runtime,
        )
        from cli.tui.conversation.header import find_runner
        from cli.tui.conversation.opened_session import OpenedSession
        from cli.tui.start.first_run import is_first_run

        asked = Invocation(
            folder=folder,
            flags=flags,
            session=session,
            offer_commit=commit,
            commit=False,
            attended=True,
            proceed=proceed,
        )
        settings = load_invocation_settings(asked, home)
        runtime = make_runtime(asked, home, settings.session)
        models = ModelSelection(settings=settings.session, env=os.environ, cache=home.cache)
        runtime.session.replayed.proceed = _do_nothing  # already open: readers now read to its end
        return OpenedSession(
            runtime=runtime,
            make_model=lambda name: models.create_model(name, make_notice_callback(runtime.session)),
            settings=settings,
            home=home,
            notice=NO_MODEL,
            runner=find_runner(runtime.workspace),
            is_first=not session and is_first_run(home, settings, runtime.session.folder, os.environ),
        )

    terminal = read_terminal_settings(home.config, plain=bool(flags.get("plain")))
    return run_conversations(Opening(enter=open_session, root=root, terminal=terminal, home=home), session)


def run_bare_command() -> None:
    """Open a new session with default options, without importing the command-line parser."""
    run_guarded(lambda: sys.exit(open_interactive(Path(), {}, session="", commit=True)))


def _do_nothing() -> None:
    """Do nothing."""
