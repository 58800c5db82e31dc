"""Telemetry of real runs: a server that speaks OTLP receives it, one that does not holds nothing up."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from agent.telemetry.telemetry_choice import wants_content, wants_signal, wants_telemetry
from tests.support.cli import call, run, script

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


class Collector(ThreadingHTTPServer):
    """A server that reads the protocol's own messages."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.metrics: list[Any] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
        if self.path == "/v1/traces":
            request = ExportTraceServiceRequest.FromString(body)
            self.server.spans += [
                span for one in request.resource_spans for scope in one.scope_spans for span in scope.spans
            ]
        else:
            found = ExportMetricsServiceRequest.FromString(body)
            self.server.metrics += [
                each
                for one in found.resource_metrics
                for scope in one.scope_metrics
                for each in scope.metrics
            ]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Keep quiet."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    server = Collector()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.slow
def test_a_collector_gets_the_spans_and_metrics_of_a_run(collector: Collector, tmp_path: Path) -> None:
    model = script(tmp_path, [{"calls": [call("shell", command="true")]}, {"text": "Done."}])
    (tmp_path / "work").mkdir()
    done = run(
        "run", "go", "--model", model, "--no-commit", cwd=tmp_path / "work", env={ENDPOINT: collector.url}
    )
    assert (done.code, done.out) == (0, "Done.\n")
    names = sorted(each.name for each in collector.spans)
    assert names == [f"chat {model}", f"chat {model}", "execute_tool shell", "invoke_agent patchwright"]
    assert len({each.trace_id for each in collector.spans}) == 1
    assert b"Done." not in b"".join(each.SerializeToString() for each in collector.spans)
    assert {each.name for each in collector.metrics} == {
        "gen_ai.client.token.usage",
        "gen_ai.client.operation.duration",
        "gen_ai.client.operation.time_to_first_chunk",
    }


@pytest.mark.slow
def test_a_collector_that_is_gone_is_not_spoken_of(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    model = script(tmp_path, [{"text": "Done."}])
    env = {ENDPOINT: "http://127.0.0.1:9"}
    done = run("run", "go", "--model", model, "--no-commit", cwd=tmp_path / "work", env=env, timeout=60)
    assert (done.code, done.out) == (0, "Done.\n")
    assert "opentelemetry" not in done.err.lower()
    assert "Traceback" not in done.err


def test_variables_choose_what_is_sent() -> None:
    env = {ENDPOINT: "http://x"}
    assert wants_telemetry(env)
    assert not wants_telemetry({})
    assert not wants_telemetry({**env, "OTEL_SDK_DISABLED": "TRUE"})
    assert wants_signal(env, "traces")
    assert not wants_signal({**env, "OTEL_METRICS_EXPORTER": "none"}, "metrics")
    assert not wants_signal({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"}, "metrics")
    assert not wants_content(env)
    assert wants_content({"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"})
