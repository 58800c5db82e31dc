"""Roles of models. A role without a model of its own uses the main one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from agent.model.protocol import UNPAID, Model


class Role(StrEnum):
    """Purpose of a model in a session.

    main: the conversation; fast: titles, summaries, commit messages; plan: plans, and tasks beyond the main
    model; judge: opinions on finished work
    """

    MAIN = "main"
    FAST = "fast"
    PLAN = "plan"
    JUDGE = "judge"


class Roles:
    """The models of a session. Each is created at its first use.

    main: returns the model of the conversation, which the user may change meanwhile
    others: creates the model of a role that has one of its own
    """

    def __init__(
        self, main: Callable[[], Model], others: Mapping[Role, Callable[[], Model]] | None = None
    ) -> None:
        self._main = main
        self._makers = dict(others or {})
        self._made: dict[Role, Model] = {}

    def has_own_model(self, role: Role) -> bool:
        """Return whether the role has a model of its own."""
        return role in self._makers

    def get_model(self, role: Role) -> Model:
        """Return the model of the role. Raises UserError if it cannot be created (an unknown name, no key)."""
        if role not in self._makers:
            return self._main()
        if role not in self._made:
            self._made[role] = self._makers[role]()
        return self._made[role]

    def get_writer(self, role: Role) -> Model | None:
        """Return the model for a text in this role; None if there is none, and code has to write it.

        A scripted main model is not used: its script would lose its place.
        """
        model = self.get_model(role)
        return None if not self.has_own_model(role) and model.name.startswith(UNPAID) else model

    async def close(self) -> None:
        """Release the connections of the models created here (not the main one's)."""
        for model in self._made.values():
            await model.close()
        self._made.clear()
