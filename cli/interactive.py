"""The interactive session: a prompt at once, and behind it the session that answers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.home import Home
from agent.locate import find_workspace_root
from cli.ending import ended
from cli.repl import Opening, start
from cli.settings.terminal import at_once

if TYPE_CHECKING:
    from cli.repl.opened import Opened


def interactive(folder: Path, flags: Mapping[str, Any], *, session: str, commit: bool) -> int:
    """Open the REPL in a folder, in a new session or in an existing one. Nothing is committed unasked."""
    home = Home.from_environment()
    root, _ = find_workspace_root(folder, need_git=commit)

    def enter(session: str, proceed: Callable[[], None]) -> Opened:
        from dataclasses import replace

        from agent.runtime import make_notice_callback
        from cli.invocation import NO_MODEL, Invocation, make_runtime, settings_for
        from cli.models import model_called
        from cli.repl.opened import Opened

        asked = Invocation(folder=folder, flags=flags, session=session, offer_commit=commit, commit=False)
        settings = settings_for(asked, home)
        asked = replace(asked, approval=settings.approval, proceed=proceed)
        runtime = make_runtime(asked, home, settings)
        runtime.session.replayed.proceed = _on  # it is open: who reads it from now on reads to its end
        return Opened(
            runtime=runtime,
            make_model=lambda name: model_called(name, settings, home, make_notice_callback(runtime.session)),
            settings=settings,
            home=home,
            notice=NO_MODEL,
        )

    terminal = at_once(home.config, plain=bool(flags.get("plain")))
    return start(Opening(enter=enter, root=root, terminal=terminal, home=home), session)


def bare() -> None:
    """The bare command on a terminal: a new session with nothing said about it, without the command line's parser."""
    ended(lambda: sys.exit(interactive(Path(), {}, session="", commit=True)))


def _on() -> None:
    """Nothing stops it."""
