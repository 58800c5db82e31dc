"""A user whom a model plays: answers the agent's questions, and goes on after its turns until nothing is left to say.

Source: Yao et al. 2024, τ-bench: A Benchmark for Tool-Agent-User Interaction in Real-World Domains. The user knows what
its task tells it, and the dialogue: no file, no tool, no checker.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from agent.events import End, UsageRecord
from agent.model.protocol import AssistantMessage, Message, Model, Request, UserMessage, prepare_model
from agent.model.rate_limits.queue_pause import limit_unqueued_seconds
from agent.model_selection import ModelSelection
from agent.team.attach import attach_person
from agent.team.person import UserQuestion
from agent.turn.runtime import Runtime
from agent.turn.side_calls import collect_reply, convert_usage
from packages.evaluation.runs.trial_order import TrialOrder
from packages.evaluation.runs.trial_spending import TrialSpending, UserUsage, lower_cost
from packages.evaluation.tasks.task_file import UserScript
from packages.evaluation.tasks.task_folder import Task
from sandbox.errors import Fault, UserError
from sandbox.secrets.child_environment import redact

OnSpend = Callable[[UsageRecord], None]

STOP = "###STOP###"
"""Word by which the model says that the user has nothing more to say."""

PATIENCE = 120.0
"""Seconds for one message, those in the queue of a rate limit not counted."""

LONGEST_SHOWN, LONGEST_SAID = 20_000, 8_000
"""Characters of one message of the agent that the user reads, and of one that the user writes."""

MOST_TOKENS = 2_000
"""Of one message, reasoning included."""

_RULES = f"""\
You play a person who has a coding agent do some work, and who writes to it. Who you are, what you want and know:

<person>
{{persona}}
</person>

Rules:
- Write only what this person would write to the agent next: one short message, without quotation marks or comments.
- Tell only what you are asked for, or what the agent must know to go on; not everything at once.
- What is not told above, you do not know: say so, or that you have no wish about it. Invent no facts and no wishes.
- You see the conversation alone: no files, no tests. Do not do the agent's work.
- When what you want is done, or the agent says that it cannot be, answer with the word {STOP} alone.

You have begun the conversation with this message:

<first>
{{prompt}}
</first>
"""


class ModelUser:
    """A user. Implements `Person`.

    prompt: the first one, which the user is taken to have written
    spending: of the whole trial, which the calls are counted to by on_spend
    """

    def __init__(
        self,
        model: Model,
        script: UserScript,
        prompt: str,
        spending: TrialSpending,
        on_spend: OnSpend,
    ) -> None:
        self.usage = UsageRecord()
        self.problem: UserError | None = None
        """Why the model could not answer: however the turn ends, the trial says nothing of the agent then."""
        self.is_out_of_time = False
        """Whether the trial's own time ended before the user's next message."""
        self._model = model
        self._system = _RULES.format(persona=script.persona.strip(), prompt=redact(prompt))
        self._messages: list[Message] = []
        self._left = script.turns
        self._spending = spending
        self._on_spend = on_spend
        self._is_prepared = False
        self._has_ended = False

    async def answer(self, question: UserQuestion) -> str:
        """See `Person.answer`: "" where the user has nothing more to say, or cannot be played."""
        listed = "".join(f"\n- {each}" for each in question.options)
        try:
            return question.read_answer(await self._say_next(f"{question.question}{listed}", PATIENCE))
        except UserError as error:
            self.problem = error
            return ""

    async def list_follow_ups(self, ends: Sequence[End], seconds: float) -> list[str]:
        """Return the next prompt, none if the user has nothing more to say, or has no time left. Raises UserError.

        ends: of the agent's turns so far; seconds: that are left to the trial
        """
        heard = ends[-1].summary.strip() or "(The agent ended without a word.)"
        try:
            async with limit_unqueued_seconds(seconds):
                said = await self._say_next(heard, PATIENCE)
        except TimeoutError:
            self.is_out_of_time = True
            return []
        return [said] if said else []

    async def _say_next(self, heard: str, seconds: float) -> str:
        """Return the user's message to one of the agent's; "" if there is none."""
        if self._messages and isinstance(last := self._messages[-1], UserMessage):  # left without an answer
            heard = f"{last.text}\n\n{heard}"
            self._messages.pop()
        self._messages.append(UserMessage(text=redact(heard)[:LONGEST_SHOWN]))
        left = self._spending.left
        if self._has_ended or self._left <= 0 or (left is not None and left <= 0):
            return ""
        self._left -= 1
        said, stop, _ = (await self._request(seconds)).partition(STOP)
        self._has_ended = bool(stop)
        said = said.strip()[:LONGEST_SAID]
        if said:
            self._messages.append(AssistantMessage(text=said))
        return said

    async def _request(self, seconds: float) -> str:
        started = time.monotonic()
        request = Request(system=self._system, messages=list(self._messages), max_output=MOST_TOKENS)
        try:
            async with limit_unqueued_seconds(seconds):
                if not self._is_prepared:
                    await prepare_model(self._model)
                    self._is_prepared = True
                reply = await collect_reply(self._model, request)
        except TimeoutError:
            raise UserError(
                Fault.MODEL_UNREACHABLE,
                f"the user's model {self._model.name} did not answer in {seconds:.0f} s",
            ) from None
        except UserError as error:
            raise UserError(error.fault, f"the user's model: {error.message}", error.hint) from None
        spent = UserUsage(**vars(convert_usage(reply.usage, time.monotonic() - started)))
        self.usage.add(spent)
        self._on_spend(spent)
        return reply.text


@asynccontextmanager
async def open_user(
    runtime: Runtime, task: Task, order: TrialOrder, on_spend: OnSpend, spending: TrialSpending
) -> AsyncIterator[ModelUser | None]:
    """Let the order's model play a task's user; None for a task without a persona. Raises UserError.

    on_spend: called with the usage of each call; spending: of the whole trial
    """
    if not task.file.user.persona:
        yield None
        return
    if not order.user_model or runtime.environment is None:
        raise UserError(
            Fault.CONFIGURATION, "no model plays the user of this task", "Give --user-model NAME."
        )
    cache = runtime.environment.home.lasting_cache
    selection = ModelSelection(settings=runtime.settings, env=os.environ, cache=cache)
    model = selection.create_model(order.user_model)

    def charge(usage: UsageRecord) -> None:
        on_spend(usage)
        runtime.purse.limits = lower_cost(runtime.purse.limits, runtime.purse.tally, spending)

    try:
        user = ModelUser(model, task.file.user, task.prompt, spending, charge)
        if runtime.model.name != "offline":  # which asks nothing
            attach_person(runtime, user, stays_open=False)
        yield user
    finally:
        await model.close()
