"""Golden screens: what typical states look like at three sizes. GOLDEN=write writes them anew; look at
what changed before you commit it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.golden import looks_as_it_did
from tests.support.scenes import open_story, open_work, story, work
from tests.support.terminal import Terminal


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "rows"), [(40, 15), (80, 24), (120, 40)])
@pytest.mark.parametrize(("opened", "story"), [(open_story, story), (open_work, work)], ids=["story", "work"])
def test_screens_look_as_they_did(
    opened: Callable[[Path, int, int], Terminal],
    story: Callable[[Terminal], Iterator[str]],
    columns: int,
    rows: int,
    shop: Path,
) -> None:
    with opened(shop, columns, rows) as terminal:
        for name in story(terminal):
            looks_as_it_did(terminal, f"{name}-{columns}x{rows}")
