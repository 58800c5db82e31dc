"""Servers of a client: their values are literal, and those that cannot be used are named."""

from __future__ import annotations

import pytest
from acp.schema import EnvVariable, HttpHeader, HttpMcpServer, McpServerStdio

from agent.children.process.wire import _decode_server, _encode_server
from cli.protocols.acp.client_servers import read_client_servers
from sandbox.process.command_line import CommandLine
from sandbox.secrets.redaction import MARKER, redact
from tools.mcp.server_place import HttpPlace


def test_values_are_literal_and_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-user-0123456789")
    variable = EnvVariable(name="A", value="$OPENAI_API_KEY")
    headers = [
        HttpHeader(name="X-Mine", value="${OPENAI_API_KEY}"),
        HttpHeader(name="X-Session", value="id=dGhlLWNsaWVudHMtb3du; path=/"),
    ]
    found = read_client_servers(
        [
            McpServerStdio(name="one", command="run", args=["$A", "a b"], env=[variable]),
            McpServerStdio(name="two", command="https://evil.example/mcp", args=[], env=[]),
            McpServerStdio(name="three", command="A=b", args=[], env=[]),
            HttpMcpServer(type="http", name="four", url="https://far.example/mcp", headers=headers),
        ],
        (),
    )
    assert found.notices == ()
    assert found.servers == {
        "one": CommandLine(argv=("run", "$A", "a b"), environment={"A": "$OPENAI_API_KEY"}),
        "two": CommandLine(argv=("https://evil.example/mcp",)),
        "three": CommandLine(argv=("A=b",)),
        "four": HttpPlace(url="https://far.example/mcp", headers={each.name: each.value for each in headers}),
    }
    assert redact("it is dGhlLWNsaWVudHMtb3du") == f"it is {MARKER}"
    again = {name: _decode_server(_encode_server(each)) for name, each in found.servers.items()}
    assert again == found.servers  # as a child process gets them


def test_unusable_servers_are_named() -> None:
    def make(name: str, command: str, variable: str) -> McpServerStdio:
        return McpServerStdio(
            name=name, command=command, args=[], env=[EnvVariable(name=variable, value="1")]
        )

    given = [make("a", "run", "A"), make("a", "run", "A"), make("b", "", "A"), make("c", "run", "A=B")]
    found = read_client_servers([*given, make("d", "run\0", "A"), make("mine", "run", "A")], ["mine"])
    assert list(found.servers) == ["a"]
    assert [each.partition(" is not used: ")[2] for each in found.notices] == [
        "another one has this name",
        "no command is named",
        "it sets a variable called 'A=B'",
        "its command has a NUL character",
        "the settings have one of this name",
    ]
