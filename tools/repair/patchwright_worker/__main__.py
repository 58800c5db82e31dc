"""Entry: `python patchwright_worker CONFIG.json`."""

from __future__ import annotations

import importlib
import os
import sys

if __name__ == "__main__":
    # This folder's name is ours alone, so that it can be imported beside any project; its parent is
    # taken off the path again before a line of the project runs.
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    importlib.import_module("patchwright_worker.entry").main()
