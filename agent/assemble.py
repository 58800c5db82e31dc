"""Assemble a session: root, home, sandbox, tools, model and log, in the order that starts fastest."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent.app_dirs import Home, make_private_folder
from agent.budget.budget_text import parse_budget
from agent.budget.limits import build_limits
from agent.budget.purse import Purse
from agent.capabilities import Capabilities, SessionEnvironment, check_writable
from agent.events import End, Event, Prompt, SessionStart, Signal
from agent.extension.extension_files import SHARED_LESSONS, has_hook_files, has_plugins, has_skills
from agent.model.protocol import Model
from agent.model_selection import ModelSelection
from agent.session.log import Session
from agent.session.model_notices import make_notice_callback
from agent.session_request import SessionRequest
from agent.session_settings import SessionSettings
from agent.turn.action_format import Modes, resolve_action_mode
from agent.turn.runtime import Runtime
from agent.workspace_root import find_working_folder, find_workspace_root
from sandbox.errors import Fault, UserError
from sandbox.extensions import load_extension
from sandbox.policy.decision import Approval, Mode, Policy
from sandbox.policy.foreign_stores import refuse_foreign_stores
from sandbox.policy.rules import Rules
from tools.core.tool_folders import ToolFolders
from tools.core.tool_settings import ToolSettings
from tools.core.workspace import Workspace

if TYPE_CHECKING:
    from agent.extension.skills.session_skills import SessionSkills
    from sandbox.process.command import Sandbox
    from sandbox.snapshots.workspace_snapshots import Snapshots
    from tools.code.lsp.session_servers import Servers
    from tools.core.registry import Toolbox
    from tools.mcp.server_place import ServerPlace
    from tools.mcp.server_tools import McpServers


def assemble_runtime(settings: SessionSettings, request: SessionRequest, home: Home) -> Runtime:
    """Open or create the session and everything it works with. Raises UserError."""
    models = ModelSelection(settings=settings, env=request.env, cache=home.lasting_cache)
    models.check_prices()
    root, is_git = find_workspace_root(request.working, need_git=request.offer_commit)
    refuse_foreign_stores(root)
    check_writable(root, settings.access.mode)
    settings = replace(settings, access=replace(settings.access, rules=settings.access.rules.bind(root)))
    if settings.rules:
        from agent.rules.rule_places import bind_rules

        settings = replace(settings, rules=bind_rules(settings.rules, root))
    opened: list[Session] = []
    create = request.model or partial(models.create_main_model, apply_doubtful=request.apply_doubtful)
    model = create(lambda text: make_notice_callback(opened[0])(text))
    session = _open_session(request, request.sessions or home.get_project_folder(root) / "sessions", root)
    opened.append(session)
    try:
        place = SessionEnvironment(
            settings=settings,
            home=home,
            root=root,
            is_git=is_git,
            request=request,
            model=model.name,
            folder=session.folder,
            assemble=assemble_runtime,
        )
        runtime = _build_runtime(place, request, models, model, session)
        if request.has_hooks and has_hook_files(home, root):
            from agent.extension.hooks.hook_monitor import attach_hooks

            attach_hooks(runtime, home)
        if settings.memory.enabled and not request.parent and home.user_data is None:
            _attach_memory(runtime, home)
        return runtime
    except BaseException:  # on any exception the log is released, then the exception is raised again
        session.close()
        raise


_MOST_EVENTS = 4_000
"""Events of a turn of which the memory learns: some thousand steps."""


def _attach_memory(runtime: Runtime, home: Home) -> None:
    """Let a session remember what its turns find out, and recall what earlier ones did.

    What remembering needs is imported at the end of a turn, what recalling needs once anything was ever remembered,
    or the repository shares lessons.
    """
    events: list[Event] = []

    def follow(event: Event) -> None:
        if isinstance(event, Prompt):
            events.clear()
        elif len(events) >= _MOST_EVENTS:  # the prompt, and the newest half of the others
            del events[1 : _MOST_EVENTS // 2]
        events.append(event)
        if isinstance(event, End):
            turn = tuple(events)
            events.clear()
            load_extension("memory", "turn_end")(turn, runtime, home, runtime.session.notify_subscribers)

    runtime.session.subscribe(follow)
    if home.memory.is_dir() or (runtime.workspace.root / SHARED_LESSONS).is_dir():
        from agent.memory.session_memory import attach_memory

        attach_memory(runtime, home)


def _open_session(request: SessionRequest, sessions: Path, root: Path) -> Session:
    if not request.session:
        return Session.create(sessions)
    if not request.parent:
        from agent.session.session_starter import check_own_files

        with suppress(FileNotFoundError):  # `open` says so
            check_own_files(sessions / request.session, root)
    return Session.open(sessions / request.session, request.proceed)


def _build_runtime(
    place: SessionEnvironment, request: SessionRequest, models: ModelSelection, model: Model, session: Session
) -> Runtime:
    settings = place.settings
    access = settings.access
    reach = place.build_capabilities(access.mode)
    workspace = _create_workspace(place, reach, session)
    mcp = _create_mcp_servers(place, workspace)
    if settings.tools.web.search == "mcp":
        from tools.web.web_tools import MCP_SERVERS

        workspace.facts[MCP_SERVERS] = mcp
    skills = _load_skills(place, request, reach.toolbox)
    snapshots = reach.snapshots
    recovered, ended = _recover_interrupted_edits(workspace)
    if request.session:
        _restore_changes(session, workspace, snapshots, ended)
    if not request.session or not _has_system_prompt(session):
        for event in _create_session_start(place, request, session, workspace, reach.toolbox):
            session.append(event)
    if recovered:
        session.append(Signal(name="recovery", detail=recovered))
    if snapshots is not None:
        _limit_snapshots(place, session)
    if request.session:
        workspace.remove_leftovers()
        from agent.children.unfinished import recover_children

        if (cut_off := recover_children(session, place.root, place.home)) is not None:
            session.append(cut_off)
    return Runtime(
        session=session,
        workspace=workspace,
        model=model,
        toolbox=reach.toolbox,
        policy=Policy(
            access.mode,
            access.approval or default_approval(reach.sandbox),
            access.rules,
            partial(_is_listed_host, settings),
        ),
        snapshots=snapshots,
        settings=settings,
        approver=request.approver,
        apply_action_format=partial(_apply_action_format, settings.actions, reach.toolbox),
        purse=request.purse or Purse(build_limits(settings.limits, parse_budget(settings.strategy.budget))),
        environment=place,
        mcp=mcp,
        skills=skills,
        roles=models.build_role_makers(make_notice_callback(session)),
    )


def _create_workspace(place: SessionEnvironment, reach: Capabilities, session: Session) -> Workspace:
    from sandbox.fs.workspace_tree import Tree
    from sandbox.policy.trust import TrustStore
    from tools.core.artifacts import Artifacts

    home, root, access, tools = place.home, place.root, place.settings.access, place.settings.tools
    project = home.get_project_folder(root)
    return Workspace(
        root=root,
        files=Tree(root, access.rules.denies_reading),
        sandbox=reach.sandbox,
        artifacts=Artifacts(session.folder / "artifacts"),
        settings=tools,
        folders=ToolFolders(
            cache=make_private_folder(home.cache / "work" / session.id),
            shared=home.cache,
            kept=project / "servers",
            saved_functions={"project": project / "functions", "user": home.data / "functions"},
        ),
        rules=access.rules,
        trusts=TrustStore(home.config).create_check(root),
        journal=project / "journal",
        mode=access.mode,
        servers=_create_language_servers(tools, access.rules, reach.sandbox.name),
        working_folder=find_working_folder(root, place.request.working),
    )


def _create_mcp_servers(place: SessionEnvironment, workspace: Workspace) -> McpServers | None:
    """Return the servers of the settings, of plugins and of the caller, None without any.

    In a container, into which no file descriptor can be passed, those with an address are left.
    """
    servers = place.settings.tools.mcp
    more: Mapping[str, ServerPlace | str] = {}
    wanted = place.request.tools
    if has_plugins(place.home) and (wanted is None or any(each.startswith("mcp__") for each in wanted)):
        from agent.extension.plugins.plugin_servers import load_plugin_servers

        more = load_plugin_servers(place.home, place.root)
    more = {**more, **place.request.servers}
    if not (servers or more):
        return None
    from tools.mcp.server_settings import normalize_server
    from tools.mcp.server_tools import McpServers

    if workspace.sandbox.name == "container":
        from sandbox.process.command_line import CommandLine

        servers = {name: each for name, each in servers.items() if normalize_server(each).url}
        more = {name: each for name, each in more.items() if not isinstance(each, CommandLine)}
        if not (servers or more):
            return None

    return McpServers(workspace, servers, more, place.home.sign_ins)


def _is_listed_host(settings: SessionSettings, host: str) -> bool:
    """Return whether the settings `network` or `web.search` name a host."""
    from sandbox.network.hosts import is_listed, parse_host_rules
    from tools.web.search_engines import find_search_host

    return is_listed(host, parse_host_rules(settings.access.network), (find_search_host(settings.tools.web),))


def _load_skills(
    place: SessionEnvironment, request: SessionRequest, toolbox: Toolbox
) -> SessionSkills | None:
    """Load the skills, and offer their tool; None where there are none."""
    if not has_skills(place.home, place.root):
        return None
    from agent.extension.extension_files import make_copies_folder
    from agent.extension.skills.session_skills import SessionSkills, make_skill_tool
    from agent.extension.skills.skill_catalog import take_skills

    copies = make_copies_folder(place.home, place.folder.name)
    skills = SessionSkills(take_skills(place.home, place.root), place.root, copies)
    tool = make_skill_tool(skills, place.settings.skills.budget)
    if tool is not None and (request.tools is None or tool.name in request.tools):
        toolbox.add([tool])
    return skills


def _limit_snapshots(place: SessionEnvironment, session: Session) -> None:
    """Once a day, delete the snapshots that are over the budget, and say so."""
    project = place.home.get_project_folder(place.root)
    marker = project / "snapshots" / "last-check"
    try:
        is_due = time.time() - marker.stat().st_mtime > _SNAPSHOT_CHECK
    except FileNotFoundError:
        is_due = marker.parent.is_dir()
    if not is_due:
        return
    from agent.session.snapshot_budget import limit_snapshots

    if notice := limit_snapshots(project, place.settings.snapshots):
        session.append(Signal(name="snapshots", detail=notice))
    with suppress(OSError):  # a full disk: then it is due again
        marker.touch(0o600)


_SNAPSHOT_CHECK = 86_400
"""Seconds between two looks at the size of the snapshots: it reads all logs of the project if some are too old."""


def _restore_changes(
    session: Session, workspace: Workspace, snapshots: Snapshots | None, ended: Collection[str]
) -> None:
    """Restore the record of the session's uncommitted changes, from the last event at which there were none."""
    from agent.context.restore.projection_checkpoint import CleanPoint, read_checkpoint
    from agent.turn.resume import find_last_untracked_place, restore_changes

    known = read_checkpoint(session.folder, session.replayed)
    clean = known.clean if known and known.clean else CleanPoint(at=0, tree="")
    deeds = session.replayed.select_file_events(
        after=clean.at if clean.tree else find_last_untracked_place(session.replayed)
    )
    last_message = session.replayed.find_newest_place("message")
    found = restore_changes(deeds, workspace, snapshots, ended, clean.tree, last_message)
    if found is not None:
        session.append(found)


