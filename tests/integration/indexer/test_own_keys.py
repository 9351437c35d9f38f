"""A key of ours that somebody else uses is noticed by the account's nonces, on a real chain."""

import json
import secrets
from collections.abc import Callable
from datetime import timedelta

import httpx
import pytest
from sqlalchemy import update

from core.audit import queries as findings
from core.chain.nodes import Nodes
from core.hexes import bytes_of
from core.jobs import queries as jobs
from core.keeper import intents as keeper
from core.keeper.intents import NewIntent, NewTx
from core.keeper.rules import TxState
from core.keeper.tables import KeeperTx
from core.mandate.chain import calldata
from core.mandate.chain.reader import VaultReader
from core.payments import queries as payments
from core.payments import settlements
from core.payments.rules import Cost
from core.payments.settlements import DailyGasBudget
from indexer.chain.own_keys import BALANCES, MOST_LOOKED_FOR, ROWS_WITHIN, OwnKeys
from tests.integration.chain_fixtures import CHAIN_ID
from tests.integration.indexer.conftest import Follower, now_utc
from tests.node_transport import in_threads
from tests.personas import GUARD, KEEPER, OPERATOR, STRANGER, Persona

ROLES = "keeper", "stop", "pauser", "custody", "sponsor"
BUDGET = DailyGasBudget(10**18, 10**18)


@pytest.fixture
def keys(follower: Follower) -> OwnKeys:
    """Every account was looked at once. OPERATOR has the role that a test gives it."""
    found = OwnKeys(follower.chain, now_utc, timedelta())
    found.look()
    return found


def has_key(follower: Follower, persona: Persona, role: str) -> None:
    """As the keeper's job `balances` says it."""
    with follower.database.write() as session:
        run = jobs.begin(session, BALANCES, 30, "a test", now_utc())
        did = {"signers": [{"role": role, "address": persona.address}]}
        jobs.end(session, run, "ok", None, did, now_utc())


def plan(follower: Follower, persona: Persona, nonce: int, tx_hash: str | None = None) -> None:
    """The row that is committed before anything is sent."""
    head = follower.deployed.reader.header()
    assert head is not None
    with follower.database.write() as session:
        intent = keeper.add_intent(
            session,
            NewIntent(
                chain_id=CHAIN_ID,
                subject=f"nonce:{persona.address}:{nonce}",
                vault=None,
                kind="fill",
                role="keeper",
                to=persona.address,
                data=b"",
                trigger_block_number=head.number,
                trigger_block_hash=head.hash,
                reason={},
            ),
            follower.leadership.epoch,
            now_utc(),
        )
        assert intent is not None
        tx = NewTx(
            intent_id=intent.id,
            signer=persona.address,
            nonce=nonce,
            raw=b"",
            hash=tx_hash or "0x" + secrets.token_hex(32),
            max_fee_wei=1,
            max_priority_fee_wei=1,
            offered_block=head.number,
        )
        keeper.add_tx(session, tx, now_utc())


def give_up(follower: Follower, persona: Persona) -> None:
    """Another transaction took the nonces of the account's rows, says the keeper."""
    with follower.database.write() as session:
        signed = KeeperTx.signer == bytes_of(persona.address)
        session.execute(update(KeeperTx).where(signed).values(state=TxState.LOST))


def nothing(follower: Follower, persona: Persona) -> str:
    """A transaction that does nothing; its hash."""
    return follower.deployed.succeed(persona, STRANGER.address, "0x").tx_hash


def nonce_of(follower: Follower, persona: Persona) -> int:
    return follower.deployed.reader.transaction_count(persona.address)


def open_kinds(follower: Follower) -> dict[str, int]:
    with follower.database.read() as session:
        return findings.open_counts(session, CHAIN_ID)


def test_what_a_row_planned_and_anybodys_stop__are_no_findings(
    follower: Follower, keys: OwnKeys
) -> None:
    plan(follower, KEEPER, nonce_of(follower, KEEPER))
    nothing(follower, KEEPER)
    assert keys.look() == []
    # somebody with the keeper's key stops by the line, as anyone may
    vault = follower.deployed.create_vault(follower.issue().terms)
    follower.deployed.send(KEEPER, vault, calldata.enforce_stop_line())
    follower.deployed.anvil.mine(3)
    assert (keys.look(), open_kinds(follower)) == ([], {})


