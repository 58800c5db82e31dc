"""What the commands that make tasks of a repository begin with: its environment, the sandbox's settings, a reporter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from agent.app_dirs import Home
from cli.output.standard_streams import write_error
from cli.settings.layers import load_settings
from packages.evaluation.mining.project_environment import activate_environment
from sandbox.access_settings import AccessSettings
from sandbox.lazy_dataclass import dataclass
from sandbox.sanitize import sanitize_text


@dataclass(frozen=True, slots=True, kw_only=True)
class MiningSetup:
    """Parts of a command. access: the user's settings, for the sandbox; report: prints a line on standard error"""

    access: AccessSettings
    report: Callable[[str], None]


def prepare_mining(repository: Path) -> MiningSetup:
    """Activate the repository's environment, and say so. Raises UserError."""

    def report(line: str) -> None:
        write_error(sanitize_text(line) + "\n")

    if active := activate_environment(repository):
        report(f"tests run with {active}: activate it for `eval run`, too")
    access = load_settings(Home.from_environment(), None, {}).session.access
    return MiningSetup(access=access, report=report)
