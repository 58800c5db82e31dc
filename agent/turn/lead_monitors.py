"""The monitors of the packages that take the lead of a turn when its model gets nowhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agent.context.profile.profiles import is_below_a_billion
from agent.monitor.monitors import LateMonitors

if TYPE_CHECKING:
    from agent.monitor.monitor import Monitor
    from agent.turn.runtime import Runtime


def attach_lead(runtime: Runtime) -> None:
    """Let the harness lead turns of a session, where its settings, its tools and its mode allow that."""
    when = runtime.settings.lead.when
    if when == "never" or runtime.model.name == "offline":
        return

    def build() -> Iterable[Monitor]:
        from sandbox.extensions import load_extension

        lead: Iterable[Monitor] = load_extension("monitors", "lead")(runtime)
        return lead

    def leads_at_once() -> bool:
        is_small = (
            runtime.profile.profile.name != "generic"
        )  # one that fills in code is led from the first request on
        return when == "always" or is_small or is_below_a_billion(runtime.loop.model.name)

    runtime.loop.monitors.prepend_monitor(LateMonitors(build=build, is_due=leads_at_once))
