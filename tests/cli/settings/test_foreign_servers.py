"""Servers as other agents write them: a reference that is not read as one is refused."""

from __future__ import annotations

import pytest

from cli.settings.foreign_servers import read_foreign_server


def test_a_header_with_a_default_is_refused() -> None:
    entry = {"url": "https://far.example/mcp", "headers": {"Authorization": "Bearer ${TOKEN:-none}"}}
    with pytest.raises(ValueError, match="put together from variables"):
        read_foreign_server(entry)
    entry["headers"] = {"Authorization": "Bearer ${TOKEN}"}
    assert read_foreign_server(entry) == entry
