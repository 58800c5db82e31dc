"""Which agent and which step made a multi-agent run fail, told without a model: Who&When and AgentRx.

`python -m benchmarks.attribution FOLDER [--measure development|held-out]`: FOLDER holds bare snapshots of
mingyin1/Agents_Failure_Attribution and microsoft/AgentRx as OWNER+NAME/repo. A log whose name has an even SHA-1 is of
the development half, by which the weights are fitted; there the figures are those of ten-fold cross-validation.

A step's features are what can be seen of it (who speaks, code that fails next, a guess, a check, its place); their
weights are those of a conditional logit over the steps of a log. The agent is named by a second one over those who
speak: their turns, their place, their code, their guesses. AgentRx has too few logs for that: rules.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sandbox.lazy_dataclass import dataclass

FOLDS, ROUNDS, RATE, SHRINK = 10, 100, 0.5, 3.0
"""Of the cross-validation; of the fit: steps uphill, their length, and the weight of small weights."""

EARLY = 40
"""Messages of a run of a team that ended before it had used up its rounds."""

Features = Mapping[str, float]

_SIGNS = {
    "fails": re.compile(r"(?i)exitcode: [1-9]|traceback|execution failed|error:|exit code: [1-9]"),
    "guess": re.compile(
        r"(?i)\bassum|hypothetic|for (?:example|instance)|based on (?:my|general|common|available)|typical|likely"
        r"|estimate|approximate|mock|placeholder|simulat|\bI (?:recall|know)\b|known"
    ),
    "empty": re.compile(
        r"(?i)no (?:code|results?|output)|not (?:found|available|provided|able)|unable|could ?n[o']t|cannot"
    ),
    "check": re.compile(r"(?i)verif|correct|confirm|accurate|consistent"),
    "code": re.compile("```"),
    "end": re.compile(r"TERMINATE|FINAL ANSWER|###STOP###"),
    "clicked": re.compile(r"^I clicked"),
    "typed": re.compile(r"^I typed"),
    "scrolled": re.compile(r"^I scrolled"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedLog:
    """A log with what its annotators say. step: place of the decisive message; agent: "" where nobody is named"""

    source: str
    name: str
    messages: Sequence[Mapping[str, Any]]
    step: int
    agent: str = ""


def read_logs(folder: Path, *, development: bool) -> Iterator[FailedLog]:
    """Yield the logs of one half. Raises FileNotFoundError for a snapshot that is missing."""
    for log in (*_read_who_and_when(folder), *_read_agentrx(folder)):
        is_even = int(hashlib.sha1(log.name.encode()).hexdigest(), 16) % 2 == 0
        if is_even == development and 0 <= log.step < len(log.messages):
            yield log


def _read_who_and_when(folder: Path) -> Iterator[FailedLog]:
    repo = _find_snapshot(folder, "mingyin1+Agents_Failure_Attribution")
    for path in _list_files(repo, "Who&When"):
        found = json.loads(_git(repo, "show", f"HEAD:{path}"))
        yield FailedLog(
            source=path.split("/")[1],
            name=path,
            messages=found["history"],
            step=int(found["mistake_step"]),
            agent=found["mistake_agent"],
        )


def _read_agentrx(folder: Path) -> Iterator[FailedLog]:
    """Yield logs whose root cause is known; their steps are numbered from 1."""
    repo = _find_snapshot(folder, "microsoft+AgentRx")
    causes = json.loads(_git(repo, "show", "HEAD:data/ground_truth/magentic_one_ground_truth.json"))
    by_name = {str(each["trajectory_id"]): each for each in causes}
    for path in _list_files(repo, "data/magentic_dataset"):
        name = Path(path).stem
        if name in by_name and by_name[name].get("failures"):
            messages = json.loads(_git(repo, "show", f"HEAD:{path}"))
            yield FailedLog(source="magentic", name=name, messages=messages, step=_find_cause(by_name[name]))
    runs = json.loads(_git(repo, "show", "HEAD:data/tau_retail/tau_dataset_failed.json"))
    by_task = {str(each["task_id"]): each for each in runs}
    for cause in json.loads(_git(repo, "show", "HEAD:data/ground_truth/tau_retail.json")):
        name = str(cause["trajectory_id"])
        if name in by_task and cause.get("failures"):
            messages = by_task[name]["traj"]
            yield FailedLog(source="tau-retail", name=name, messages=messages, step=_find_cause(cause))


def _find_cause(found: Mapping[str, Any]) -> int:
    root = (found.get("root_cause") or {}).get("failure_id")
    failures = found["failures"]
    cause = next((each for each in failures if each["failure_id"] == root), failures[0])
    return int(cause["step_number"]) - 1


def _find_snapshot(folder: Path, name: str) -> Path:
    if not (folder / name / "repo").is_dir():
        raise FileNotFoundError(folder / name / "repo")
    return folder / name / "repo"


def _git(repo: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(repo), *arguments], capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")


def _list_files(repo: Path, folder: str) -> list[str]:
    return _git(repo, "ls-tree", "-r", "--name-only", "-z", "HEAD", folder).strip("\0").split("\0")


# ── Features ─────────────────────────────────────────────────────────────────────────────────────────


def find_speaker(message: Mapping[str, Any]) -> str:
    """Return who says a message; what an orchestrator thinks and orders is its own."""
    return str(message.get("name") or re.sub(r" \(.*", "", str(message.get("role"))))


def find_kind(message: Mapping[str, Any]) -> str:
    """Return what a message is: of a person, a thought, an order, an end, an output, or work."""
    role = str(message.get("role"))
    if role in ("human", "system") or (role == "user" and not message.get("name")):
        return "person"
    for mark, kind in (("(thought)", "thought"), ("(->", "order"), ("(termination", "end")):
        if mark in role:
            return kind
    return "output" if role == "tool" or "terminal" in find_speaker(message).lower() else "work"


def describe_steps(messages: Sequence[Mapping[str, Any]]) -> list[Features]:
    """Return the features of each message."""
    texts = [str(each.get("content") or "")[:6_000] for each in messages]
    signs = [{name for name, pattern in _SIGNS.items() if pattern.search(text)} for text in texts]
    kinds, speakers = [find_kind(each) for each in messages], [find_speaker(each) for each in messages]
    asked = [_name_calls(each) for each in messages]
    found: list[Features] = []
    working = 0
    for place, kind in enumerate(kinds):
        mine, after = signs[place], signs[place + 1] if place + 1 < len(signs) else set()
        before = signs[place - 1] if place else set()
        names = {f"is {kind}", *(f"has {each}" for each in mine if place)}
        names |= {f"next {each}" for each in after & {"fails", "empty", "end"}}
        names |= {f"after {each}" for each in before & {"fails"}} | (
            {f"after {kinds[place - 1]}"} if place else set()
        )
        names |= {f"place {place}"} if place < 2 else set()
        names |= {f"from end {len(kinds) - place}"} if len(kinds) - place < 3 else set()
        names |= {"code fails"} if {"code"} <= mine and "fails" in after else set()
        names |= {"guess without code"} if "guess" in mine and "code" not in mine and place else set()
        names |= {"checker"} if re.search("(?i)verif|valid|check", speakers[place]) else set()
        names |= (
            {f"{speakers[place]}"} if speakers[place] in ("WebSurfer", "FileSurfer", "Assistant") else set()
        )
        if kind == "work" and place:
            earlier = [speakers[at] for at in range(1, place) if kinds[at] == "work"]
            names |= {f"work {working}"} if working < 2 else set()
            names |= {"new speaker"} if speakers[place] not in earlier else set()
            names |= {"second of speaker"} if earlier.count(speakers[place]) == 1 else set()
            working += 1
        names |= {"asks"} if asked[place] else set()
        names |= {"changes"} if asked[place] & _CHANGES else set()
        names |= (
            {"first change"}
            if asked[place] & _CHANGES and not set().union(*asked[:place]) & _CHANGES
            else set()
        )
        names |= {"thinks"} if "think" in asked[place] else set()
        names |= (
            {"said before"}
            if place and any(texts[place][:120] == each[:120] for each in texts[:place])
            else set()
        )
        values = {"length": len(texts[place]) / 6_000, "late": place / len(texts), "far": math.log1p(place)}
        found.append({**values, **dict.fromkeys(names, 1.0)})
    return found


_CHANGES = frozenset(
    f"{verb}_{what}"
    for verb, whats in {
        "cancel": ["pending_order"],
        "modify": ["pending_order_items", "pending_order_address", "pending_order_payment", "user_address"],
        "return": ["delivered_order_items"],
        "exchange": ["delivered_order_items"],
        "transfer": ["to_human_agents"],
    }.items()
    for what in whats
)


def _name_calls(message: Mapping[str, Any]) -> set[str]:
    return {each["function"]["name"] for each in message.get("tool_calls") or ()}


# ── The fit ──────────────────────────────────────────────────────────────────────────────────────────


def fit_weights(samples: Sequence[tuple[Sequence[Features], int]]) -> dict[str, float]:
    """Return the weights by which the decisive steps are likeliest (conditional logit, shrunk)."""
    weights: dict[str, float] = {}
    for _ in range(ROUNDS):
        slope = {name: -SHRINK * weight for name, weight in weights.items()}
        for steps, decisive in samples:
            for place, chance in enumerate(rate_steps(steps, weights)):
                error = (place == decisive) - chance
                if abs(error) > 1e-4:
                    for name, value in steps[place].items():
                        slope[name] = slope.get(name, 0.0) + error * value
        for name, value in slope.items():
            weights[name] = weights.get(name, 0.0) + RATE * value / len(samples)
    return weights


def rate_steps(steps: Sequence[Features], weights: Mapping[str, float]) -> list[float]:
    """Return how likely each step is the decisive one."""
    scores = [sum(weights.get(name, 0.0) * value for name, value in each.items()) for each in steps]
    top = max(scores)
    raised = [math.exp(each - top) for each in scores]
    whole = sum(raised)
    return [each / whole for each in raised]


def list_agents(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return who speaks, in order of the first turn, without persons and tools."""
    return list(dict.fromkeys(find_speaker(each) for each in messages if find_kind(each) not in _NO_AGENTS))


