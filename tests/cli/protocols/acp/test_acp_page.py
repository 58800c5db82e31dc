"""The examples of docs/acp.md: the client runs as it is written, the settings are what editors read."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.protocols.acp.conftest import FIX
from tests.cli.protocols.acp.editor import Editor, Repo, call, script
from tests.support.cli import CHECKOUT, PATCHWRIGHT

PAGE = (CHECKOUT / "docs/acp.md").read_text("utf-8")


def read_blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_the_settings_start_the_command() -> None:
    for each in map(json.loads, read_blocks("json")):
        [server] = each["agent_servers"].values()
        assert Path(server["command"]).name == "patchwright"
        assert server["args"] == ["acp"]


@pytest.mark.slow
def test_the_client_runs_as_it_is_written(tmp_path: Path, shop: Repo) -> None:
    [program] = read_blocks("python")
    (tmp_path / "client.py").write_text(program, "utf-8")
    push = call("shell", command="git push origin main")
    model = script(tmp_path, [{"text": "First the total.", "calls": [FIX, push]}, {"text": "Done."}])
    command = [*PATCHWRIGHT, "acp", "--model", model]
    environment = Editor(tmp_path / "home").environment
    # The SDK gives an agent few variables: HOME is one of them.
    done = subprocess.run(
        [
            sys.executable,
            "client.py",
            str(shop.root),
            "make it right",
            "env",
            f"PYTHONPATH={CHECKOUT}",
            *command,
        ],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "First the total.[edit: edit cart.py]"
    assert "[allowed once: shell: git push origin main]" in lines
    assert lines[-1] == "end_turn"
    assert shop.read("cart.py") == "def total(items):\n    return sum(items)\n"
