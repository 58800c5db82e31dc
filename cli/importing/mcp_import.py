"""The MCP servers of a project's `.mcp.json`, which other agents share: the user takes them over as their own."""

from __future__ import annotations

import json
from pathlib import Path

from cli.importing.import_plan import ImportPlan, add_servers
from cli.settings.settings_files import SERVER_FILE
from sandbox.errors import UserError
from sandbox.fs.regular_file import SETTINGS
from sandbox.fs.untrusted_file import read_workspace_file


def read_mcp(root: Path) -> ImportPlan:
    """Return the servers of the project at `root`."""
    plan = ImportPlan()
    try:
        content = read_workspace_file(root, SERVER_FILE, SETTINGS)
        table = json.loads(content) if content is not None else {}
    except UserError as error:
        plan.left.append(error.message)
        return plan
    except (ValueError, RecursionError) as error:
        plan.left.append(f"{SERVER_FILE}: it is no JSON: {error}")
        return plan
    add_servers(plan, table.get("mcpServers") if isinstance(table, dict) else None, SERVER_FILE)
    return plan
