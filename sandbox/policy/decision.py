"""Modes, approval and decisions: verdicts on effects before an action runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from sandbox.lazy_dataclass import dataclass
from sandbox.policy.effects import Effect, EffectKind
from sandbox.policy.rules import NO_RULES, PERMISSIONS, Permission, Rule, Rules

if TYPE_CHECKING:
    from sandbox.policy.shell import Judgement, Segment


class Mode(StrEnum):
    """How far a session may reach."""

    READ_ONLY = "read-only"
    WORKSPACE = "workspace"
    FULL = "full"


class Approval(StrEnum):
    """Handling of the verdict "ask".

    ask: ask about everything that is not harmless, and about every change of a file
    auto: only about effects that leave the sandbox or cannot be undone
    never: as auto, but without a user to ask, so that "ask" becomes "deny"
    """

    ASK = "ask"
    AUTO = "auto"
    NEVER = "never"


Reach = Literal["reads", "vague", "writes", "runs", "unknown", "leaves", "secrets"]
"""Class of one effect of a command: reads anything but secrets; may read secrets, since its place is not certain;
writes in the workspace; runs other code; was not understood; leaves the workspace or loses data irrecoverably;
reads secrets."""

_INSIDE: Mapping[Reach, tuple[Permission, Permission]] = {
    "reads": ("allow", "allow"),
    "vague": ("allow", "allow"),  # the kernel hides what may not be read
    "writes": ("ask", "allow"),
    "runs": ("ask", "allow"),
    "unknown": ("ask", "allow"),
    "leaves": ("ask", "ask"),
    "secrets": ("ask", "ask"),
}
_UNBOUND: Mapping[Reach, tuple[Permission, Permission]] = {
    **_INSIDE,
    "vague": ("ask", "ask"),
    "runs": ("ask", "ask"),
    "unknown": ("ask", "ask"),
}
_ANYTHING: Mapping[Reach, tuple[Permission, Permission]] = dict.fromkeys(_INSIDE, ("allow", "allow"))
_ONLY_READS: Mapping[Reach, tuple[Permission, Permission]] = {
    **dict.fromkeys(_INSIDE, ("deny", "deny")),
    "reads": ("allow", "allow"),
    "vague": ("ask", "ask"),
}

COMMANDS: Mapping[tuple[Mode, bool], Mapping[Reach, tuple[Permission, Permission]]] = {
    (Mode.READ_ONLY, True): _ANYTHING,  # the kernel confines its writes to a private /tmp
    (Mode.READ_ONLY, False): _ONLY_READS,
    (Mode.WORKSPACE, True): _INSIDE,
    (Mode.WORKSPACE, False): _UNBOUND,
    (Mode.FULL, True): _ANYTHING,
    (Mode.FULL, False): _ANYTHING,
}
"""By mode and by whether the kernel confines commands: the verdicts under approval `ask` and under `auto`.
`never` is `auto` without a user to ask."""

TOOLS: Mapping[tuple[Mode, bool], Mapping[EffectKind, Permission]] = {
    (Mode.READ_ONLY, True): {"execute": "allow"},
    (Mode.READ_ONLY, False): {},
    (Mode.WORKSPACE, True): {"write": "allow", "git": "allow", "execute": "allow"},
    (Mode.WORKSPACE, False): {"write": "allow", "git": "allow"},
}
"""Verdicts on the effects of Patchwright's own tools, besides reading. In mode `full`, everything is allowed."""

SCRATCH = ("/tmp/", "/var/tmp/", "/dev/shm/")
"""Folders that are private to a confined command: files written there do not persist."""

INSTEAD: Mapping[EffectKind, str] = {
    "network": "commands have no network here: work with what is installed",
    "git": "use git_commit for a commit, and leave other changes of git's data to the user",
    "destructive": "it may lose work: remove single files by name instead, or leave it to the user",
    "write": "write inside the workspace, or have the user allow it by a rule like edit(.github/**)",
    "read": "leave keys and tokens alone",
    "execute": "use the tools for reading, editing and testing",
    "mcp": "do without, or have the user allow it by a rule like mcp(server.tool)",
    "unknown": "write it as plain commands with known arguments",
}
"""Advice to a model whose command is denied because no user can be asked."""


WITHOUT_PATHS = "go on without it, and name it in your answer: a user can allow it where one can be asked"
"""Advice for a write to no file of the workspace: no rule on paths would match it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Verdict on an action and its reason, worded for a user or a model.

    always: rules on commands that would avoid this question in future; () if nothing wider than this once is
    safe
    asks_anew: earlier answers about the same action are none to this question
    can_edit: of a question: the answer may give another text to the file that is written
    content: of an answer that allows it: the whole text that the file gets instead; None for what was asked about
    """

    verdict: Permission
    reason: str
    always: tuple[str, ...] = ()
    asks_anew: bool = False
    can_edit: bool = False
    content: str | None = None


