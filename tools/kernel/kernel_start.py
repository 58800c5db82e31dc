"""Start of a kernel under the interpreter that is closest to the project."""

from __future__ import annotations

from collections.abc import Sequence

from sandbox.errors import Fault, UserError
from sandbox.process.command import Limits
from tools.core.registry import Toolbox
from tools.core.surroundings import Surroundings
from tools.kernel.kernel_process import KernelFailed, KernelProcess
from tools.kernel.saved_functions import SavedFunction
from tools.kernel.tool_bindings import describe_functions
from tools.testing.python import list_interpreter_paths

UNTOLD = ("keep_function", "kept_functions", "put_back")
"""Functions of a kernel that are not offered to a model as tools."""


async def start_kernel(
    at: Surroundings,
    toolbox: Toolbox,
    limits: Limits,
    kept: Sequence[SavedFunction] = (),
    *,
    reads_only: bool = False,
) -> KernelProcess:
    """Start a kernel under the interpreter that is closest to the project. Raises UserError if none works."""
    paths = [str(at.root / "src")] if (at.root / "src").is_dir() else []
    hello = {
        "root": str(at.root),
        "paths": paths,
        "tools": describe_functions(
            [*toolbox, *(tool for name in UNTOLD if (tool := toolbox.get(name)) is not None)]
        ),
        "functions": [{"name": each.name, "source": each.source} for each in kept],
    }
    problems = []
    for python in list_interpreter_paths(at.root):
        try:
            return await KernelProcess.start(at, python, hello, limits, reads_only=reads_only)
        except KernelFailed as failed:
            problems.append(f"{python}: {failed}")
    raise UserError(
        Fault.CONFIGURATION,
        f"no Python here can run a kernel ({'; '.join(problems) or 'there is none'})",
        "Put a Python of version 3.8 or newer on PATH, or into .venv.",
    )
