"""Protocol of a session's kernel, as the tools use it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tools.kernel.kernel_process import BlockResult
    from tools.kernel.saved_functions import SavedFunction


class Kernel(Protocol):
    """Runs blocks of Python, one at a time."""

    async def run(self, code: str, *, seconds: float) -> BlockResult:
        """Run a block. Raises UserError if no kernel can be started."""
        ...

    async def close(self) -> None:
        """End the process; the next block starts another."""
        ...

    def has_tool_function(self, name: str) -> bool:
        """Return whether a tool has this function name in a kernel."""
        ...

    async def check_functions(self, functions: Sequence[SavedFunction]) -> dict[str, str]:
        """Run the test of each function in a fresh kernel. By name: the problem, "" if there is none."""
        ...
