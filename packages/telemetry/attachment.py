"""Telemetry for a session whose environment asks for it; what sends is imported then."""

from __future__ import annotations

from collections.abc import Mapping

from agent.events import Signal
from agent.turn.runtime import Runtime


def attach_telemetry(runtime: Runtime, env: Mapping[str, str], version: str) -> None:
    """Let a session send spans and metrics; where the extra is not installed, one quiet line says so."""
    try:
        from packages.telemetry.attach import SessionTelemetry
    except ImportError:
        told = "OTEL_EXPORTER_OTLP_ENDPOINT is set, but not the extra that sends: pip install 'patchwright[otel]'"
        runtime.session.append(Signal(name="telemetry", detail=told))
        return
    runtime.telemetry = SessionTelemetry(runtime.session, env, version)
