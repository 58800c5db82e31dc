"""The repository and the settings of the tests of local children."""

from __future__ import annotations

from tests.agent.children.conftest import parent, shop

__all__ = ["parent", "shop"]