def _apply_action_format(modes: Modes, toolbox: Toolbox, model: Model) -> Model:
    """Return the model, wrapped to act by code if that is its action format."""
    if resolve_action_mode(model.name, modes) != "code":
        return model
    if toolbox.get("python") is None:
        hint = "Set `actions` to tools, or `sandbox` to auto."
        raise UserError(Fault.CONFIGURATION, "there is no kernel in a container, so no acting by code", hint)
    from agent.model.code_actions import CodeActions

    return CodeActions(model, toolbox)


def _create_language_servers(settings: ToolSettings, rules: Rules, sandbox: str) -> Servers | None:
    """Return None if the user names no servers, or in a container, into which no file descriptor can be passed."""
    if not settings.language_servers or sandbox == "container":
        return None
    from sandbox.policy.effects import Effect
    from tools.code.lsp.session_servers import Servers

    def is_write_restricted(path: str) -> bool:
        rule = rules.match_effect(Effect(kind="write", paths=(path,)))
        return rule is not None and rule.verdict != "allow"

    return Servers(settings.language_servers, is_write_restricted)


def _has_system_prompt(session: Session) -> bool:
    """Whether the log has a system prompt; that of an imported session has none."""
    return any(start.system for start in session.replayed.select_events(SessionStart))


def default_approval(sandbox: Sandbox) -> Approval:
    """Return the approval of a session with a terminal, if the user has set none."""
    return Approval.ASK if sandbox.name == "unconfined" else Approval.AUTO