class Approver(Protocol):
    """A user who can be asked. A session without a terminal has none."""

    async def ask(self, tool: str, effect: Effect, question: Decision) -> Decision:
        """Return a decision whose verdict is "allow" or "deny"."""
        ...


class Policy:
    """Mode, approval and rules of a session. Only the user changes them, never the repository.

    is_listed: whether the user's settings let a session reach a host without a question
    """

    def __init__(
        self,
        mode: Mode,
        approval: Approval,
        rules: Rules = NO_RULES,
        is_listed: Callable[[str], bool] = lambda host: False,
    ) -> None:
        self.mode = mode
        self.approval = approval
        self.rules = rules
        self._is_listed = is_listed

    def decide(self, effect: Effect, *, confined: bool, tool: str = "") -> Decision:
        """Judge the effect of one of Patchwright's own tools. `confined`: the kernel confines commands"""
        rules = (self.rules.match_effect(effect), self.rules.match_tool(tool))
        found = max((r for r in rules if r), key=lambda r: PERMISSIONS.index(r.verdict), default=None)
        return self._deny_if_unattended(
            self._apply_rule(self._decide_tool_effect(effect, confined=confined), found),
            _suggest_instead(effect.kind, has_paths=bool(effect.paths)),
        )

    def decide_command(self, judgement: Judgement, *, root: Path, confined: bool) -> Decision:
        """Judge a command line: the strictest verdict on any of its commands."""
        segments = judgement.segments
        if not segments:  # white space and comments
            return Decision(verdict="allow", reason="it does nothing")
        decisions = [self.decide_segment(each, root=root, confined=confined) for each in segments]
        worst = pick_strictest(decisions)
        if worst.verdict != "ask":
            return worst
        asking = [each for each in decisions if each.verdict == "ask"]
        reason = "; ".join(dict.fromkeys(each.reason for each in asking))
        always = [pattern for each in asking for pattern in each.always]
        spared = all(each.always for each in asking)  # a rule for a part would not avoid the question
        return Decision(verdict="ask", reason=reason, always=tuple(dict.fromkeys(always)) if spared else ())

    def decide_segment(self, segment: Segment, *, root: Path, confined: bool) -> Decision:
        """Judge one command of a line."""
        runs = any(effect.kind == "execute" for effect in segment.effects)
        worst, kind = Decision(verdict="allow", reason=segment.why), segment.effects[0].kind
        reasons: list[str] = []
        bound = False  # a rule on its paths or hosts asks: no rule on the command overrides that
        for effect in segment.effects:
            reach = _classify_reach(effect, root=root, confined=confined, runs=runs)
            if reach == "reads" and not confined and self.mode is not Mode.FULL:
                from sandbox.policy.vague_reads import explain_vague_read

                if why := explain_vague_read(effect, root, self.rules):
                    reach, effect = "vague", replace(effect, reason=why)
            rule = self.rules.match_effect(_relativize_paths(effect, root))
            each = self._apply_rule(self._decide_reach(reach, effect, confined=confined), rule)
            bound = bound or (rule is not None and rule.verdict == "ask")
            if PERMISSIONS.index(each.verdict) > PERMISSIONS.index(worst.verdict):
                worst, kind, reasons = each, effect.kind, []
            if each.verdict == worst.verdict != "allow" and each.reason not in reasons:
                reasons.append(each.reason)
        if reasons:
            worst = replace(worst, reason="; ".join(reasons))
        if confined or self.mode is Mode.FULL:
            rule = self.rules.match_segment(segment)
        else:
            from sandbox.policy.allowed_commands import says_all

            rule = self.rules.match_segment(segment, lambda rule: says_all(rule, segment, root))
        if not (bound and rule is not None and rule.verdict == "allow"):
            worst, bound = self._apply_rule(worst, rule), bound or rule is not None
        if worst.verdict == "ask" and not bound:
            from sandbox.policy.shell import suggest_rule

            pattern = suggest_rule(segment)
            worst = Decision(verdict="ask", reason=worst.reason, always=(pattern,) if pattern else ())
        return self._deny_if_unattended(worst, _suggest_instead(kind))

    def _decide_tool_effect(self, effect: Effect, *, confined: bool) -> Decision:
        if effect.kind in ("none", "read"):
            return Decision(verdict="allow", reason="reads only")
        if self.mode is Mode.FULL:
            return Decision(verdict="allow", reason="full mode")
        if effect.kind == "write" and effect.outside and self.mode is not Mode.READ_ONLY:
            return Decision(verdict="ask", reason=effect.reason or "it writes outside the workspace")
        is_network = effect.kind == "network" and self.mode is Mode.WORKSPACE
        if is_network and effect.hosts and all(map(self._is_listed, effect.hosts)):
            return Decision(verdict="allow", reason="a host of the user's settings")
        if effect.kind == "write" and self.mode is Mode.WORKSPACE and self.approval is Approval.ASK:
            return Decision(verdict="ask", reason="it changes files, and you are asked about each change")
        if TOOLS[self.mode, confined].get(effect.kind) == "allow":
            return Decision(verdict="allow", reason="stays within the bounds of the session")
        if self.mode is Mode.READ_ONLY:
            return Decision(verdict="deny", reason="the session is in read-only mode")
        if effect.kind == "execute" and self.approval is Approval.NEVER:
            # The project's own tests: on a machine without confinement the user was warned, and wants them.
            return Decision(verdict="allow", reason="unconfined, as warned")
        if effect.kind == "execute":
            return Decision(verdict="ask", reason="commands are not confined on this machine")
        return Decision(verdict="ask", reason=effect.reason or f"{effect.kind} leaves the workspace")

    def _decide_reach(self, reach: Reach, effect: Effect, *, confined: bool) -> Decision:
        asked, auto = COMMANDS[self.mode, confined][reach]
        verdict = asked if self.approval is Approval.ASK else auto
        reason = effect.reason or _WORDS.get(effect.kind, effect.kind)
        if verdict == "deny":
            reason = "the session is in read-only mode, and commands are not confined on this machine"
        elif verdict == "ask" and reach in ("vague", "runs", "unknown") and not confined:
            reason = f"{reason}, and commands are not confined on this machine"
        return Decision(verdict=verdict, reason=reason)

    def _apply_rule(self, base: Decision, rule: Rule | None) -> Decision:
        """Apply a rule to a verdict: rules tighten everything; they loosen "ask" verdicts, not the mode."""
        if rule is None or (base.verdict == "deny" and rule.verdict != "deny"):
            return base
        word = {"allow": "allows", "ask": "asks about", "deny": "denies"}[rule.verdict]
        return Decision(verdict=rule.verdict, reason=f"the user's rule {rule} {word} it")

    def _deny_if_unattended(self, decision: Decision, instead: str) -> Decision:
        if decision.verdict != "ask" or self.approval is not Approval.NEVER:
            return decision
        advice = f". Instead: {instead}" if instead else ""
        return Decision(verdict="deny", reason=f"{decision.reason}, and nobody can be asked{advice}")


