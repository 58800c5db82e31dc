"""The MCP servers of a project's `.mcp.json`, which other agents share: the user takes them over as their own."""

from __future__ import annotations

import json
from pathlib import Path

from cli.settings.settings_files import SERVER_FILE
from packages.setup.importing.claude_import import find_off_shared_servers
from packages.setup.importing.import_plan import ImportPlan, add_servers
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
    servers = table.get("mcpServers") if isinstance(table, dict) else None
    add_servers(plan, servers, SERVER_FILE, find_off_shared_servers(root, plan))
    return plan
