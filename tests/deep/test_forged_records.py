"""Forged records by the thousand: one to three lies in a valid record, every hash, number and total
computed again. None changes a figure that is printed and passes.

`FORGED_RECORDS`: how many (default 300; `make test-deep` makes 10,000). The chain is real and stands
still: what the node answered once is remembered.
"""

import copy
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from random import Random
from typing import Any
from uuid import UUID

import httpx
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from api.client.verify.findings import Report, Verdict
from api.client.verify.verification import Options, verify
from core.chain.nodes import Nodes
from core.db.embedded import EmbeddedPostgres
from core.errors import InvalidParameterError
from core.mandate.chain import calldata
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.new_rows import event_row
from core.money import UsdcE6
from tests.deep.lies import ON_HEAD, ON_ROWS, Lie
from tests.integration.chain_fixtures import CHAIN_ID, USDC, DeployedChain
from tests.integration.client.conftest import export, following, settle_reverts
from tests.integration.client.forging import Forgery
from tests.integration.indexer.conftest import Follower, Issued, now_utc
from tests.node_transport import in_threads
from tests.personas import AGENT, OWNER, STRANGER

EXAMPLES = int(os.environ.get("FORGED_RECORDS", "300"))
# of how many rows and blocks, which an honest claim changes too
# a lie about what another lie made unreadable
UNTELLABLE = (AttributeError, KeyError, TypeError, ValueError, IndexError, InvalidParameterError)
COUNTS = ("rows", "transactions", "blocks_scanned")


class Remembered(httpx.BaseTransport):
    """A node that is asked everything once."""

    def __init__(self) -> None:
        self._node = httpx.HTTPTransport()
        self._known: dict[str, Mapping[str, Any]] = {}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        asked = json.loads(request.read())
        calls = asked if isinstance(asked, list) else [asked]
        answers = [self._answer(request, call) for call in calls]
        return httpx.Response(200, json=answers if isinstance(asked, list) else answers[0])

    def _answer(self, request: httpx.Request, call: Mapping[str, Any]) -> Mapping[str, Any]:
        key = json.dumps([call["method"], call["params"]])
        if key not in self._known:
            alone = httpx.Request("POST", request.url, json=call)
            self._known[key] = json.loads(self._node.handle_request(alone).read())
        return {**self._known[key], "id": call["id"]}

    def close(self) -> None:
        self._node.close()


class Forged:
    """`proven` has no claims; `claimed` has those of its agent."""

    def __init__(
        self,
        chain: DeployedChain,
        rpc: Nodes,
        options: Options,
        proven: tuple[bytes, ...],
        claimed: tuple[bytes, ...],
    ) -> None:
        self.chain = chain
        self.rpc = rpc
        self.options = options
        self.records = {"proven": proven, "claimed": claimed}
        self.honest: dict[str, dict[str, Any]] = {}

    def judged(self, lines: list[bytes] | tuple[bytes, ...]) -> Report:
        return verify(lines, [self.rpc], self.options, lambda part, done, of: None)


def printed(report: Report) -> dict[str, Any]:
    figures = {name: value for name, value in report.figures.items() if name not in COUNTS}
    return figures | {"shown": report.shown}


@pytest.fixture(scope="module")
def forged(postgres: EmbeddedPostgres, template: str) -> Iterator[Forged]:
    with following(postgres, template) as follower:
        chain = follower.deployed
        records = []
        for number, public_id in enumerate(("m_forgedaaaa", "m_forgedbbbb")):
            mandate = follower.issue(public_id, nonce=number + 1)
            _lived(follower, mandate, has_claims=number == 1)
            records.append(mandate)
        chain.anvil.mine(3)
        follower.catch_up()
        settle_reverts(follower.chain)
        rpc = Nodes([chain.anvil.url], transport=in_threads(Remembered()), calls_per_s=1_000_000.0)
        options = Options(
            factory=chain.contracts["factory"], x402_adapter=chain.contracts["x402_adapter"]
        )
        lines = [export(follower, mandate) for mandate in records]
        made = Forged(chain, rpc, options, *lines)
        for name, record in made.records.items():
            report = made.judged(record)
            assert (report.findings, report.unchecked) == ([], [])
            assert bool(report.claims) is (name == "claimed")
            made.honest[name] = printed(report)
        yield made
        rpc.close()


def _lived(follower: Follower, mandate: Issued, *, has_claims: bool) -> None:
    """Bought, sold, refused, given to another agent and back, stopped and partly withdrawn."""
    chain = follower.deployed
    vault = chain.create_vault(mandate.terms)
    bought = chain.buy(vault, 30 * USDC)
    follower.catch_up()
    if has_claims:
        _report(follower, mandate, 30 * USDC, bought.tx_hash)
        _report(follower, mandate, 500 * USDC, None)
    assert chain.buy(vault, 150 * USDC).status == 0
    chain.sell(vault, 20 * USDC)
    chain.succeed(OWNER, vault, calldata.set_agent(STRANGER.address))
    assert chain.buy(vault, 160 * USDC, STRANGER).status == 0
    chain.succeed(OWNER, vault, calldata.remove_agent())
    chain.succeed(OWNER, vault, calldata.set_agent(AGENT.address))
    chain.buy(vault, 12 * USDC)
    chain.succeed(AGENT, vault, calldata.stop("enough"))
    usdc = chain.contracts["usdc"]
    chain.succeed(OWNER, vault, calldata.withdraw(usdc, OWNER.address, 100 * USDC))


def _report(follower: Follower, mandate: Issued, amount: int, tx_hash: str | None) -> None:
    target = follower.deployed.contracts["test_venue_adapter"]
    row = event_row(
        kind="buy" if tx_hash else "fee",
        amount_usdc_e6=UsdcE6(amount),
        tx_hash=tx_hash,
        why="cheap",
        payload={"target": target},
        violation=None,
        fact=UUID(int=amount).hex,
        now=now_utc(),
        chain_id=CHAIN_ID,
    )
    with follower.database.write() as session:
        mandate_ledger.append(session, mandate.id, row, now_utc())


LIES = st.lists(
    st.tuples(st.sampled_from(ON_ROWS + ON_HEAD), st.integers(0, 2**32)), min_size=1, max_size=3
)


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(lies=LIES, of=st.sampled_from(("proven", "claimed")))
def test_a_forged_record__changes_no_figure_and_passes(
    forged: Forged, lies: list[tuple[Lie, int]], of: str
) -> None:
    """Strictly: without a claim nothing passes but what the honest record prints too. With claims,
    which are named, no figure comes from them.
    """
    forgery = copy.deepcopy(Forgery.of(forged.records[of]))
    for lie, seed in lies:
        if lie in ON_ROWS:
            with suppress(*UNTELLABLE):
                lie(forgery, Random(seed))
    try:
        forgery.seal()
    except UNTELLABLE:
        reject()  # nothing that a forger could finish
    for lie, seed in lies:
        if lie in ON_HEAD:
            with suppress(*UNTELLABLE):
                lie(forgery, Random(seed))
    report = forged.judged(forgery.lines())
    if report.verdict in (Verdict.SOUND, Verdict.CHAIN_SOUND):
        assert printed(report) == forged.honest[of]
