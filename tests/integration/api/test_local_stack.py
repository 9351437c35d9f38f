"""The faucet and the built-in wallet: there where LOCAL_STACK=1 and anvil answers, and nowhere else."""

import json
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from starlette.testclient import TestClient

from api.kernel.console import FOLDER
from api.kernel.operation import Deps
from api.local_stack import OPERATIONS, LocalStack
from api.main import create_app, deps_of
from core.chain.nodes import Nodes
from core.mandate.chain.reader import VaultReader
from core.settings import Settings
from tests.integration.api.in_process import AppClient

TO = "0x" + "ab" * 20
USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
GIVER = "0x" + "77" * 20
OF_THE_PAGE = re.compile(r'(?:href|src)="(/web/[0-9a-f]{16}/local/[^"]+)"')


class Node(BaseHTTPRequestHandler):
    """What a test lets a node say; `sent` are the transactions that it was asked to sign and send."""

    version = "anvil/v1.4.0"
    has_usdc = has_wei = 0
    sent: list[dict[str, str]]

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answers = [self._answer(one) for one in (asked if isinstance(asked, list) else [asked])]
        body = json.dumps(answers if isinstance(asked, list) else answers[0]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": asked["id"], "result": self._result(**asked)}

    def _result(self, method: str, params: list[Any], **_: Any) -> Any:
        match method:
            case "web3_clientVersion":
                return self.version
            case "eth_chainId":
                return hex(84532)
            case "eth_accounts":
                return ["0x" + "66" * 20, GIVER]
            case "eth_getBalance":
                return hex(self.has_wei)
            case "eth_call":
                return f"0x{self.has_usdc:064x}"
            case "eth_sendTransaction":
                self.sent.append(params[0])
                return f"0x{len(self.sent):064x}"
        raise AssertionError(method)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def node() -> Iterator[tuple[type[Node], str]]:
    handler = type("OneNode", (Node,), {"sent": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield handler, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def settings(tmp_path: Path, node: tuple[type[Node], str]) -> Settings:
    record = tmp_path / "deployment.json"
    contracts = [{"name": "vault_lens", "address": "0x" + "11" * 20}]
    record.write_text(
        json.dumps({"chain_id": 84532, "block": 1, "commit": "c", "contracts": contracts})
    )
    return Settings(
        database_url="postgresql+psycopg://127.0.0.1:1/none",
        rpc_urls=[node[1]],
        deployment_file=record,
        key_pepper=SecretStr("p" * 32),
        local_stack=True,
    )


def client_of(deps: Deps, local: LocalStack | None, url: str) -> TestClient:
    chain = VaultReader(Nodes([url]), {"usdc": USDC})
    there = replace(deps.with_part(LocalStack, local), chain=chain, contracts={"usdc": USDC})
    return AppClient(create_app(there), beside=OPERATIONS)


@pytest.fixture
def local(deps: Deps, node: tuple[type[Node], str]) -> TestClient:
    return client_of(deps, LocalStack(node[1]), node[1])


def test_local_stack__is_there_where_it_was_set_and_anvil_answers(
    settings: Settings, node: tuple[type[Node], str]
) -> None:
    assert deps_of(settings).parts.find(LocalStack) == LocalStack(node[1])


def test_local_stack__is_absent_without_the_setting(settings: Settings) -> None:
    off = settings.model_copy(update={"local_stack": False})
    assert deps_of(off).parts.find(LocalStack) is None


@pytest.mark.parametrize("version", ["Geth/v1.16.0/linux", "reth/anvil/1", "", "hardhat/2"])
def test_other_client_on_this_machine__gets_no_route_no_script_and_no_key(
    settings: Settings, deps: Deps, node: tuple[type[Node], str], version: str
) -> None:
    handler, url = node
    handler.version = version
    found = deps_of(settings).parts.find(LocalStack)
    assert found is None
    client = client_of(deps, found, url)
    page = client.get("/")
    assert "local-rpc" not in page.text
    assert OF_THE_PAGE.findall(page.text) == []
    assert url not in page.headers["Content-Security-Policy"]
    assert client.post("/local/faucet", json={"address": TO}).status_code == 404
    version_now = re.findall(r"/web/([0-9a-f]{16})/", page.text)[0]
    own = sorted(path.name for path in (FOLDER / "local").iterdir())
    assert len(own) > 3
    for name in own:
        assert client.get(f"/web/{version_now}/local/{name}").status_code == 404, name
    assert handler.sent == []


def test_page_of_make_up__loads_the_wallet_and_may_ask_the_node(
    local: TestClient, node: tuple[type[Node], str]
) -> None:
    page = local.get("/")
    assert f'<meta name="local-rpc" content="{node[1]}">' in page.text
    assert f"connect-src 'self' {node[1]};" in page.headers["Content-Security-Policy"]
    scripts = OF_THE_PAGE.findall(page.text)
    names = {one.rpartition("/")[2] for one in scripts}
    assert {"local.css", "start.js", "wallet.js"} <= names
    assert {local.get(one).status_code for one in scripts} == {200}


def test_faucet__sends_one_ether_and_mints_ten_thousand_usdc(
    local: TestClient, node: tuple[type[Node], str]
) -> None:
    answer = local.post("/local/faucet", json={"address": TO})
    assert answer.status_code == 200
    assert answer.json() == {"eth_tx_hash": f"0x{1:064x}", "usdc_tx_hash": f"0x{2:064x}"}
    ether, usdc = node[0].sent
    assert (ether["from"], ether["to"].lower(), int(ether["value"], 16)) == (GIVER, TO, 10**18)
    assert (usdc["from"], usdc["to"]) == (GIVER, USDC)
    assert usdc["data"] == "0x40c10f19" + TO[2:].rjust(64, "0") + f"{10_000 * 10**6:064x}"


def test_faucet__gives_nothing_more_to_who_has_enough(
    local: TestClient, node: tuple[type[Node], str]
) -> None:
    node[0].has_usdc, node[0].has_wei = 10_000 * 10**6, 10**17
    answer = local.post("/local/faucet", json={"address": TO})
    assert (answer.status_code, answer.json()["service"]["reason"]) == (409, "wrong_status")
    assert node[0].sent == []


def test_faucet__refuses_what_is_no_address(local: TestClient) -> None:
    answer = local.post("/local/faucet", json={"address": "0x12"})
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("address: ")


def test_key_of_the_built_in_wallet__is_in_no_file_of_the_console() -> None:
    keys = re.compile(r"0x[0-9a-f]{64}|test test test", re.IGNORECASE)
    found = [path.name for path in (FOLDER / "local").iterdir() if keys.search(path.read_text())]
    assert found == []
