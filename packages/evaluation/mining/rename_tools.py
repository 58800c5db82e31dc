"""Other names of tools and arguments, drawn by a seed, for models that may know the usual ones by heart.

Source: Fu et al., AgentRefine: Enhancing Agent Generalization through Refinement Tuning (ICLR 2025), which perturbs the
names, arguments and descriptions of actions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from packages.evaluation.tasks.task_file import RenamedTool

NAMES: Mapping[str, Sequence[str]] = {
    "read": ("open_document", "show_lines", "fetch_text"),
    "list": ("tree_of", "survey_folder", "enumerate_entries"),
    "search": ("seek", "scan_for", "look_up_text"),
    "code": ("ask_index", "symbol_lookup", "consult_map"),
    "edit": ("swap_text", "amend", "substitute_passage"),
    "edit_symbol": ("swap_definition", "rewrite_block", "substitute_definition"),
    "edit_lines": ("swap_rows", "rewrite_rows", "substitute_rows"),
    "apply_patch": ("merge_diff", "carry_out_diff", "land_changes"),
    "write": ("store_text", "put_document", "compose_document"),
    "rename": ("relabel", "give_new_name", "retitle_symbol"),
    "shell": ("terminal", "console_line", "issue_command"),
    "process": ("lasting_command", "daemon_console", "keep_alive"),
    "python": ("notebook_cell", "interpreter", "evaluate_cell"),
    "run_tests": ("exercise_checks", "verify_suite", "try_checks"),
    "plan": ("agenda", "set_milestones", "to_do_list"),
    "git_status": ("tree_state", "pending_overview", "worktree_summary"),
    "git_diff": ("pending_changes", "compare_worktree", "show_delta"),
    "git_commit": ("record_changes", "seal_changes", "checkpoint_history"),
    "localize": ("rank_suspects", "suspect_lines", "point_at_cause"),
    "why_failing": ("trace_failure", "explain_red_test", "backtrack_values"),
    "repair": ("propose_mends", "try_small_changes", "search_mends"),
    "web_fetch": ("load_page", "visit_address", "page_text"),
    "web_search": ("query_web", "look_online", "web_index"),
    "recall": ("earlier_output", "replay_step", "look_back"),
    "memory": ("note_pad", "pin_note", "keep_in_mind"),
    "finish": ("close_task", "hand_over", "conclude"),
    "ask_user": ("consult_person", "inquire", "put_question"),
    "delegate": ("hand_to_helper", "assign_helper", "dispatch_agent"),
}
"""Other names by the real one: none is a tool of this program, nor one that other agents are known for."""

ARGUMENTS: Mapping[str, Sequence[str]] = {
    "path": ("location", "document", "where"),
    "start": ("from_row", "begin_at", "opening_row"),
    "end": ("to_row", "stop_at", "closing_row"),
    "depth": ("levels", "nesting", "how_deep"),
    "pattern": ("expression", "needle", "wanted"),
    "glob": ("name_mask", "only_named", "mask"),
    "action": ("mode", "operation", "what_for"),
    "target": ("subject", "about", "object"),
    "old": ("before", "present_text", "existing"),
    "new": ("after", "future_text", "desired"),
    "all": ("everywhere", "each_place", "repeat"),
    "symbol": ("definition", "entity", "member"),
    "first": ("top_row", "upper", "row_a"),
    "last": ("bottom_row", "lower", "row_b"),
    "patch": ("delta", "diff_text", "changes"),
    "content": ("body", "full_text", "material"),
    "name": ("present_name", "label", "called"),
    "to": ("becomes", "next_name", "label_after"),
    "command": ("line", "instruction", "statement"),
    "timeout": ("patience", "at_most", "limit_s"),
    "code": ("cell", "source", "program_text"),
    "targets": ("selection", "chosen", "scope"),
    "items": ("entries", "points", "steps"),
    "message": ("remark", "headline", "note_text"),
    "summary": ("closing_words", "outcome_text", "account"),
    "status": ("result_kind", "verdict", "state_word"),
    "question": ("inquiry", "matter", "ask"),
    "task": ("assignment", "job", "order"),
    "url": ("address", "page", "link"),
    "query": ("words", "topic", "phrase"),
    "ref": ("handle", "mark", "pointer"),
    "find": ("containing", "words_in_it", "match_text"),
}
"""Other names of arguments by the real one, the same for all tools."""

DESCRIPTIONS: Mapping[str, str] = {
    "read": "Return the rows of a document as text, at most 400 unless the end is named. Their numbers are no part "
    "of it.",
    "list": "Give a tree of what a folder holds; ignored entries are missing.",
    "search": "Look for a regular expression (ripgrep's syntax) in rows and in names, ignored documents aside.",
    "shell": "Hand one line to bash, in the root of the project. Whatever it starts ends with it.",
    "run_tests": "Execute the project's checks: everything, or a choice of ids or locations.",
    "plan": "Lay down the whole agenda; it takes the place of the one before.",
    "git_status": "Tell the branch, and which documents differ, yours among them.",
    "git_diff": "Give the differences that no commit has yet, documents of yours that are new included.",
    "finish": "Say that the assignment is over: done, or impossible.",
}
"""Descriptions in other words, of tools whose description is always the same."""


_ELSEWHERE: Mapping[str, Sequence[str]] = {"ask_user": ("question",), "delegate": ("task",)}
"""Arguments of tools that are no default ones."""


def rename_tools(seed: str) -> dict[str, RenamedTool]:
    """Return a table of other names, the same for the same seed."""
    from tools.builtin_tools import load_default_tools

    draw = Random(f"tools {seed}")
    words = {name: draw.choice(others) for name, others in ARGUMENTS.items()}
    known = {each.name: tuple(each.parameters["properties"]) for each in load_default_tools()}
    return {
        tool: RenamedTool(
            name=draw.choice(names),
            arguments={each: words[each] for each in {**known, **_ELSEWHERE}.get(tool, ()) if each in words},
            description=DESCRIPTIONS.get(tool, ""),
        )
        for tool, names in NAMES.items()
    }
