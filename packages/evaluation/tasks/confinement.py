"""Commands that come from whoever wrote a task or a project: nobody approves them, so a sandbox has to confine them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox.errors import Fault, UserError

if TYPE_CHECKING:
    from sandbox.process.command import Sandbox


def require_confinement(sandbox: Sandbox, wanted: str, origin: str, hint: str) -> Sandbox:
    """Return the sandbox. Raises UserError if it confines nothing, unless the user wants that.

    wanted: the user's setting `sandbox`; origin: a clause that says whose commands they are
    """
    if sandbox.name == "unconfined" and wanted != "unconfined":
        raise UserError(Fault.DENIED, f"no sandbox works here, and {origin}", hint)
    return sandbox