def test_a_row_that_comes_within_ten_minutes__is_no_finding_and_one_that_does_not_is(
    follower: Follower,
) -> None:
    """A stop goes out while Postgres is away, and its row is written when it is back."""
    now = [now_utc()]
    keys = OwnKeys(follower.chain, lambda: now[0])
    keys.look()
    first = nonce_of(follower, KEEPER)
    nothing(follower, KEEPER)
    nothing(follower, KEEPER)
    assert keys.look() == []
    plan(follower, KEEPER, first)
    now[0] += ROWS_WITHIN - timedelta(seconds=1)
    assert keys.look() == []
    now[0] += timedelta(seconds=1)
    assert [one.place["first_nonce"] for one in keys.look()] == [first + 1]
    assert keys.look() == []


def test_stops_of_one_block_without_rows__are_found_together(
    follower: Follower, keys: OwnKeys
) -> None:
    vault = follower.deployed.create_vault(follower.issue().terms)
    rpc, nonce = follower.deployed.rpc, nonce_of(follower, KEEPER)
    rpc.call("evm_setAutomine", [False])
    for n in range(MOST_LOOKED_FOR + 1):
        raw = KEEPER.signer.sign_transaction(
            {
                "type": 2, "chainId": CHAIN_ID, "nonce": nonce + n, "to": vault,
                "data": calldata.enforce_stop_line(), "value": 0, "gas": 400_000,
                "maxFeePerGas": 10**11, "maxPriorityFeePerGas": 10**9,
            }
        )  # fmt: skip
        rpc.call("eth_sendRawTransaction", ["0x" + raw.hex()])
    rpc.call("evm_setAutomine", [True])
    follower.deployed.anvil.mine(3)
    assert nonce_of(follower, KEEPER) == nonce + MOST_LOOKED_FOR + 1
    assert (keys.look(), open_kinds(follower)) == ([], {})


def test_the_data_of_anybodys_stop_to_no_vault__is_a_finding(
    follower: Follower, keys: OwnKeys
) -> None:
    """A thief took all ETH of an account with it, and nothing was said."""
    follower.deployed.send(KEEPER, STRANGER.address, calldata.enforce_stop_line())
    follower.deployed.anvil.mine(3)
    assert (len(keys.look()), open_kinds(follower)) == (1, {"key": 1})


@pytest.mark.parametrize("is_decided", [False, True])
def test_what_took_the_nonce_of_ours__is_a_finding_once_the_keeper_gave_ours_up(
    follower: Follower, keys: OwnKeys, *, is_decided: bool
) -> None:
    """A thief who outbid each transaction of ours was never noticed: every nonce had its row."""
    nonce = nonce_of(follower, KEEPER)
    plan(follower, KEEPER, nonce)
    nothing(follower, KEEPER)  # another one than the row's
    if is_decided:
        give_up(follower, KEEPER)
    before = keys.look()
    give_up(follower, KEEPER)

    found = [*before, *keys.look()]

    assert [one.place["first_nonce"] for one in found] == [nonce]
    assert (keys.look(), open_kinds(follower)) == ([], {"key": 1})


def test_ours_that_was_given_up_and_mined_all_the_same__is_no_finding(
    follower: Follower, keys: OwnKeys
) -> None:
    nonce = nonce_of(follower, KEEPER)
    plan(follower, KEEPER, nonce, nothing(follower, KEEPER))
    give_up(follower, KEEPER)
    assert (keys.look(), open_kinds(follower)) == ([], {})


@pytest.mark.parametrize(("persona", "role"), [(KEEPER, "keeper"), (GUARD, "guard")])
def test_a_transaction_that_no_row_planned__is_a_finding_once(
    follower: Follower, keys: OwnKeys, persona: Persona, role: str
) -> None:
    nonce = nonce_of(follower, persona)
    follower.deployed.anvil.mine(5)
    tx_hash = nothing(follower, persona)
    follower.deployed.anvil.mine(5)

    (found,) = keys.look()

    assert found.what == (
        f"no row of ours planned transaction {nonce} of {persona.address} ({role}); {nonce} is "
        f"{tx_hash}, to {STRANGER.address}"
    )
    assert (keys.look(), open_kinds(follower)) == ([], {"key": 1})


@pytest.mark.parametrize("role", ROLES)
def test_each_key_of_the_keeper__is_looked_at(follower: Follower, role: str) -> None:
    has_key(follower, OPERATOR, role)
    keys = OwnKeys(follower.chain, now_utc, timedelta())
    nothing(follower, OPERATOR)  # before it was first looked at: not judged
    assert keys.look() == []
    nothing(follower, OPERATOR)
    (found,) = keys.look()
    assert (found.place["address"], found.place["role"]) == (OPERATOR.address, role)


