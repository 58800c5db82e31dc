"""Attribution of failures without a model: the features, the fit and the rules, on logs made for it."""

from __future__ import annotations

from benchmarks.attribution import (
    FailedLog,
    describe_agents,
    describe_steps,
    fit_weights,
    list_agents,
    name_step_by_rule,
    predict,
    rate_steps,
)


def create_log(number: int) -> FailedLog:
    """A log whose decisive message is code that fails, at another place each time."""
    place = 1 + number % 4
    messages = [
        {"role": "user", "name": f"Expert_{at}", "content": f"I look at part {at}."} for at in range(8)
    ]
    messages[place]["content"] = "```python\nrun()\n```"
    messages[place + 1] = {
        "role": "user",
        "name": "Computer_terminal",
        "content": "exitcode: 1 (execution failed)",
    }
    return FailedLog(source="s", name=str(number), messages=messages, step=place, agent=f"Expert_{place}")


def test_the_fit_finds_the_planted_step_and_who_made_it() -> None:
    logs = [create_log(number) for number in range(20)]
    rows = list(predict(logs, logs))
    assert len(rows) == 20
    assert all(step == log.step and agent == log.agent for log, step, agent in rows)


def test_weights_of_some_logs_hold_for_others() -> None:
    known, other = [create_log(number) for number in (0, 1, 2)], create_log(3)
    weights = fit_weights([(describe_steps(each.messages), each.step) for each in known])
    chances = rate_steps(describe_steps(other.messages), weights)
    assert abs(sum(chances) - 1) < 1e-9
    assert chances.index(max(chances)) == other.step


def test_an_agent_is_described_by_its_turns_and_what_became_of_its_code() -> None:
    log = create_log(2)
    agents = list_agents(log.messages)
    assert "Computer_terminal" not in agents
    described = dict(zip(agents, describe_agents(log.messages, describe_steps(log.messages)), strict=True))
    assert {"code fails", "first code", "one turn"} <= described["Expert_3"].keys()
    assert "begins at 0" in described["Expert_0"]
    assert "works last" in described["Expert_7"]
    assert all("code fails" not in described[each] for each in agents if each != "Expert_3")


def test_the_rules_name_the_first_change_the_claim_and_the_first_search() -> None:
    def ask(name: str) -> dict[str, object]:
        return {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": name}}]}

    shop = [{"role": "user", "content": "cancel it"}, ask("get_order_details"), ask("cancel_pending_order")]
    assert name_step_by_rule([*shop, ask("modify_pending_order_items")]) == 2
    thought = {"role": "Orchestrator (thought)", "content": "go on"}
    search = {"role": "WebSurfer", "content": "I typed 'x'"}
    claim = {**thought, "content": "Request satisfied."}
    end = {"role": "Orchestrator (termination condition)", "content": "done"}
    assert name_step_by_rule([thought, search, claim, end]) == 2
    assert name_step_by_rule([thought, search, search]) == 2
    assert name_step_by_rule([thought, search, search] * 20) == 1
