"""Run attacks in a sandbox, as whoever starts this: reads a request as JSON, answers with what the attacks printed."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sandbox.backends.selection import choose_sandbox
from sandbox.process.command import Command, Limits


def attempt(box: str, root: Path, attacks: Sequence[Sequence[str]], options: Mapping[str, Any]) -> list[str]:
    """The output of each attack, a line for each thing that the sandbox noticed included.

    options: denied (paths), hidden (paths), limits (of `Limits`), timeout
    """
    sandbox = choose_sandbox(
        root,
        box,
        spill=root.parent / "spill",
        hidden=map(Path, options.get("hidden", ())),
        denied=map(Path, options.get("denied", ())),
    )

    async def all_of_them() -> list[str]:
        found = []
        for argv in attacks:
            command = Command(
                argv=tuple(argv),
                cwd=root,
                timeout=options.get("timeout", 20),
                limits=Limits(**options.get("limits", {})),
            )
            done = await sandbox.run(command)
            found.append("\n".join((done.stdout.text(), *done.noticed)))
        return found

    return asyncio.run(all_of_them())


if __name__ == "__main__":
    request = json.load(sys.stdin)
    answers = attempt(request["box"], Path(request["root"]), request["attacks"], request["options"])
    json.dump(answers, sys.stdout)