def test_a_run_of_them__is_one_finding_and_what_was_planned_between_splits_it(
    follower: Follower, keys: OwnKeys
) -> None:
    first = nonce_of(follower, KEEPER)
    plan(follower, KEEPER, first + 2)
    for _ in range(4):
        nothing(follower, KEEPER)

    places = [(one.place["first_nonce"], one.place["last_nonce"]) for one in keys.look()]

    assert places == [(first, first + 1), (first + 3, first + 3)]


def test_a_finding__ends_when_its_row_is_there_or_an_operator_says_so(
    follower: Follower, keys: OwnKeys
) -> None:
    first = nonce_of(follower, KEEPER)
    nothing(follower, KEEPER)
    keys.look()
    plan(follower, KEEPER, first)
    keys.look()
    assert open_kinds(follower) == {}
    nothing(follower, GUARD)
    keys.look()
    with follower.database.write() as session:
        (finding,) = findings.open_findings(session, CHAIN_ID)
        assert findings.acknowledge(session, finding.id, "the key is replaced", now_utc())
    assert (keys.look(), open_kinds(follower)) == ([], {})


class Forgetful(httpx.BaseTransport):
    """Anvil behind a node that knows counts of the newest block alone."""

    def __init__(self, url: str, is_recent: Callable[[object], bool]) -> None:
        self._url, self._real, self._is_recent = url, httpx.HTTPTransport(), is_recent

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        one = body[0] if isinstance(body, list) else body
        if one["method"] == "eth_getTransactionCount" and not self._is_recent(one["params"][1]):
            error = {"code": -32000, "message": "missing trie node"}
            refused = {"jsonrpc": "2.0", "id": one["id"], "error": error}
            return httpx.Response(200, json=[refused] if isinstance(body, list) else refused)
        answer = self._real.handle_request(httpx.Request("POST", self._url, json=body))
        return httpx.Response(200, content=answer.read())

    def close(self) -> None:
        self._real.close()


def test_where_the_node_has_no_history__it_is_still_noticed(
    follower: Follower, keys: OwnKeys
) -> None:
    nonce = nonce_of(follower, KEEPER)
    nothing(follower, KEEPER)
    follower.deployed.anvil.mine(5)
    node = Forgetful(follower.deployed.anvil.url, lambda at: isinstance(at, dict))
    rpc = Nodes(["http://forgetful"], transport=in_threads(node))
    follower.restart(reader=VaultReader(rpc, follower.deployed.contracts))

    (found,) = OwnKeys(follower.chain, now_utc, timedelta()).look()

    rpc.close()
    assert found.what == f"no row of ours planned transaction {nonce} of {KEEPER.address} (keeper)"
    assert found.place["tx_hash"] is None


def settlement(follower: Follower) -> int:
    """Of OPERATOR's key, reserved and not yet accounted for."""
    one = bytes(20), secrets.token_bytes(20), secrets.token_bytes(32)
    with follower.database.write() as session:
        payments.claim(
            session,
            one,
            resource="r",
            price_key="p",
            amount_usdc_e6=1,
            pay_to=bytes(20),
            signature_hash=bytes(32),
            claimed_block=0,
            claimed_at=now_utc(),
            valid_before=2**40,
        )
        found = settlements.reserve(
            session,
            one,
            10,
            BUDGET,
            is_contract=False,
            settler=OPERATOR.address,
            now=now_utc(),
        )
    assert found is not None
    return found


def close(follower: Follower, settlement_id: int, wei: int = 4) -> None:
    with follower.database.write() as session:
        settlements.close(session, settlement_id, Cost(wei, is_reverted=False, bars_payer=False))


def test_the_settlers_transactions__are_as_many_as_its_settlements(
    follower: Follower, keys: OwnKeys
) -> None:
    first = settlement(follower)
    assert keys.look() == []  # one is under way: not yet
    nothing(follower, OPERATOR)
    close(follower, first)
    keys.look()
    # two that were sent, one that never was
    under_way = settlement(follower)
    nothing(follower, OPERATOR)
    close(follower, settlement(follower), wei=0)
    assert keys.look() == []
    close(follower, under_way)
    assert keys.look() == []

    nothing(follower, OPERATOR)
    (found,) = keys.look()

    assert found.what.startswith("1 of the transactions ")
    assert f"{OPERATOR.address} (settler) are of no settlement of ours" in found.what
    assert keys.look() == []
    # and it goes on to be looked at
    close(follower, settlement(follower))
    nothing(follower, OPERATOR)
    assert keys.look() == []
    nothing(follower, OPERATOR)
    assert len(keys.look()) == 1