_NO_AGENTS = ("person", "output")


def describe_agents(messages: Sequence[Mapping[str, Any]], steps: Sequence[Features]) -> list[Features]:
    """Return the features of each agent of `list_agents`, from those of its messages."""
    speakers = [find_speaker(each) for each in messages]
    workers = [who for who, each in zip(speakers, messages, strict=True) if find_kind(each) == "work"]
    coders = [who for who, each in zip(speakers, steps, strict=True) if "has code" in each]
    found: list[Features] = []
    for agent in list_agents(messages):
        mine = [place for place, each in enumerate(speakers) if each == agent]
        said = set().union(*(steps[place] for place in mine))
        names = said & {"code fails", "has guess", "guess without code", "has end", "checker"}
        names |= {f"begins at {mine[0]}"} if mine[0] < 2 else set()
        names |= {"works last"} if workers[-1:] == [agent] else set()
        names |= {"one turn"} if len(mine) == 1 else set()
        names |= {"first code"} if coders[:1] == [agent] else set()
        names |= {agent} if agent in ("Orchestrator", "WebSurfer") else set()
        values = {"share": len(mine) / len(messages)}
        values["code"] = sum("has code" in steps[place] for place in mine) / len(mine)
        values |= {"orchestrates long": math.log(len(messages))} if agent == "Orchestrator" else {}
        found.append({**values, **dict.fromkeys(names, 1.0)})
    return found


