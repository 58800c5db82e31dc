"""Put a session together: root, home, sandbox, tools, model and log, in the order that starts fastest."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent.context.checkpoint import Clean, read
from agent.events import Event, SessionStart, Signal
from agent.home import Home, private_folder
from agent.locate import locate
from agent.model.base import Model
from agent.modes import Modes, mode_of
from agent.options import Options
from agent.reach import Place, check_writable
from agent.resume import restore_changes, unfollowed
from agent.runtime import Runtime, notice
from agent.session import Session
from sandbox.errors import Fault, UserError
from sandbox.policy import Approval, Mode, Policy
from tools.settings import ToolSettings
from tools.workspace import Workspace

if TYPE_CHECKING:
    from sandbox.process import Sandbox
    from sandbox.snapshots import Snapshots
    from tools.lsp.servers import Servers
    from tools.mcp.servers import McpServers
    from tools.registry import Toolbox


def assemble(options: Options, home: Home) -> Runtime:
    """Open or create the session and everything it works with. Raises UserError."""
    root, is_git = locate(options.working, need_git=options.offer_commit)
    check_writable(root, options.mode)
    opened: list[Session] = []
    model = options.model(home, lambda text: notice(opened[0])(text))
    session = _session(options, home.project(root))
    opened.append(session)
    try:
        return _runtime(options, home, root, is_git, model, session)
    except BaseException:  # whatever it was, the log is released; the error goes on
        session.close()
        raise


def _session(options: Options, project: Path) -> Session:
    sessions = project / "sessions"
    if not options.session:
        return Session.create(sessions)
    return Session.open(sessions / options.session, options.proceed)


def _runtime(
    options: Options, home: Home, root: Path, is_git: bool, model: Model, session: Session
) -> Runtime:
    from sandbox.paths import Tree
    from sandbox.trust import TrustStore
    from tools.artifacts import Artifacts

    place = Place(
        options=options, home=home, root=root, is_git=is_git, model=model.name, folder=session.folder
    )
    reach = place.reach(options.mode)
    workspace = Workspace(
        root=root,
        files=Tree(root, options.rules.denies_reading),
        sandbox=reach.sandbox,
        artifacts=Artifacts(session.folder / "artifacts"),
        journal=home.project(root) / "journal",
        settings=ToolSettings(
            test_command=options.test_command,
            test_timeout=options.test_timeout,
            shell_timeout=options.shell_timeout,
            kernel_memory=options.kernel_memory,
            kept={"project": home.project(root) / "functions", "user": home.data / "functions"},
            secrets_allowed=options.secrets_allowed,
            refuse_syntax_errors=options.refuse_syntax_errors,
            lint=options.lint,
            unreadable=tuple(rule.pattern for rule in options.rules.read_denials),
            trusts=TrustStore(home.config).create_check(root),
            cache=private_folder(home.cache / "work" / session.id),
            shared=home.cache,
        ),
        mode=options.mode,
        servers=_servers(options, reach.sandbox.name),
    )
    mcp: McpServers | None = None
    if options.mcp and reach.sandbox.name != "container":  # no descriptor reaches into one
        from tools.mcp.servers import McpServers

        mcp = McpServers(workspace, options.mcp)
    commits = reach.toolbox.get("git_commit") is not None
    snapshots = reach.snapshots
    recovered, ended = _recovered(workspace)
    _restore_changes(session, workspace, snapshots, ended)
    if not _has_started(session):
        session.append(_start(options, root, model, session, workspace, offers_commit=commits))
    if recovered:
        session.append(Signal(name="recovery", detail=recovered))
    return Runtime(
        session=session,
        workspace=workspace,
        model=model,
        toolbox=reach.toolbox,
        policy=Policy(options.mode, options.approval or default_approval(reach.sandbox), options.rules),
        snapshots=snapshots,
        approver=options.approver,
        discipline=options.discipline,
        shares=options.shares,
        summaries=options.summaries,
        acting=partial(_acting, options.actions, reach.toolbox),
        limits=options.limits,
        commit=options.commit,
        place=place,
        mcp=mcp,
        roles={role: partial(make, home, notice(session)) for role, make in options.roles.items()},
    )


def _restore_changes(
    session: Session, workspace: Workspace, snapshots: Snapshots | None, ended: Collection[str]
) -> None:
    """What the session has changed and not committed, from the last place on where that was nothing."""
    known = read(session.folder, session.replayed)
    clean = known.clean if known and known.clean else Clean(at=0, tree="")
    deeds = session.replayed.deeds(after=clean.at if clean.tree else unfollowed(session.replayed))
    if (found := restore_changes(deeds, workspace, snapshots, ended, clean.tree)) is not None:
        session.append(found)


def _acting(modes: Modes, toolbox: Toolbox, model: Model) -> Model:
    """The model, made to act by code if that is its way here."""
    if mode_of(model.name, modes) != "code":
        return model
    if toolbox.get("python") is None:
        hint = "Set `actions` to tools, or `sandbox` to auto."
        raise UserError(Fault.CONFIGURATION, "there is no kernel in a container, so no acting by code", hint)
    from agent.model.code_actions import CodeActions

    return CodeActions(model, toolbox)


def _servers(options: Options, sandbox: str) -> Servers | None:
    """None where the user names none; and in a container, into which no descriptor of ours reaches."""
    if not options.language_servers or sandbox == "container":
        return None
    from sandbox.effects import Effect
    from tools.lsp.servers import Servers

    def spared(path: str) -> bool:
        rule = options.rules.match_effect(Effect(kind="write", paths=(path,)))
        return rule is not None and rule.verdict != "allow"

    return Servers(options.language_servers, spared)


def _has_started(session: Session) -> bool:
    """Whether the log says what the model is told first; that of an imported session does not."""
    return any(start.system for start in session.replayed.only(SessionStart))


def default_approval(sandbox: Sandbox) -> Approval:
    """Of a session with a terminal, when the user has set none."""
    return Approval.ASK if sandbox.name == "unconfined" else Approval.AUTO


def _recovered(workspace: Workspace) -> tuple[str, Collection[str]]:
    """End what a killed process had begun to write: what was done about it, "" if there was nothing, and the paths
    that are written by that."""
    if workspace.mode is Mode.READ_ONLY or not workspace.journal.is_dir():
        return "", ()
    try:
        found = workspace.transactions.recover()
    except UserError as problem:  # a full disk, say: the next edit tries again
        return f"an interrupted edit could not be ended yet: {problem.message}", ()
    if found is None:
        return "", ()
    ended = found.paths if found.outcome == "finished" else ()
    return str(found), set(ended).difference(each.path for each in found.left)


def _start(
    options: Options, root: Path, model: Model, session: Session, workspace: Workspace, *, offers_commit: bool
) -> Event:
    from agent.context.instructions import system_prompt
    from sandbox.repository import find_root, read_branch

    return SessionStart(
        session=session.id,
        project=str(root),
        model=model.name,
        mode=options.mode,
        version=options.version,
        outputs=options.outputs,
        system=system_prompt(
            root,
            options.working.resolve(),
            mode=options.mode,
            sandbox=workspace.sandbox.name,
            branch=read_branch(root) or ("(detached HEAD)" if find_root(root) else ""),
            commits=offers_commit,
        ),
    )
