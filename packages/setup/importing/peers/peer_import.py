"""What users set up for other agents, by the table `peers.toml`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agent.model.model_settings import EFFORTS
from packages.setup.importing.gemini_import import add_commands, write_command
from packages.setup.importing.hook_import import add_foreign_hooks
from packages.setup.importing.import_plan import ImportPlan
from packages.setup.importing.peers.peer_agents import add_agent_table, add_peer_agents
from packages.setup.importing.peers.peer_files import (
    Table,
    find_value,
    load_peers,
    locate_folder,
    merge_tables,
    read_table,
)
from packages.setup.importing.peers.peer_permissions import add_permissions
from packages.setup.importing.peers.peer_servers import add_peer_servers, list_servers
from sandbox.fs.regular_file import SOURCE, read_regular_text


def read_peer(name: str, root: Path) -> ImportPlan:
    """Return what can be taken over from an agent of the table."""
    return _Reader(name).read()


class _Reader:
    def __init__(self, name: str) -> None:
        self._name = name
        self._peer = load_peers()[name]
        self._folder = locate_folder(self._peer)
        self._plan = ImportPlan()
        self._settings: Table = {}
        self._source = str(self._folder / self._peer["files"][-1])

    def read(self) -> ImportPlan:
        for file in self._peer["files"]:
            path = self._folder / file
            if path.is_file():
                self._source = str(path)
                self._settings = merge_tables(self._settings, read_table(path, self._plan))
        self._add_model()
        self._add_values()
        servers, source = list_servers(self._peer, self._settings, self._folder, self._plan)
        self._add_permissions(servers)
        add_peer_servers(self._plan, self._peer, servers, self._settings, source)
        self._add_hooks()
        self._add_texts()
        self._name_rest()
        return self._plan

    def _add_model(self) -> None:
        for key, setting in (("model", "model"), ("small", "models.fast")):
            found = find_value(self._settings, self._peer.get(key, ""))
            provider = find_value(self._settings, self._peer.get("provider", ""))
            if isinstance(found, Mapping):
                provider, found = found.get("provider"), found.get("model")
            if isinstance(found, str) and isinstance(provider, str) and provider and "/" not in found:
                found = f"{provider}/{found}"
            self._plan.set_model(setting, found, self._source)
        effort = find_value(self._settings, self._peer.get("effort", ""))
        if effort in EFFORTS:
            self._plan.set_value("models.effort", effort)

    def _add_values(self) -> None:
        for key, choices in self._peer.get("values", {}).items():
            value = find_value(self._settings, key)
            if value is None:
                continue
            text = str(value).lower() if isinstance(value, bool) else str(value)
            reason = self._peer.get("left", {}).get(f"{key}.{text}")
            if text in choices:
                self._plan.set_value(*choices[text])
            elif reason is not None:
                self._leave(f"{key} {text}", reason)
            elif not isinstance(value, bool):
                self._leave(f"{key} {text}", "there is nothing like it here")

    def _add_permissions(self, servers: Table) -> None:
        for key, kind in self._peer.get("rules", {}).items():
            if (value := find_value(self._settings, key)) is not None:
                add_permissions(self._plan, kind, value, self._source, servers)
        for file, kind in self._peer.get("permission_file", {}).items():
            table = read_table(self._folder / file, self._plan)
            add_permissions(self._plan, kind, table, str(self._folder / file), servers)

    def _add_hooks(self) -> None:
        given = self._peer.get("hooks")
        if given is None:
            return
        is_on = find_value(self._settings, given["needs"]) is True if "needs" in given else True
        if find_value(self._settings, "disableAllHooks") is True:
            is_on = False
        sources: list[tuple[str, Table]] = []
        for pattern in given.get("files", ()):
            below = Path(pattern).expanduser()
            paths = sorted(Path(below.anchor or self._folder).glob(str(below.relative_to(below.anchor))))
            sources += [(str(path), read_table(path, self._plan)) for path in paths]
        sources += [(self._source, self._settings)] if "key" in given else []
        for source, table in sources:
            if not table.get("hooks"):
                continue
            if not is_on:
                key = given.get("needs", "disableAllHooks")
                self._plan.left.append(f"{source}: its hooks are switched off by `{key}`")
                continue
            folder = Path(source).parents[1] if self._name == "goose" else self._folder
            add_foreign_hooks(self._plan, self._name, _fill_in_root(table, folder), source, folder)

    def _add_texts(self) -> None:
        plan, peer = self._plan, self._peer
        for name in peer.get("agents", ()):
            off = self._list_off("agents", self._folder / name)
            add_peer_agents(plan, peer, self._folder / name, off)
        tables = peer.get("tables", {})
        add_agent_table(
            plan, find_value(self._settings, tables.get("agents", "")), self._source, self._folder
        )
        for name in peer.get("commands", ()):
            folder = self._folder / name
            plan.add_files(folder, "commands")
            add_commands(plan, folder)
            for path in folder.rglob("*.md") if folder.is_dir() else ():
                text = read_regular_text(path, SOURCE, "replace") or ""
                if words := re.findall(r"\$(?!ARGUMENTS)[A-Z_]{2,}", text):
                    plan.left.append(f"{path}: write {', '.join(dict.fromkeys(words))} as $1, $2, …")
        self._add_command_table(find_value(self._settings, tables.get("commands", "")))
        for name in peer.get("skills", ()):
            folder = self._folder / Path(name).expanduser()
            plan.add_files(folder, "skills", "", self._list_off("skills", folder))

    def _add_command_table(self, table: object) -> None:
        for name, given in table.items() if isinstance(table, Mapping) else ():
            entry = given if isinstance(given, Mapping) else {}
            text = write_command(str(entry.get("template", "")), str(entry.get("description") or ""))
            self._plan.files[f"commands/{name}.md"] = text.encode()
            self._plan.leave_unknown(entry, {"template", "description"}, f"{self._source}: command {name}")

    def _list_off(self, kind: str, folder: Path) -> dict[str, str]:
        """Return the names of a folder's agents or skills that are switched off, by names or patterns."""
        keys = self._peer.get(f"off_{kind}", ())
        off = {key: _read_patterns(find_value(self._settings, key)) for key in keys}
        only_key = self._peer.get(f"only_{kind}", "")
        only = _read_patterns(find_value(self._settings, only_key))
        found = {}
        for path in folder.glob("*") if folder.is_dir() else ():
            name = path.name.partition(".")[0]
            for key, patterns in off.items():
                if any(each.fullmatch(name) for each in patterns):
                    found[name] = f"`{key}`"
            if only and not any(each.fullmatch(name) for each in only):
                found[name] = f"`{only_key}`, which does not name it"
        return found

    def _name_rest(self) -> None:
        for name in self._peer.get("instructions", ()):
            path = self._folder / name
            if path.exists():
                self._plan.left.append(f"{path.resolve()}: put what holds for a project into its AGENTS.md")
        for name, reason in self._peer.get("others", {}).items():
            if (self._folder / name).exists():
                self._plan.left.append(f"{self._folder / name}: {reason}")
        known = {*self._list_known_keys()}
        reasons: Mapping[str, str] = self._peer.get("left", {})
        unknown = []
        for key in _walk_keys(self._settings, known | set(reasons)):
            if key in reasons:
                self._leave(key, reasons[key])
            elif key not in known:
                unknown.append(key)
        if unknown:
            self._plan.left.append(
                f"{self._source}: there is nothing like it here: {', '.join(sorted(unknown))}"
            )

    def _list_known_keys(self) -> Iterator[str]:
        peer = self._peer
        yield from peer.get("quiet", ())
        yield from (peer[each] for each in ("model", "small", "effort", "provider") if each in peer)
        yield from peer.get("rules", {})
        yield from peer.get("values", {})
        yield from peer.get("tables", {}).values()
        for kind in ("skills", "agents"):
            yield from peer.get(f"off_{kind}", ())
            yield peer.get(f"only_{kind}", "")
        servers: Mapping[str, Any] = peer.get("servers", {})
        yield from servers.get("off", ())
        yield from (servers.get(each, "") for each in ("key", "only", "permissions"))
        yield from ("hooks", "disableAllHooks")
        yield peer.get("hooks", {}).get("needs", "")

    def _leave(self, key: str, reason: str) -> None:
        self._plan.left.append(f"{self._source}: {key}: {reason}")


def _walk_keys(table: Table, known: set[str], above: str = "") -> Iterator[str]:
    """Yield the keys of the settings; of a table of which some entries are known, those of its entries."""
    for key, value in table.items():
        name = f"{above}{key}"
        if (
            isinstance(value, Mapping)
            and name not in known
            and any(each.startswith(f"{name}.") for each in known)
        ):
            yield from _walk_keys(value, known, f"{name}.")
        else:
            yield name


def _read_patterns(value: object) -> list[re.Pattern[str]]:
    """Return names, or patterns of names, as regular expressions; one after `re:` is one."""
    import fnmatch

    found = []
    for each in map(str, value if isinstance(value, list) else ()):
        try:
            found.append(re.compile(each[3:] if each.startswith("re:") else fnmatch.translate(each)))
        except re.error:
            found.append(re.compile(""))
    return found


def _fill_in_root(table: Table, folder: Path) -> Table:
    """Return hooks of a plugin with its folder filled in, which ours does not know."""
    import json

    quoted = json.dumps(str(folder))[1:-1]
    found: Table = json.loads(json.dumps(table).replace("${PLUGIN_ROOT}", quoted))
    return found
