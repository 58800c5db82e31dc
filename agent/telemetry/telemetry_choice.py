"""Whether the environment asks for telemetry. Read at each start with variables of OpenTelemetry."""

from __future__ import annotations

from collections.abc import Mapping

ENDPOINTS = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)

CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The conventions' variable for texts of prompts, replies and tools; they are left out unless it is `true`."""


def wants_telemetry(env: Mapping[str, str]) -> bool:
    """Whether a variable names a collector, and none turns telemetry off."""
    if env.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    return any(env.get(each) for each in ENDPOINTS)


def wants_signal(env: Mapping[str, str], signal: str) -> bool:
    """Whether a signal (`traces`, `metrics`) is sent: a collector is named for it, and its exporter is not `none`."""
    if env.get(f"OTEL_{signal.upper()}_EXPORTER", "otlp").strip().lower() != "otlp":
        return False
    return bool(env.get(ENDPOINTS[0]) or env.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT"))


def wants_content(env: Mapping[str, str]) -> bool:
    """Whether texts are wanted in the spans, too."""
    return env.get(CONTENT, "").strip().lower() == "true"
