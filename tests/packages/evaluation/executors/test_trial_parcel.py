"""Names of what travels between a run and its nodes."""

from __future__ import annotations

from packages.scale.trials.trial_parcel import is_logs_name, name_logs


def test_a_node_names_no_artifact_but_the_logs_of_its_trial() -> None:
    key, other, id = "0123456789abcdef" * 4, "f" * 64, "ab" * 16
    assert is_logs_name(name_logs(key, id), key)
    for each in (
        name_logs(other, id),
        name_logs(key, "../../x"),
        f"/{name_logs(key, id)}",
        f"tasks/{id}.tgz",
        "",
        7,
    ):
        assert not is_logs_name(each, key)