def _suggest_instead(kind: EffectKind, *, has_paths: bool = True) -> str:
    return WITHOUT_PATHS if kind == "write" and not has_paths else INSTEAD.get(kind, "")


def pick_strictest(decisions: Sequence[Decision]) -> Decision:
    """Return the strictest of several decisions (deny over ask over allow)."""
    return max(decisions, key=lambda d: PERMISSIONS.index(d.verdict))


_WORDS: Mapping[EffectKind, str] = {
    "none": "changes nothing",
    "read": "reads",
    "write": "writes",
    "execute": "runs other code",
    "network": "uses the network",
    "git": "writes git's data",
    "destructive": "may lose work",
    "mcp": "asks a server",
    "unknown": "is not understood",
}


def _classify_reach(effect: Effect, *, root: Path, confined: bool, runs: bool) -> Reach:
    if effect.kind in ("none", "read"):
        return "secrets" if effect.outside and _has_secret_path(effect.paths) else "reads"
    if effect.kind == "write":
        scratch = confined and all(
            _is_scratch_path(path, root) for path in effect.paths if path.startswith("/")
        )
        return "writes" if scratch or not effect.outside else "leaves"
    if effect.kind == "execute":
        return "runs"
    if effect.kind == "network" and runs and not effect.hosts:
        return "runs"  # `npm test` may use it or not: the kernel decides
    return "unknown" if effect.kind == "unknown" else "leaves"


def _relativize_paths(effect: Effect, root: Path) -> Effect:
    """Make paths inside the workspace relative to it, as in rules, also if they are protected."""
    top = f"{root.resolve()}/"
    return replace(effect, paths=tuple(path.removeprefix(top) for path in effect.paths))


def _is_scratch_path(path: str, root: Path) -> bool:
    return path.startswith(SCRATCH) and not Path(path).is_relative_to(root.resolve())


def _has_secret_path(paths: Sequence[str]) -> bool:
    from sandbox.secrets.child_environment import list_secret_paths

    places = list_secret_paths(())
    return any(Path(path).is_relative_to(place) for path in paths for place in places)
