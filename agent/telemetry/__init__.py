"""Spans and metrics of a session by OpenTelemetry, sent where the variables `OTEL_*` say."""
