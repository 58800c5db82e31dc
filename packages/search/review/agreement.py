"""How often the opinions of a model agree with executed checks, by role: counts in the user's data folder."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Literal

from agent.app_dirs import Home, make_private_folder
from agent.sqlite_cache import open_cache
from sandbox.lazy_dataclass import dataclass

Result = Literal["agree", "disagree", "undecided"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS agreement (
    model TEXT NOT NULL, role TEXT NOT NULL,
    agree INTEGER NOT NULL DEFAULT 0, disagree INTEGER NOT NULL DEFAULT 0, undecided INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (model, role)
);
"""

_PATIENCE = 2.0
"""Seconds to wait for another session that counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Counts of one model in one role. undecided: answers that prefer nothing, or follow the order of a pair"""

    model: str
    role: str
    agree: int
    disagree: int
    undecided: int

    def format_text(self) -> str:
        """Return one line for a person."""
        number = self.agree + self.disagree + self.undecided
        left = f", {self.undecided} undecided" if self.undecided else ""
        return f"{self.model} as {self.role}: {self.agree} of {number} agree with executed checks{left}"


def count_opinion(home: Home, model: str, role: str, result: Result) -> None:
    """Count one opinion. Does nothing if the counts cannot be written: they are not worth a turn."""
    statement = (
        f"INSERT INTO agreement (model, role, {result}) VALUES (?, ?, 1) "
        f"ON CONFLICT (model, role) DO UPDATE SET {result} = {result} + 1"
    )
    try:
        make_private_folder(home.data)
        with closing(open_cache(home.data / "agreement.sqlite", _SCHEMA, _PATIENCE)) as db, db:
            db.execute(statement, (model, role))
    except (sqlite3.Error, OSError):
        return


def read_agreement(home: Home) -> Sequence[Agreement]:
    """Return the counts by model and role, [] if nothing was counted."""
    path = home.data / "agreement.sqlite"
    if not path.is_file():
        return []
    try:
        with closing(open_cache(path, _SCHEMA, _PATIENCE)) as db:
            rows = db.execute(
                "SELECT model, role, agree, disagree, undecided FROM agreement ORDER BY model, role"
            )
            return [
                Agreement(model=model, role=role, agree=agree, disagree=disagree, undecided=undecided)
                for model, role, agree, disagree, undecided in rows
            ]
    except (sqlite3.Error, OSError):
        return []
