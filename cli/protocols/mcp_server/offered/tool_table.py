"""The table of the tools that the server offers."""

from __future__ import annotations

from collections.abc import Mapping

from cli.protocols.mcp_server.offered.apply_tool import APPLY
from cli.protocols.mcp_server.offered.code_tools import LOCALIZE, LOCALIZE_TEXT, MAP, SYMBOLS
from cli.protocols.mcp_server.offered.review_tool import REVIEW
from cli.protocols.mcp_server.offered.run_tests_tool import RUN_TESTS
from cli.protocols.mcp_server.offered.run_tool import RUN
from cli.protocols.mcp_server.served_tool import ServedTool
from sandbox.extensions import load_extension

REPAIR: ServedTool = load_extension("served_tools", "repair")
TOOLS = (LOCALIZE, SYMBOLS, MAP, RUN_TESTS, REPAIR, APPLY, REVIEW, RUN)
READING = (LOCALIZE_TEXT, SYMBOLS, MAP, REVIEW)
"""Tools of a server that only reads."""


def choose_tools(*, reads_only: bool) -> Mapping[str, ServedTool]:
    """Return the tools by name."""
    return {each.name: each for each in (READING if reads_only else TOOLS)}
