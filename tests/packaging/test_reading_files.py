"""Files of a workspace are opened in few places: regular files only, of bounded size, none outside."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


CHECKOUT = Path(__file__).parents[2]
FLOORS = ("patchwright", "cli", "agent", "tools", "sandbox", "packages")

OPENERS = ("open", "read_text", "read_bytes")

OWN = "files of Patchwright's own folders, or of its installation"
SYSTEM = "files of the system: /proc, /dev"
NAMED = "a file that the user names on the command line"
WRITES = "opens for writing, or a folder's handle"

ALLOWED = {
    "patchwright/launcher.py": OWN,
    "patchwright/warm_client.py": OWN,
    "agent/extension/hooks/hook_dialect.py": OWN,
    "agent/memory/memory_key.py": OWN,
    "packages/memory/commands/memory.py": NAMED,
    "packages/setup/importing/peers/peer_files.py": OWN,
    "packages/setup/prepare/preparation.py": OWN,
    "packages/setup/sessions/foreign_turns.py": "logs of other agents of the user's, or a file that is named",
    "packages/setup/sessions/gemini_sessions.py": "logs of other agents of the user's, or a file that is named",
    "packages/setup/sessions/import_sessions.py": "logs of other agents of the user's, or a file that is named",
    "packages/improve/improvement/idea_archive.py": WRITES,
    "packages/trace/feedback/notes.py": OWN,
    "packages/trace/page/figures_page.py": OWN,
    "packages/trace/page/page_file.py": WRITES,
    "packages/trace/page/page.py": OWN,
    "packages/trace/rows/session_trace.py": OWN,
    "packages/warm/caller_check.py": "/proc and the control groups",
    "packages/warm/forked_run.py": SYSTEM,
    "packages/warm/warm_server.py": OWN,
    "tools/builtin_tools.py": OWN,
    "sandbox/extensions.py": OWN,
    "sandbox/fs/regular_file.py": "the place",
    "sandbox/fs/workspace_tree.py": "the tools' place: by folder handles, regular files only",
    "sandbox/fs/dirfd_walk.py": "folder handles",
    "sandbox/fs/transaction/transaction_plan.py": "by folder handles, regular files only",
    "sandbox/fs/transaction/execution.py": WRITES,
    "sandbox/fs/transaction/journal.py": OWN,
    "sandbox/fs/placeholders.py": WRITES,
    "agent/model/servers/server_facts.py": OWN,
    "agent/model/gguf/gguf_file.py": "a file that the user names; a regular one, opened without waiting, bounded",
    "agent/model/gguf/memory_plan.py": SYSTEM,
    "agent/model/gguf/own_server.py": OWN,
    "agent/model/gguf/server_keeper.py": OWN,
    "agent/model/gguf/server_records.py": OWN,
    "cli/settings/server_offers.py": OWN,
    "sandbox/fs/private_files.py": WRITES,
    "sandbox/snapshots/working_tree.py": "regular files only, at most 10 MB",
    "sandbox/snapshots/coverage/sealed.py": "handles that read nothing (O_PATH)",
    "sandbox/snapshots/object_store.py": OWN,
    "sandbox/snapshots/pack.py": OWN,
    "sandbox/snapshots/stat_cache.py": OWN,
    "sandbox/snapshots/folder_watch.py": SYSTEM,
    "sandbox/view/machine_view.py": SYSTEM,
    "sandbox/view/served_sockets.py": SYSTEM,
    "sandbox/process/control_group.py": SYSTEM,
    "sandbox/helpers/helper_confinement.py": "our own programs",
    "tools/git/commits/publish.py": "a copy of the index in a folder of ours",
    "tools/git/index_lock.py": "git's lock beside the index, made or compared by handle",
    "tools/git/messages/model_message.py": "not a file: the text of a change",
    "tools/git/repository_state.py": SYSTEM,
    "sandbox/guards/folder_handles.py": "by folder handles, regular files only",
    "sandbox/guards/hard_links.py": "by folder handles, regular files only",
    "packages/scale/cluster/ray_cluster.py": WRITES,
    "packages/scale/cluster/archives.py": "archives of our own, of files that were listed one by one",
    "cli/commands/setup/demo_repository.py": OWN,
    "cli/commands/git/hosted_request.py": NAMED,
    "cli/detached/detached_run.py": "the terminal that started the run, for writing",
    "cli/detached/log_tail.py": OWN,
    "cli/detached/mailbox.py": OWN,
    "cli/hosting/rest_client.py": "an address, no file",
    "cli/detached/reply_stream.py": OWN,
    "cli/protocols/mcp_server/token_file.py": NAMED,
    "cli/detached/run_record.py": OWN,
    "sandbox/backends/selection.py": OWN,
    "sandbox/network/netns_join.py": SYSTEM,
    "sandbox/network/port_probe.py": SYSTEM,
    "sandbox/policy/trust.py": OWN,
    "sandbox/process/output_capture.py": OWN,
    "sandbox/process/orphan_reaper.py": SYSTEM,
    "sandbox/process/process_tree.py": SYSTEM,
    "sandbox/process/start_gate.py": WRITES,
    "sandbox/snapshots/coverage/overlong_paths.py": "folder handles",
    "sandbox/process/resource_watch.py": SYSTEM,
    "sandbox/process/spawn.py": SYSTEM,
    "sandbox/resident/place.py": OWN,
    "sandbox/resident/server.py": SYSTEM,
    "sandbox/fs/archive_members.py": "files and folders of an archive, by handles in a new folder of ours",
    "agent/children/process/process_start.py": SYSTEM,
    "packages/scale/children/bridge_process.py": "the null device",
    "packages/scale/children/child_host.py": OWN,
    "packages/scale/children/cluster_end.py": OWN,
    "packages/scale/children/parcel.py": "by folder handles, regular files only; links are not followed",
    "packages/scale/children/remote_executor.py": OWN,
    "agent/children/process/served_session.py": "the pipe to the session that started this process",
    "agent/context/compression/summary.py": OWN,
    "packages/search/microsteps/ledger.py": OWN,
    "agent/context/restore/projection_checkpoint.py": OWN,
    "agent/context/system_prompt.py": OWN,
    "agent/model/code_actions.py": OWN,
    "agent/model/providers/model_catalog.py": OWN,
    "agent/model/scripted/cassette.py": NAMED,
    "agent/model/scripted/scripted_model.py": NAMED,
    "agent/model/text_translation.py": OWN,
    "agent/session/branch_history.py": OWN,
    "agent/session/export_import.py": OWN,
    "agent/session/foreign_log.py": "a received session in a private folder, of which nothing is a link",
    "agent/session/images.py": "files of the session; an image that the user attaches",
    "agent/session/log.py": OWN,
    "agent/session/log_index.py": OWN,
    "agent/session/session_preview.py": OWN,
    "agent/session/session_pruning.py": OWN,
    "agent/session/session_search.py": OWN,
    "tools/core/shared_results.py": "an artifact of the session",
    "agent/extension/hooks/hook_runner.py": "an address, no file",
    "agent/extension/skills/skill_template.py": WRITES,
    "agent/team/definitions/agent_template.py": WRITES,
    "agent/team/definitions/builtin_agents.py": OWN,
    "packages/search/pipeline/questions.py": OWN,
    "agent/strategy/strategy_turn.py": "an artifact of the session",
    "packages/search/team/roles.py": OWN,
    "packages/evaluation/runs/result_store.py": OWN,
    "packages/evaluation/runs/run_lock.py": OWN,
    "packages/evaluation/tasks/folder_files.py": WRITES,
    "cli/commands/offline/apply.py": NAMED,
    "cli/commands/offline/symbols.py": NAMED,
    "cli/commands/offline/kernel.py": NAMED,
    "packages/offline/commands/reproduce.py": NAMED,
    "packages/offline/reproduction/model_writer.py": OWN,
    "packages/search/review/child_opinion.py": OWN,
    "packages/offline/reproduction/reproduction_verifier.py": OWN,
    "packages/offline/reproduction/machine.py": "through Project.read_text: by the tools' place, bounded",
    "packages/offline/reproduction/probe/reproduction_probe.py": "runs inside a sandbox",
    "tools/mcp/oauth/token_store.py": OWN,
    "cli/commands/sessions/context.py": OWN,
    "cli/commands/sessions/session.py": NAMED,
    "cli/hooks/commit_message.py": "the message that git hands to its hook",
    "packages/setup/init/agents_file.py": WRITES,
    "agent/verify/answer_schema.py": NAMED,
    "agent/team/answers_file.py": NAMED,
    "packages/search/select/changed_functions.py": "through Project.read_text: by the tools' place, bounded",
    "tools/lint/honesty/scan.py": "through Change.read_text: contents in memory",
    "packages/evaluation/suites/source_folder.py": NAMED,
    "packages/evaluation/suites/projects/refactorbench.py": NAMED,
    "packages/evaluation/suites/projects/swebench_report.py": NAMED,
    "packages/evaluation/suites/programs/program_answers.py": OWN,
    "packages/evaluation/suites/programs/program_judge.py": "runs in the sandbox",
    "packages/evaluation/suites/programs/tests_judge.py": "runs in the sandbox",
    "packages/evaluation/suites/ending_checks.py": OWN,
    "packages/evaluation/mining/inject_faults.py": "task folders that we wrote",
    "packages/evaluation/mining/mine_fixes.py": OWN,
    "packages/search/programs/program_worker.py": "runs in the sandbox",
    "packages/improve/optimize/profile_probe.py": "runs in the sandbox",
    "packages/improve/optimize/target_profile.py": OWN,
    "cli/output/session_export.py": WRITES,
    "cli/output/standard_streams.py": SYSTEM,
    "cli/settings/permission_rules.py": OWN,
    "cli/tui/commands/session_commands.py": NAMED,
    "cli/tui/input/input_history.py": OWN,
    "cli/tui/screen/terminal_writer.py": SYSTEM,
    "tools/code/index/file_listing.py": "regular files only, bounded; twice as fast for thousands of sources",
    "tools/code/index/index_store.py": OWN,
    "tools/code/index/parsing/file_facts.py": OWN,
    "tools/core/artifacts.py": OWN,
    "tools/fs/file_tools.py": "regular files only; as many lines as asked for",
    "tools/git/apply_attempt.py": "an artifact of the session",
    "tools/git/worktrees.py": WRITES,
    "tools/kernel/patchwright_kernel/block_runner.py": SYSTEM,
    "tools/kernel/saved_functions.py": OWN,
    "packages/offline/repair/engine/repair_engine.py": "by the tools' place",
    "packages/offline/repair/engine/validation/worker_process.py": OWN,
    "tools/testing/project_copies.py": "a copy of our own",
    "packages/offline/repair/localize/coverage_spectrum.py": OWN,
    "packages/offline/repair/patchwright_worker/entry.py": "runs in the sandbox",
    "packages/offline/repair/patchwright_worker/live_code/line_probes.py": "runs in the sandbox",
    "packages/offline/repair/patchwright_worker/process/child_process.py": "runs in the sandbox",
    "packages/offline/repair/patchwright_worker/serving/baseline.py": "runs in the sandbox",
    "packages/offline/repair/patchwright_worker/serving/trial_modes.py": "runs in the sandbox",
    "tools/session/recall.py": OWN,
    "tools/shell/shell_tool.py": OWN,
    "tools/testing/launch.py": OWN,
    "agent/extension/hooks/hook_response.py": "through Tree.read_text: the tools' place",
    "tools/testing/build_trees.py": "through Project.read_text: by the tools' place, bounded",
    "tools/testing/obstacles.py": "through Project.read_text: by the tools' place, bounded",
    "tools/testing/go_cargo.py": "through Project.read_text: by the tools' place, bounded",
    "agent/verify/uncommitted_setup.py": OWN,
    "packages/offline/infill/filled_search.py": "through the engine's reader: by the tools' place",
    "tools/testing/package_suites.py": "through Project.read_text: by the tools' place, bounded",
    "tools/testing/package_coverage.py": "through Project.read_text: by the tools' place, bounded",
    "tools/testing/packages.py": "through Project.read_text: by the tools' place, bounded",
    "packages/search/programs/keyed_answers.py": "through Project.read_text: by the tools' place, bounded",
    "packages/offline/repair/engine/own_work.py": "by the tools' place",
    "tools/testing/node.py": "through Project.read_text: by the tools' place, bounded",
    "tools/testing/python.py": "through Project.read_text: by the tools' place, bounded",
    "tools/testing/runners.py": "through Project.read_text: by the tools' place, bounded",
    "tools/lint/checks/linters.py": "through Change.read_text: git's objects",
    "tools/lint/checks/staged_checks.py": "through Change.read_text: git's objects",
    "tools/git/messages/message_summary.py": "through Change.read_text: git's objects",
    "agent/verify/changed_lines_lint.py": "through Change.read_text: git's objects",
}
"""Modules that open files by themselves, and why these are none that a stranger's workspace decides."""

