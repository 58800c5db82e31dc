"""Start git or ripgrep as we do, as whoever starts this: reads a request as JSON, answers with what came of it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sandbox.errors import UserError


def attempt_git(root: Path, arguments: Sequence[str], stdin: str) -> dict[str, Any]:
    """Run git by the runner: exit code, output, and errors, of which one of ours comes last."""
    from sandbox.helpers.git_runner import GitRunner, strip_git_variables

    try:
        done = GitRunner(root, strip_git_variables(), workspace=root).run(
            *arguments, stdin=stdin.encode(), timeout=20
        )
    except UserError as error:
        return {"code": -1, "out": "", "err": error.message}
    return {"code": done.returncode, "out": done.stdout.decode("utf-8", "replace"), "err": done.stderr}


def attempt_search(root: Path, arguments: Sequence[str], denied: Sequence[str]) -> dict[str, Any]:
    """Run ripgrep as the tool `search` does."""
    from tools.fs.ripgrep import BASE, Ripgrep

    run = Ripgrep(root, *BASE, *arguments, denied=[Path(each) for each in denied])

    async def read() -> bytes:
        return b"\n".join([line async for line in run.stream_lines()])

    try:
        out = asyncio.run(read())
    except UserError as error:
        return {"code": -1, "out": "", "err": error.message}
    return {"code": 0, "out": out.decode("utf-8", "replace"), "err": run.problem}


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    root, arguments = Path(request["root"]), request["arguments"]
    if request["program"] == "git":
        return attempt_git(root, arguments, request.get("stdin", ""))
    return attempt_search(root, arguments, request.get("denied", ()))


if __name__ == "__main__":
    json.dump([answer(each) for each in json.load(sys.stdin)], sys.stdout)
