"""Which model plays which role. A role without a model of its own is played by the main one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from agent.model.protocol import UNPAID, Model


class Role(StrEnum):
    """What a model is asked for.

    main: the conversation; fast: titles, summaries, commit messages; plan: plans, and what the main model cannot
    do; judge: opinions on finished work
    """

    MAIN = "main"
    FAST = "fast"
    PLAN = "plan"
    JUDGE = "judge"


class Roles:
    """The models of a session. Each is made when it is first asked for.

    main: returns the model of the conversation, which a person may change meanwhile
    others: makes the model of a role that has one of its own
    """

    def __init__(
        self, main: Callable[[], Model], others: Mapping[Role, Callable[[], Model]] | None = None
    ) -> None:
        self._main = main
        self._makers = dict(others or {})
        self._made: dict[Role, Model] = {}

    def has_own_model(self, role: Role) -> bool:
        """Whether the role has a model of its own."""
        return role in self._makers

    def get_model(self, role: Role) -> Model:
        """Who plays the role. Raises UserError if its model cannot be made (an unknown name, no key)."""
        if role not in self._makers:
            return self._main()
        if role not in self._made:
            self._made[role] = self._makers[role]()
        return self._made[role]

    def get_writer(self, role: Role) -> Model | None:
        """Who can be asked for a text in this role; None if nobody can, and code has to write it.

        A main model that plays a part is not asked: a script would lose its place.
        """
        model = self.get_model(role)
        return None if not self.has_own_model(role) and model.name.startswith(UNPAID) else model

    async def close(self) -> None:
        """Release the connections of the models made here (not the main one's)."""
        for model in self._made.values():
            await model.close()
        self._made.clear()