def name_step_by_rule(messages: Sequence[Mapping[str, Any]]) -> int:
    """Return the step at which a run of AgentRx became a failed one, by rules: its logs are too few for a fit.

    With calls that change something: the first of them, which cannot be taken back. Else, of a team: the claim that the
    request is satisfied, the last message of a run that was cut off early, or the first search on the web.
    """
    changes = [place for place, each in enumerate(messages) if _name_calls(each) & _CHANGES]
    if changes or not any("Orchestrator" in str(each.get("role")) for each in messages):
        return changes[0] if changes else len(messages) - 1
    kinds = [find_kind(each) for each in messages]
    claims = [
        place
        for place, each in enumerate(messages)
        if str(each.get("content")).strip() == "Request satisfied."
    ]
    if claims and len(messages) <= EARLY:
        return claims[-1]
    if "end" not in kinds and len(messages) <= EARLY:
        return len(messages) - 1
    return next((place for place, each in enumerate(messages) if each.get("role") == "WebSurfer"), 1)


def predict(
    fitted: Sequence[FailedLog], measured: Sequence[FailedLog]
) -> Iterator[tuple[FailedLog, int, str]]:
    """Yield each measured log with the step and the agent that are named, by weights of the other logs."""
    described = {log.name: describe_steps(log.messages) for log in (*fitted, *measured)}
    order = list(range(len(measured)))
    random.Random(1).shuffle(order)
    is_same = fitted is measured
    for fold in range(FOLDS if is_same else 1):
        chosen = {measured[at].name for at in (order[fold::FOLDS] if is_same else order)}
        known = [log for log in fitted if not is_same or log.name not in chosen]
        weights = fit_weights([(described[log.name], log.step) for log in known])
        agent_weights = fit_weights(
            [
                (describe_agents(log.messages, described[log.name]), agents.index(log.agent))
                for log in known
                if log.agent in (agents := list_agents(log.messages))
            ]
        )
        for log in measured:
            if log.name in chosen:
                chances = rate_steps(described[log.name], weights)
                agents = list_agents(log.messages)
                shares = rate_steps(describe_agents(log.messages, described[log.name]), agent_weights)
                yield log, chances.index(max(chances)), agents[shares.index(max(shares))]


