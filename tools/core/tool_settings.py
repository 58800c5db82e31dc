"""Settings of the tools. Tools receive the session's own object, by reference."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from sandbox.lazy_dataclass import dataclass
from sandbox.settings_validation import FORBID_UNKNOWN
from tools.mcp.server_settings import McpServerSettings
from tools.web.web_settings import WebSettings

Format = Literal["replace", "symbol", "lines", "patch", "blocks", "diff", "whole"]
"""Edit formats; described in tools/edit/format_registry.py."""


ToolSearch = Literal["auto", "always", "never"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TestSettings:
    """How a project is tested. `command` overrides what `run_tests` finds."""

    __pydantic_config__ = FORBID_UNKNOWN

    command: str = ""
    timeout: float = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EditSettings:
    """How a model edits files. `formats`: in which it is told to write; None: those that its family writes well."""

    __pydantic_config__ = FORBID_UNKNOWN

    formats: list[Format] | None = None
    syntax_errors: Literal["report", "refuse"] = "report"
    lint: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSettings:
    """Settings that tools read.

    shell_timeout: seconds that a command may take
    kernel_memory: MiB of private memory of a kernel; an allocation beyond it raises MemoryError there
    secrets_allowed: patterns of paths (`tests/fixtures/*`) whose new keys and tokens may be committed: made-up ones
    language_servers: by language (`python`, `c`, `typescript`) the command line of a server that the session may
    ask. They run in the sandbox, but read what the project configures: name those that you trust with it
    mcp: servers of the Model Context Protocol, by a name for each: the command line that starts it, an address,
    or a table (tools.mcp.server_settings)
    tool_search: when the tools of servers are looked up instead of sent with every request (tools.discovery)
    """

    shell_timeout: float = 120.0
    kernel_memory: int = 4096
    secrets_allowed: list[str] = field(default_factory=list)
    language_servers: dict[str, str] = field(default_factory=dict)
    mcp: dict[str, str | McpServerSettings] = field(default_factory=dict)
    tool_search: ToolSearch = "auto"
    tests: TestSettings = field(default_factory=TestSettings)
    edit: EditSettings = field(default_factory=EditSettings)
    web: WebSettings = field(default_factory=WebSettings)