def _recover_interrupted_edits(workspace: Workspace) -> tuple[str, Collection[str]]:
    """Recover unfinished writes of a killed process.

    Returns a description, "" if there were none, and the paths written.
    """
    if workspace.mode is Mode.READ_ONLY or not workspace.journal.is_dir():
        return "", ()
    try:
        found = workspace.transactions.recover()
    except UserError as problem:  # e.g. a full disk: the next edit tries again
        return f"an interrupted edit could not be ended yet: {problem.message}", ()
    if found is None:
        return "", ()
    ended = found.paths if found.outcome == "finished" else ()
    return str(found), set(ended).difference(each.path for each in found.left)


def _create_session_start(
    place: SessionEnvironment,
    request: SessionRequest,
    session: Session,
    workspace: Workspace,
    toolbox: Toolbox,
) -> Iterator[Event]:
    """Yield the first event, and a notice on instructions of the project that are not read."""
    from agent.context.project_instructions import ProjectInstructions, read_project_instructions
    from agent.context.system_prompt import build_system_prompt, read_shared_prompt
    from sandbox.fs.repository import find_root, read_branch

    root, settings = place.root, place.settings
    commits = toolbox.get("git_commit") is not None
    working, instructions = request.working.resolve(), ProjectInstructions()
    if not request.system:
        instructions = read_project_instructions(root, working, settings.access.rules.denies_reading)
    system = request.system or build_system_prompt(
        root,
        working,
        mode=settings.access.mode,
        sandbox=workspace.sandbox.name,
        branch=read_branch(root) or ("(detached HEAD)" if find_root(root) else ""),
        commits=commits,
        instructions=instructions,
    )
    if request.instructions:
        system += f"\n\n# Your part\n\n{request.instructions.strip()}\n"
    yield SessionStart(
        session=session.id,
        started_by=request.parent or None,
        project=str(root),
        model=place.model,
        mode=settings.access.mode,
        version=request.version,
        outputs=settings.context.outputs,
        system=system,
        shared=None if request.system else len(read_shared_prompt(commits=commits)),
    )
    if instructions.left and not request.parent:
        yield Signal(name="instructions", detail=f"not read: {'; '.join(instructions.left)}")
