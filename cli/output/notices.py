"""Notices to the user in addition to the answer, for `--output json`, which shows nothing else of a run."""

from __future__ import annotations

from agent.events import Event, ObservationEvent, Signal
from agent.turn.runtime import Runtime
from sandbox.fs.installation import build_exposure_warning

SETTINGS_NOTICE = "settings"
"""Name of signals about settings that are not used, such as rules of a project that is not trusted."""


class Notices:
    """Distinct notices: settings are not used, commands are confined weakly or not at all, commands can change
    Patchwright's own code, parts of the repository were not run because it is not trusted, a kill cut off child
    sessions.

    Subscribes to the session on construction.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.found: list[str] = []
        self._add_sentence(runtime.workspace.sandbox.warning)
        self._add_sentence(build_exposure_warning(runtime.workspace.root))
        self._add_sentence(read_resume_notice(runtime))
        runtime.session.subscribe(self._observe_event)

    def _observe_event(self, event: Event) -> None:
        if isinstance(event, Signal) and event.name == SETTINGS_NOTICE:
            self._add_sentence(event.detail)
        if isinstance(event, ObservationEvent):
            self._add_sentence(str(event.data.get("untrusted", "")))

    def _add_sentence(self, sentence: str) -> None:
        if sentence and sentence not in self.found:
            self.found.append(sentence)


def read_resume_notice(runtime: Runtime) -> str:
    """Return what a kill did to the children of a resumed session, "" if nothing."""
    if runtime.environment is None or not runtime.environment.request.session:
        return ""
    from agent.children.unfinished import read_cut_off_notice

    return read_cut_off_notice(runtime.session)
