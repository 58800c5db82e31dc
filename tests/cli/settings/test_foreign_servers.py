"""Servers as other agents write them: a reference that is not read as one is refused."""

from __future__ import annotations

from typing import Any

import pytest

from cli.settings.foreign_servers import read_foreign_server


@pytest.mark.parametrize(
    "entry",
    [
        {"url": "https://far.example/mcp", "headers": {"Authorization": "Bearer ${TOKEN:-none}"}},
        {"url": "https://far.example/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
        {"url": "${BASE:-https://far.example}/mcp", "headers": {"A": "b"}},
    ],
)
def test_variables_of_an_address_are_kept(entry: dict[str, Any]) -> None:
    assert read_foreign_server(entry) == entry


def test_variables_of_a_command_are_kept() -> None:
    entry = {
        "command": "${BIN:-node}",
        "args": ["${HOME}/s.js", "$X"],
        "env": {"A": "${B:-c d}/e", "F": "${G}"},
    }
    assert read_foreign_server(entry) == "A='${B:-c d}/e' F=${G} '${BIN:-node}' '${HOME}/s.js' '$X'"


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "x", "args": ["${input:key}"]},
        {"command": "${workspaceFolder}/${env:X}"},
        {"command": "x", "env": {"A": "${B:-${C}}"}},
        {"url": "https://${HOST/a/b}"},
        {"url": "https://far.example", "headers": {"A": "${open"}},
    ],
)
def test_what_cannot_be_filled_in_is_refused(entry: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="is no variable that can be filled in"):
        read_foreign_server(entry)
