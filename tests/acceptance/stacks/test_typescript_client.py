"""The TypeScript client as `make client` builds it: its examples run on a local stack, and the
chain says what they did.
"""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from eth_utils import keccak
from web3 import HTTPProvider, Web3

from scripts.build_client_ts import CLIENT, ROOT, build
from tests.acceptance.stacks.conftest import ReadyStack

pytestmark = pytest.mark.slow

BUDGET_USDC_E6 = 1_000_000_000
WITHIN_S = 300


@pytest.fixture(scope="module")
def package() -> Path:
    """The package, compiled with `tsc --strict`."""
    return build()


@dataclass(frozen=True)
class Lived:
    """A mandate that an example took from sign-in to withdrawal: what it printed, and the chain
    where it happened.
    """

    said: dict[str, str]
    chain: Web3
    usdc: str

    def call(self, to: str, function: str, *words: str, block: int | None = None) -> int:
        """The first word of the answer."""
        data = keccak(text=function)[:4] + b"".join(
            bytes.fromhex(word[2:]).rjust(32, b"\0") for word in words
        )
        answer = self.chain.eth.call(
            {"to": self.chain.to_checksum_address(to), "data": data}, block or "latest"
        )
        return int.from_bytes(answer[:32], "big")

    def usdc_e6(self, name: str, block: int) -> int:
        return self.call(self.usdc, "balanceOf(address)", self.said[name], block=block)

    def block(self, name: str) -> int:
        """The block of the transaction of this name."""
        return int(self.chain.eth.get_transaction_receipt(self.said[name])["blockNumber"])


def live(example: str, package: Path, first: ReadyStack) -> Lived:
    stack: dict[str, Any] = first.facts
    command = [
        "node",
        str(package / "dist" / "examples" / f"{example}.js"),
        str(first.running.directory),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WITHIN_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    said = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    return Lived(said, Web3(HTTPProvider(stack["rpc_url"])), stack["contracts"]["usdc"])


@pytest.fixture(scope="module")
def by_key(package: Path, first: ReadyStack) -> Lived:
    return live("owner", package, first)


@pytest.fixture(scope="module")
def by_safe(package: Path, first: ReadyStack) -> Lived:
    return live("safe", package, first)


@pytest.fixture(params=["by_key", "by_safe"])
def lived(request: pytest.FixtureRequest) -> Lived:
    mandate: Lived = request.getfixturevalue(request.param)
    return mandate


def test_the_owner__funds_the_vault_with_the_budget(lived: Lived) -> None:
    funded = lived.block("funded")

    assert lived.usdc_e6("vault", funded) == BUDGET_USDC_E6
    assert lived.usdc_e6("owner", funded - 1) - lived.usdc_e6("owner", funded) == BUDGET_USDC_E6


def test_the_withdrawal__brings_all_of_it_home(lived: Lived) -> None:
    withdrawn = lived.block("withdrawn")

    assert lived.usdc_e6("vault", withdrawn) == 0
    assert lived.usdc_e6("owner", withdrawn) == lived.usdc_e6("owner", lived.block("funded") - 1)


def test_the_api__has_the_mandate_stopped_and_both_flows(lived: Lived) -> None:
    assert lived.said["status"] == "stopped"
    flows = {name: lived.said[name] for name in ("deposits", "withdrawals", "unexplained")}
    assert flows == {
        "deposits": "1000.000000",
        "withdrawals": "1000.000000",
        "unexplained": "0.000000",
    }


def test_the_safe__has_two_owners_who_must_both_sign(by_safe: Lived) -> None:
    assert by_safe.call(by_safe.said["owner"], "getThreshold()") == 2


def test_the_owner_of_the_other_example__is_a_key(by_key: Lived) -> None:
    assert by_key.chain.eth.get_code(by_key.chain.to_checksum_address(by_key.said["owner"])) == b""


def test_a_refused_call__throws_the_reason_and_who_fixes_it(
    package: Path, first: ReadyStack
) -> None:
    code = f"""
        import {{ answer, createClient, Refused }} from "mandate-wallet-client";
        const refused = await answer(createClient("{first.facts["base_url"]}").GET("/mandate-wallet/mandates")).catch((error) => error);
        console.log(refused instanceof Refused, refused.response.status, refused.service.reason, refused.service.who_fixes);
    """
    command = ["node", "--input-type=module", "--eval", code]
    said = subprocess.run(
        command, cwd=package, capture_output=True, text=True, timeout=WITHIN_S, check=True
    ).stdout
    assert said == "true 401 auth_required caller\n"


def test_the_package__pins_the_versions_that_the_repository_has_locked() -> None:
    manifest = json.loads((CLIENT / "package.json").read_text())
    locked = json.loads((ROOT / "package-lock.json").read_text())["packages"]

    pinned = manifest["dependencies"] | manifest["devDependencies"]

    assert pinned == {name: locked[f"node_modules/{name}"]["version"] for name in pinned}


def test_the_lock__names_no_registry() -> None:
    assert "resolved" not in (ROOT / "package-lock.json").read_text()
