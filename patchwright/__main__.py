"""`python -m patchwright`: the same as the command `patchwright`, but for what Python has run before it comes to us."""

import os
import sys

from patchwright.launcher import main, open_floors


def refuse_project_code() -> None:
    """End where PYTHONPATH or PYTHONHOME lead into the project: its code may have run, as part of us, already."""
    if sys.flags.isolated or not (os.environ.get("PYTHONPATH") or os.environ.get("PYTHONHOME")):
        return
    open_floors()
    from agent.exit_codes import Exit
    from sandbox.fs.installation import find_python_variable

    if variable := find_python_variable(os.environ):
        print(
            f"patchwright: {variable} leads into this project, whose code would run unconfined in our own process.\n"
            f"  Start the command `patchwright`, which does not heed it, or: {sys.executable} -I -m patchwright",
            file=sys.stderr,
        )
        sys.exit(Exit.CONFIGURATION)


if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the current folder: what lies there is a user's project, not ours
    refuse_project_code()
    sys.exit(main())
