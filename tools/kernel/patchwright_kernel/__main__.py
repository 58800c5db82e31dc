"""Entry point: `python patchwright_kernel CONTROL INTERRUPTS OUTPUT`, the numbers of three inherited
descriptors.
"""

from __future__ import annotations

import importlib
import os
import sys

if __name__ == "__main__":
    # This folder's name is unique, so that it can be imported in any project; its parent is removed from the
    # path before a line of the project runs.
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    importlib.import_module("patchwright_kernel.entry").main(*map(int, sys.argv[1:4]))
