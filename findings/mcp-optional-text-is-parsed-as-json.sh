#!/usr/bin/env bash
# mcp 2.3.0 (Python SDK), MCPServer: a text argument is parsed as JSON before it is checked as soon as its type is not
# exactly str. For a tool with content: str | None, whose input schema says {"anyOf": [{"type": "string"}, {"type":
# "null"}]}, the text null arrives as None, and the text {"a": 1}, valid by that schema, is refused ("Input should be a
# valid string"). So a tool that writes JSON files works with content: str and fails with an optional content.
# Exits 0 while this is so, 1 if the behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install -q --disable-pip-version-check --target lib mcp==2.3.0 2>/dev/null
cat >look.py <<'P'
import asyncio, json, sys
from mcp import Client
from mcp.server import MCPServer
server = MCPServer("files", log_level="ERROR")
@server.tool()
def write(content: str) -> str:
    return repr(content)
@server.tool()
def write_optional(content: str | None = None) -> str:
    return repr(content)
seen = {}
async def main():
    async with Client(server) as client:
        for tool in (await client.list_tools()).tools:
            print(tool.name, json.dumps(tool.input_schema["properties"]["content"]))
        for name in ["write", "write_optional"]:
            for text in ["plain", '{"a": 1}', "[1]", "null"]:
                result = await client.call_tool(name, {"content": text})
                seen[name, text] = "refused" if result.is_error else result.content[0].text
                print(name, text, "->", seen[name, text])
asyncio.run(main())
right = all(seen["write", text] == repr(text) for text in ["plain", '{"a": 1}', "[1]", "null"])
wrong = seen["write_optional", '{"a": 1}'] == seen["write_optional", "[1]"] == "refused"
sys.exit(not (right and wrong and seen["write_optional", "null"] == "None"))
P
PYTHONPATH=lib python3 look.py