def main() -> None:
    """Print the figures of each set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--measure", choices=("development", "held-out"), default="development")
    options = parser.parse_args()
    try:
        fitted = list(read_logs(options.folder, development=True))
    except FileNotFoundError as error:
        raise SystemExit(f"missing: {error}") from None
    held_out = options.measure == "held-out"
    measured = list(read_logs(options.folder, development=False)) if held_out else fitted
    whole: list[tuple[FailedLog, int, str]] = []
    for source in sorted({log.source for log in fitted}):
        own = [log for log in fitted if log.source == source]
        if not own[0].agent:
            chosen = [log for log in measured if log.source == source]
            rows = [(log, name_step_by_rule(log.messages), "") for log in chosen]
            print_figures(source, rows)
            whole += rows
            continue
        rows = list(predict(own, [log for log in measured if log.source == source] if held_out else own))
        print_figures(source, rows)
        whole += rows
    print_figures("Who&When", [row for row in whole if row[0].agent])
    print_figures("AgentRx", [row for row in whole if not row[0].agent])


def print_figures(name: str, rows: Sequence[tuple[FailedLog, int, str]]) -> None:
    """Print how many steps and agents were named rightly."""
    steps = sum(step == log.step for log, step, _ in rows)
    agents = sum(agent == log.agent for log, _, agent in rows)
    told = f", agent {agents} ({agents / len(rows):.1%})" if rows[0][0].agent else ""
    print(f"{name}: {len(rows)} logs, step {steps} ({steps / len(rows):.1%}){told}", flush=True)


if __name__ == "__main__":
    main()
