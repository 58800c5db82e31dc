"""Settings of the models beside the main one."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from sandbox.lazy_dataclass import dataclass
from sandbox.settings_validation import FORBID_UNKNOWN

Effort = Literal["", "none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""Reasoning effort; "" leaves it to the provider. No provider accepts all of them with every model."""

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogSettings:
    """The user's entry for a model. window: tokens; input, output, cached: US dollars for a million tokens"""

    __pydantic_config__ = FORBID_UNKNOWN

    window: int = 0
    input: float | None = None
    output: float | None = None
    cached: float | None = None
    tools: bool = True
    images: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimitSettings:
    """Limit of a provider or a model. calls, tokens: at most so many a minute; None: no such limit"""

    __pydantic_config__ = FORBID_UNKNOWN

    calls: int | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Models beside the main one, by role; "" leaves a role to the main one.

    fast: titles, summaries, messages; plan: plans, and tasks beyond the main model; judge: opinions on work
    fallback: asked in this order when a model cannot be reached
    relay: `plan` leads each turn and comes back when things fail; the main model carries it out
    effort: how much a model is to think; "" leaves it to the provider; fast_effort, plan_effort, judge_effort: in
    place of it for these roles, whose model is then one of its own; "": the same
    cache: how long a provider keeps what it has read: short, its usual time, or long, an hour or a day
    service: class of a provider's service, "" for the account's
    temperature: of the sampling; None leaves it to the provider
    catalog: window and prices of models by name, where ours are wrong or missing
    limits: of calls and tokens a minute, by provider or name of the model; all sessions of this machine share them
    profile: how much of instructions, tools and outputs the main model is given; auto: by its window and name
    """

    __pydantic_config__ = FORBID_UNKNOWN

    fast: str = ""
    plan: str = ""
    judge: str = ""
    fallback: list[str] = field(default_factory=list)
    relay: bool = False
    effort: Effort = ""
    fast_effort: Effort = ""
    plan_effort: Effort = ""
    judge_effort: Effort = ""
    cache: Literal["short", "long"] = "short"
    service: Literal["", "standard", "flex", "priority"] = ""
    temperature: float | None = None
    profile: Literal["auto", "generic", "small", "tiny"] = "auto"
    catalog: dict[str, CatalogSettings] = field(default_factory=dict)
    limits: dict[str, RateLimitSettings] = field(default_factory=dict)
