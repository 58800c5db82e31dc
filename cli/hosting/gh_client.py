"""Requests to GitHub through its own program `gh`, which knows the user's login."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.parsed_data import parse_json
from sandbox.secrets.child_environment import redact

PATIENCE = 60.0
"""Seconds for one request, with the start of the program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GhClient:
    """Sender of requests by `gh api`. Implements `Client`.

    program: its path, outside the workspace; it runs away from it, so that no file there is read
    """

    program: str
    host: str

    def request(self, method: str, path: str, fields: Mapping[str, Any] | None = None) -> Any:
        """See `Client.request`."""
        command = [self.program, "api", "--hostname", self.host, "--method", method, path.removeprefix("/")]
        if fields is not None:
            command += ["--input", "-"]
        body = b"" if fields is None else json.dumps(fields).encode()
        try:
            done = subprocess.run(
                command, input=body, capture_output=True, timeout=PATIENCE, check=False, cwd=Path.home()
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UserError(Fault.MODEL_UNREACHABLE, f"gh could not be run: {error}") from None
        if done.returncode != 0:
            words = redact(done.stderr.decode("utf-8", "replace").strip())[:600]
            fault = Fault.CREDENTIALS if "auth" in words.lower() else Fault.USAGE
            raise UserError(fault, f"gh: {words}", "Is the branch pushed, and gh logged in? gh auth status")
        try:
            return parse_json(done.stdout) if done.stdout.strip() else {}
        except ValueError:
            raise UserError(Fault.CONFIGURATION, "gh answered no JSON") from None
