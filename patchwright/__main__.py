"""`python -m patchwright`: the same as the command `patchwright`."""

import sys

from patchwright.launcher import main

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the current folder: what lies there is a user's project, not ours
    sys.exit(main())