NAMES_OF_OTHERS = (
    "Session",
    "Children",
    "TrialPlace",
    "webbrowser",
    "self._store",
    "_store",
    "store",
    "self._unsealed",
    "unsealed",
)
"""What has a method `open` that opens no file."""


def list_openers(source: str) -> Iterator[tuple[int, str]]:
    if not any(each in source for each in OPENERS):  # parsing all modules takes a second
        return
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        match node.func:
            case ast.Name(id=name) if name in OPENERS:
                yield node.lineno, name
            case ast.Attribute(value=value, attr=name) if name in OPENERS:
                if not (name == "open" and ast.unparse(value) in NAMES_OF_OTHERS):
                    yield node.lineno, f"{ast.unparse(value)}.{name}"


def list_modules() -> Iterator[tuple[str, str]]:
    for floor in FLOORS:
        for path in sorted((CHECKOUT / floor).rglob("*.py")):
            yield path.relative_to(CHECKOUT).as_posix(), path.read_text("utf-8")


def test_no_module_opens_files_of_the_workspace_by_itself() -> None:
    found = {
        f"{module}:{line}: {call}"
        for module, source in list_modules()
        if module not in ALLOWED
        for line, call in list_openers(source)
    }
    assert not found, "read them with sandbox/fs/untrusted_file.py or regular_file.py"


def test_the_list_names_no_module_that_opens_nothing() -> None:
    opening = {module for module, source in list_modules() if any(list_openers(source))}
    assert ALLOWED.keys() <= opening


def test_an_opener_is_found() -> None:
    source = "p.read_text()\nopen(x)\nos.open(x, 0)\nPath('a').open()\nself._store.open()\n"
    assert [line for line, _ in list_openers(source)] == [1, 2, 3, 4]
