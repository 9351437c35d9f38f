"""The tool endpoint under the protocol's own tools, which `make conformance` installs into .build/mcp:
scenarios of @modelcontextprotocol/conformance that need no fixture tools, resources or prompts, and
@modelcontextprotocol/inspector as a command.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from api.catalogue import catalogue
from api.kernel.credentials import KEY_HEADER
from api.kernel.tool import Profile
from api.main import create_app
from core.db.engine import Database
from tests.each import each
from tests.integration.api.conftest import Clock, FewAnswersChain, deps_of
from tests.integration.api.serving import served

FOLDER = Path(__file__).resolve().parents[2] / ".build" / "mcp"
WITHIN_S = 120


@pytest.fixture
def url(database: Database) -> Iterator[str]:
    clock = Clock()
    deps = deps_of(database, clock, FewAnswersChain(mined_at=int(clock.now.timestamp())))
    with served(lambda _: create_app(deps)) as base_url:
        yield f"{base_url}/mcp"


def node(tool: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["node", str(FOLDER / "node_modules" / ".bin" / tool), *arguments]
    return subprocess.run(
        command, cwd=FOLDER, capture_output=True, text=True, timeout=WITHIN_S, check=False
    )


def inspect(
    url: str, profile: Profile, method: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    where = f"{url}?profile={profile}"
    options = ("--cli", where, "--transport", "http", "--method", method)
    return node("mcp-inspector", *options, *arguments)


def call(url: str, tool: str, arguments: dict[str, str], key: str | None = None) -> dict[str, Any]:
    """What the tool answers. The inspector reads arguments as JSON: a text is quoted, or 7 would be
    a number.
    """
    flags = [
        flag
        for name, value in arguments.items()
        for flag in ("--tool-arg", f"{name}={json.dumps(value)}")
    ]
    header = [] if key is None else ["--header", f"{KEY_HEADER}: {key}"]
    done = inspect(url, Profile.FULL, "tools/call", "--tool-name", tool, *flags, *header)
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(json.loads(done.stdout)["structuredContent"])


@each("scenario", ["server-initialize", "ping", "tools-list"])
def test_a_scenario_of_the_protocol__passes(url: str, scenario: str) -> None:
    where = f"{url}?profile=full"
    done = node("conformance", "server", "--url", where, "--scenario", scenario)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_inspector__lists_the_tools_of_each_profile(url: str) -> None:
    for profile in Profile:
        done = inspect(url, profile, "tools/list")
        assert done.returncode == 0, done.stderr
        names = [tool["name"] for tool in json.loads(done.stdout)["tools"]]
        assert names == list(catalogue().tools(profile)), profile


def test_the_inspector__registers_an_agent_and_reads_as_that_agent(url: str) -> None:
    made = call(url, "agent_connect", {"agent_name": "inspector"})
    agent = str(made["user_id"])
    policy = call(url, "agent_policy_get", {"id": agent}, made["api_key"])
    assert policy["agent_id"] == agent


def test_the_inspector__without_a_key__is_told_why_it_is_refused(url: str) -> None:
    assert call(url, "mandate_list", {})["service"]["reason"] == "auth_required"


def test_the_inspector__with_a_tool_that_does_not_exist__gets_an_error(url: str) -> None:
    done = inspect(url, Profile.FULL, "tools/call", "--tool-name", "order_place")
    assert done.returncode != 0
    assert "order_place" in done.stdout + done.stderr
