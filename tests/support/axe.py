"""axe-core, which finds faults of accessibility in a page: pinned by npm, for tests only.

    python -m tests.support.axe

installs it into a folder of the user's cache, checked by hash, and names the folder; without a network it says why not.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

MISSING = "axe-core is not installed: python -m tests.support.axe"

_HERE = Path(__file__).parent / "axe_core"
_PATIENCE = 60
"""Seconds for a download of half a megabyte."""


def get_folder() -> Path:
    """Return the folder that it is installed in: PATCHWRIGHT_AXE, or one of the user's cache."""
    if given := os.environ.get("PATCHWRIGHT_AXE"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "patchwright-axe"


def find_script() -> Path | None:
    """Return the script of an installed one, None if there is none."""
    path = get_folder() / "node_modules/axe-core/axe.min.js"
    return path if path.is_file() else None


def install() -> str:
    """Install it; return why it cannot be, "" if it is there now."""
    if find_script() is not None:
        return ""
    npm = shutil.which("npm")
    if npm is None:
        return "there is no npm"
    folder = get_folder()
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(_HERE / name, folder / name)
    quick = ("--fetch-retries=0", "--fetch-timeout=20000", "--ignore-scripts", "--no-fund", "--no-audit")
    try:
        done = subprocess.run(
            [npm, "ci", *quick], cwd=folder, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return "its download takes too long"
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["npm failed"])[-1]


if __name__ == "__main__":
    if told := install():
        raise SystemExit(told)
    print(get_folder())
