"""The settings of docs/web.md."""

from __future__ import annotations

import re
from pathlib import Path

from cli.settings.settings_checks import check_file, check_values
from cli.settings.settings_files import read_settings_file
from sandbox.policy.rules import Rules, parse_rule
from tests.support.cli import CHECKOUT
from tests.tools.web.web_server import serve
from tests.tools.workspaces import call, refused, workspace
from tools.web.search_engines import find_search_host
from tools.web.web_tools import web_fetch

PAGE = (CHECKOUT / "docs/web.md").read_text("utf-8")


def test_the_settings_of_the_page_hold(tmp_path: Path) -> None:
    [text] = re.findall(r"^```toml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    path = tmp_path / "settings.toml"
    path.write_text(text)
    check_file(path)
    settings = check_values(read_settings_file(path), path)
    assert find_search_host(settings.session.tools.web) == "127.0.0.1:8888"
    with serve() as host:
        rule = settings.permissions.allow[0]
        assert isinstance(rule, str)
        rules = Rules((parse_rule(rule.replace("127.0.0.1:8000", host), "allow"),))
        at = workspace(tmp_path, rules=rules)
        assert "Install" in call(web_fetch, at, url=f"http://{host}/page").text
        other = workspace(tmp_path, rules=Rules((parse_rule("network(*)", "allow"),)))
        assert "no public address" in refused(web_fetch, other, url=f"http://{host}/page")
