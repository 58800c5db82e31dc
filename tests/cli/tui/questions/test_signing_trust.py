"""A commit that an untrusted program is to sign: asked about, never made without its signature."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import call, git
from tests.support.talking import at_rest, leave, talk

pytestmark = pytest.mark.slow

SIGNER = """\
#!/bin/sh
cat > /dev/null
printf '\\n[GNUPG:] SIG_CREATED D\\n' >&2
printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n'
"""

TURNS = [{"calls": [call("edit", path="cart.py", old=" - 1", new="")]}, {"text": "It adds up."}]


@pytest.fixture
def signing_shop(shop: Path) -> Path:
    """The shop, whose own settings have commits signed by a program of its own."""
    program = shop / ".git/signer"
    program.write_text(SIGNER)
    program.chmod(0o755)
    git(shop, "config", "commit.gpgsign", "true")
    git(shop, "config", "gpg.program", str(program))
    return shop


def test_a_no_makes_no_commit_and_a_yes_a_signed_one(signing_shop: Path) -> None:
    with talk(signing_shop, TURNS, "--tests", "true", columns=120) as terminal:
        at_rest(terminal)
        terminal.type("mend the total\r")
        terminal.wait("It adds up.")
        at_rest(terminal)
        terminal.type("/commit\r")
        terminal.wait("Trust what signs commits here?")
        assert f"setting gpg.program: {signing_shop}/.git/signer" in "".join(
            row.strip("│ ") for row in terminal.text.split("\n")
        )
        terminal.type("n")
        at_rest(terminal)
        assert git(signing_shop, "log", "--format=%s") == "Start\n"
        terminal.type("/commit\r")
        terminal.wait(lambda: "y  Yes, trust all of it and commit" in terminal.text)
        terminal.type("y")
        terminal.wait("● git_commit")
        at_rest(terminal)
        leave(terminal)
    assert git(signing_shop, "rev-list", "--count", "HEAD") == "2\n"
    assert "gpgsig -----BEGIN PGP SIGNATURE-----" in git(signing_shop, "cat-file", "commit", "HEAD")
