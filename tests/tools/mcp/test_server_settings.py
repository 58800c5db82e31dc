"""Entries of the table `mcp`: command lines, addresses and tables; wrong ones are refused with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.app_dirs import Home
from cli.settings.layers import load_settings
from sandbox.errors import UserError
from sandbox.process.command_line import CommandLine
from tools.mcp.server_place import HttpPlace, find_place
from tools.mcp.server_settings import McpServerSettings, expand_headers, normalize_server

URL = "https://tickets.example/mcp"


def write_settings(text: str) -> Home:
    home = Home.from_environment()
    home.config.mkdir(parents=True, exist_ok=True)
    (home.config / "settings.toml").write_text(text)
    return home


def test_an_entry_is_a_command_an_address_or_a_table() -> None:
    home = write_settings(
        f'[mcp]\nlocal = "tickets-mcp --read-only"\nfar = "{URL}"\n'
        f'[mcp.table]\nurl = "{URL}"\nheaders = {{ Authorization = "Bearer $TICKETS_TOKEN" }}\ncall_timeout = 20\n'
        '[mcp.slow]\ncommand = "slow-mcp"\nstart_timeout = 90\n'
    )
    found = load_settings(home, None, {}, {}).session.tools.mcp
    assert {name: normalize_server(each) for name, each in found.items()} == {
        "local": McpServerSettings(command="tickets-mcp --read-only"),
        "far": McpServerSettings(url=URL),
        "table": McpServerSettings(
            url=URL, headers={"Authorization": "Bearer $TICKETS_TOKEN"}, call_timeout=20.0
        ),
        "slow": McpServerSettings(command="slow-mcp", start_timeout=90.0),
    }


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        (
            '"http://tickets.example/mcp"',
            "tickets.example is another machine: its address begins with https://",
        ),
        ('"https://"', "'https://' is no address that begins with https:// or http://"),
        ('"https://me:secret@tickets.example"', "a password is no part of the address"),
        (f'{{ url = "{URL}", command = "x" }}', "give either `command` or `url`"),
        ("{}", "give either `command` or `url`"),
        ('{ command = "x", headers = { A = "b" } }', "headers are for a `url`"),
        (f'{{ url = "{URL}", headers = {{ "A B" = "c" }} }}', "the header 'A B' has characters"),
        (f'{{ url = "{URL}", call_timeout = 0 }}', "a time limit is above 0"),
        (f'{{ url = "{URL}", token = "x" }}', "unknown setting 'mcp.far.token'"),
        ('"unfinished \'"', "No closing quotation"),
    ],
)
def test_a_wrong_entry_is_refused_with_the_reason(entry: str, why: str) -> None:
    home = write_settings(f"[mcp]\nfar = {entry}\n")
    with pytest.raises(UserError) as refused:
        load_settings(home, None, {}, {})
    assert why in refused.value.message


def test_headers_take_values_of_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TICKETS_TOKEN", "t0k")
    monkeypatch.delenv("NOT_THERE", raising=False)
    headers = {"Authorization": "Bearer $TICKETS_TOKEN", "X-Team": "${NOT_THERE:-b}a$1"}
    assert expand_headers(headers) == {"Authorization": "Bearer t0k", "X-Team": "ba$1"}
    for value in ("$NOT_THERE", "a ${NOT_THERE}"):
        with pytest.raises(ValueError, match="the variable NOT_THERE is not set"):
            expand_headers({"X-Team": value})


def test_a_place_takes_values_of_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value is not read for variables again, and an empty variable is set."""
    monkeypatch.setenv("DEEP", "${TICKETS_HOST} $X 'y")
    monkeypatch.setenv("EMPTY", "")
    monkeypatch.setenv("TICKETS_HOST", "tickets.example")
    monkeypatch.delenv("NOT_THERE", raising=False)
    line = "A=$DEEP B='${EMPTY:-no}/${DEEP}' ${NOT_THERE:-tickets-mcp} --at '${DEEP}' $DEEP"
    deep = "${TICKETS_HOST} $X 'y"
    assert find_place(McpServerSettings(command=line)) == CommandLine(
        argv=("tickets-mcp", "--at", deep, "$DEEP"), environment={"A": deep, "B": f"/{deep}"}
    )
    assert find_place(McpServerSettings(url="https://${TICKETS_HOST}/mcp")) == HttpPlace(url=URL)


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ({"command": "x ${NOT_THERE}"}, "the variable NOT_THERE is not set: export it"),
        ({"command": "${NOT_THERE} x"}, "the variable NOT_THERE is not set"),
        ({"command": "A=${NOT_THERE} x"}, "the variable NOT_THERE is not set"),
        ({"url": "https://${NOT_THERE}/mcp"}, "the variable NOT_THERE is not set"),
        ({"url": "${NOT_THERE:-http://tickets.example}"}, "tickets.example is another machine"),
    ],
)
def test_a_place_without_a_value_is_refused(
    monkeypatch: pytest.MonkeyPatch, setting: dict[str, str], why: str
) -> None:
    monkeypatch.delenv("NOT_THERE", raising=False)
    with pytest.raises(ValueError, match=why):
        find_place(McpServerSettings(**setting))


def test_an_address_of_one_layer_gets_no_headers_of_another(tmp_path: Path) -> None:
    home = write_settings(f'[mcp.far]\nurl = "{URL}"\nheaders = {{ Authorization = "Bearer mine" }}\n')
    environment = {"PATCHWRIGHT_MCP": '{ far = { url = "https://other.example/mcp" } }'}
    found = load_settings(home, None, {}, environment).session.tools.mcp
    assert found == {"far": McpServerSettings(url="https://other.example/mcp")}
