"""Telemetry of a session: providers, exporters, and their end with the session."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from agent.session.log import Session
from agent.telemetry.telemetry_choice import wants_content, wants_signal
from packages.telemetry.session_spans import AGENT, SessionSpans

PATIENCE = 3.0
"""Seconds that one transfer may take: a collector that does not answer must not hold up the end of a session."""

_SCOPE = "patchwright"


class SessionTelemetry:
    """The telemetry of one session. Implements `ClosedFirst`."""

    def __init__(self, session: Session, env: Mapping[str, str], version: str) -> None:
        # a collector that cannot be reached is nobody's business in the middle of a conversation
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        name = env.get("OTEL_SERVICE_NAME") or AGENT
        resource = Resource.create({SERVICE_NAME: name, SERVICE_VERSION: version})
        self._tracing = TracerProvider(resource=resource, shutdown_on_exit=False)
        if wants_signal(env, "traces"):
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

            self._tracing.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(timeout=PATIENCE)))
        readers = []
        if wants_signal(env, "metrics"):
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

            readers.append(PeriodicExportingMetricReader(OTLPMetricExporter(timeout=PATIENCE)))
        self._metering = MeterProvider(readers, resource=resource, shutdown_on_exit=False)
        self._spans = SessionSpans(
            self._tracing.get_tracer(_SCOPE, version),
            self._metering.get_meter(_SCOPE, version),
            session.id,
            has_content=wants_content(env),
        )
        session.subscribe(self._spans.handle_event)

    async def close(self) -> None:
        """End the open spans, and send what is left."""
        self._spans.close()
        await asyncio.to_thread(self._shut_down)

    def _shut_down(self) -> None:
        self._tracing.shutdown()
        self._metering.shutdown(timeout_millis=PATIENCE * 1_000)
