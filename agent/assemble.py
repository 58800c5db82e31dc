"""Put a session together: root, home, sandbox, tools, model and log, in the order that starts fastest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agent.committing import When
from agent.context.budget import DEFAULT_SHARES, Shares
from agent.context.checkpoint import Clean, read
from agent.context.entering import Outputs
from agent.discipline import Levels
from agent.events import Event, SessionStart, Signal
from agent.home import Home, private_folder
from agent.limits import Limit
from agent.locate import locate
from agent.model.base import Model
from agent.model.roles import Role
from agent.modes import DEFAULT, Modes, mode_of
from agent.reach import Place, check_writable
from agent.resume import restore_changes, unfollowed
from agent.runtime import Runtime, notice
from agent.session import Session
from sandbox.errors import Fault, UserError
from sandbox.policy import Approval, Approver, Mode, Policy
from sandbox.rules import NO_RULES, Rules
from tools.workspace import ToolSettings, Workspace

if TYPE_CHECKING:
    from sandbox.process import Sandbox
    from sandbox.snapshots import Snapshots
    from tools.edit.offer import Format
    from tools.lsp.servers import Servers
    from tools.registry import Toolbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a caller decides about a session.

    working: folder named by -C (or the current one); the workspace is the repository around it
    model: makes the model; its second argument is told, in a quiet line each, of retries
    approval: None: `auto` where the kernel confines commands, else `ask`
    session: id of a session to resume, "" for a new one
    commit: when the harness commits by itself; offer_commit: the model may
    roles: makes the models of the roles that have one of their own, when they are first asked for
    actions: how models act
    discipline: what is done about actions that come out of order
    shares: how much of the history stays whole; summaries: who writes those of the past
    proceed: called again and again while an existing session is read; what it raises ends that
    edit_formats: in which the model is told to write edits; without any, those that its family writes well
    """

    working: Path
    model: Callable[[Home, Callable[[str], None]], Model]
    mode: Mode = Mode.WORKSPACE
    approval: Approval | None = Approval.NEVER
    rules: Rules = NO_RULES
    sandbox: str = "auto"
    container_image: str = ""
    session: str = ""
    commit: When = "turn"
    offer_commit: bool = True
    limits: Sequence[Limit] = ()
    test_command: str = ""
    test_timeout: float = 600.0
    shell_timeout: float = 120.0
    kernel_memory: int = 4 << 30
    roles: Mapping[Role, Callable[[Home, Callable[[str], None]], Model]] = field(default_factory=dict)
    actions: Modes = DEFAULT
    discipline: Levels = field(default_factory=Levels)
    shares: Shares = DEFAULT_SHARES
    summaries: Literal["code", "model"] = "code"
    outputs: Outputs = "outlined"
    hosts: tuple[str, ...] = ()
    secrets_allowed: tuple[str, ...] = ()
    edit_formats: Sequence[Format] = ()
    refuse_syntax_errors: bool = False
    lint: bool = True
    language_servers: Mapping[str, str] = field(default_factory=dict)
    mcp: Mapping[str, str] = field(default_factory=dict)
    version: str = ""
    approver: Approver | None = None
    proceed: Callable[[], None] = lambda: None


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
            unreadable=tuple(rule.pattern for rule in options.rules.unreadable),
            trusts=TrustStore(home.config).of(root),
            cache=private_folder(home.cache / "work" / session.id),
            shared=home.cache,
        ),
        mode=options.mode,
        servers=_servers(options, reach.sandbox.name),
    )
    if options.mcp and reach.sandbox.name != "container":  # no descriptor reaches into one
        from tools.mcp.servers import McpServers

        workspace.mcp = McpServers(workspace, options.mcp)
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
    from sandbox.policy import Effect
    from tools.lsp.servers import Servers

    def spared(path: str) -> bool:
        rule = options.rules.of_effect(Effect(kind="write", paths=(path,)))
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
    from sandbox.repository import branch, find_root

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
            branch=branch(root) or ("(detached HEAD)" if find_root(root) else ""),
            commits=offers_commit,
        ),
    )
