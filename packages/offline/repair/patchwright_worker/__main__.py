"""Entry point: `python patchwright_worker CONFIG.json`."""

from __future__ import annotations

import importlib
import os
import sys

if __name__ == "__main__":
    # This folder's name is unique, so that it can be imported in any project; its parent is removed from the
    # path before any code of the project runs.
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    importlib.import_module("patchwright_worker.entry").main()
