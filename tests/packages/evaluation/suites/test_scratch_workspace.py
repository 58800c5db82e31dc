"""The scratch folder that programs of others run in: confined, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from packages.evaluation.suites.scratch_workspace import open_scratch
from sandbox.access_settings import AccessSettings
from sandbox.backends import selection
from sandbox.errors import UserError


def test_where_no_sandbox_works_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "BACKENDS", ("unconfined",))  # as on a machine without any other
    with pytest.raises(UserError, match="no sandbox works here"), open_scratch():
        pass
    with open_scratch(AccessSettings(sandbox="unconfined")) as at:
        assert at.sandbox.name == "unconfined"
        folder = at.root
    assert not Path(folder).exists()


def test_the_sandbox_is_the_users() -> None:
    with pytest.raises(UserError, match="no image is set"), open_scratch(AccessSettings(sandbox="container")):
        pass
