"""The auditor finds what the record has wrong: a node that left a log out, rows altered by hand, a
ledger that was touched.
"""

import json
import random
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from sqlalchemy import select, text

from core.audit import queries as findings
from core.audit.tables import AuditBook
from core.blocks.tables import RawLogRow
from core.chain.nodes import Nodes
from core.db.engine import Database
from core.health import views as health
from core.health.rules import Health, judge_indexer
from core.mandate.chain import calldata
from core.mandate.chain.reader import VaultReader
from indexer.chain import auditor as auditor_module
from indexer.chain.auditor import Auditor, Looked
from indexer.chain.completeness import RangeProof
from indexer.chain.context import ChainContext
from tests.integration.chain_fixtures import CHAIN_ID, USDC, Ground
from tests.integration.indexer.conftest import FINAL_SOON, Follower, Issued, now_utc
from tests.integration.indexer.test_backfill import forget, make_final, settle
from tests.personas import DEPLOYER, OWNER

Working = tuple[Issued, str]
Audit = Callable[..., Looked]
ALL = 200  # more than twice as many blocks as there are: all of them


@pytest.fixture
def ground(short_epochs: Ground) -> Ground:
    return short_epochs


class LogDropper(httpx.BaseTransport):
    """Anvil behind a node that answers eth_getLogs without the logs of one transaction."""

    def __init__(self, url: str) -> None:
        self._url, self._real = url, httpx.HTTPTransport()
        self.dropped_tx = ""
        self.dropped = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        answer = json.loads(
            self._real.handle_request(httpx.Request("POST", self._url, json=body)).read()
        )
        asked = {
            call["id"]: call["method"] for call in (body if isinstance(body, list) else [body])
        }
        for one in answer if isinstance(answer, list) else [answer]:
            if asked[one["id"]] == "eth_getLogs" and one.get("result"):
                kept = [log for log in one["result"] if log["transactionHash"] != self.dropped_tx]
                self.dropped += len(one["result"]) - len(kept)
                one["result"] = kept
        return httpx.Response(200, json=answer)

    def close(self) -> None:
        self._real.close()


def believe_a_liar(follower: Follower, tx_hash: str) -> LogDropper:
    """History from a node that leaves this transaction's logs out, where nothing proves it; then
    the indexer has the honest node again.
    """
    liar = LogDropper(follower.deployed.anvil.url)
    liar.dropped_tx = tx_hash
    rpc = Nodes(["http://first"], transport=liar)
    follower.restart(reader=VaultReader(rpc, follower.deployed.contracts))
    with pytest.MonkeyPatch.context() as patch:
        # as where blooms are full and states are gone
        patch.setattr(RangeProof, "left_out", lambda self, blocks, facts, watch: {})
        follower.catch_up()
    settle(follower)
    rpc.close()
    follower.restart(reader=follower.deployed.reader)
    return liar


@pytest.fixture
def audit(follower: Follower) -> Audit:
    """One round over every final block and every ledger, against the honest node."""

    def once(blocks: int = ALL, **changes: Any) -> Looked:
        chain = ChainContext(
            **{name: getattr(follower.chain, name) for name in ChainContext.__dataclass_fields__}
            | changes
        )
        draw = random.Random(7)
        auditor = Auditor(
            chain,
            now_utc,
            blocks_a_round=blocks,
            is_same_provider=False,
            draw=draw,
            rest=lambda _: None,
        )
        return auditor.round()

    return once


def whats(looked: Looked) -> list[tuple[str, str]]:
    return sorted((finding.kind.value, finding.what) for finding in looked.findings)


def tamper(database: Database, table: str, statement: str, **values: Any) -> None:
    """As somebody with the owner's role may: with the triggers off."""
    with database.write() as session:
        session.execute(text(f"alter table {table} disable trigger user"))
        assert session.execute(text(statement), values).rowcount == 1  # type: ignore[attr-defined]
        session.execute(text(f"alter table {table} enable trigger user"))


def live_a_little(follower: Follower, vault: str) -> str:
    """Moves, a refused one and a donation, all made final and indexed; the transaction of a
    move.
    """
    chain = follower.deployed
    tx_hash = chain.buy(vault, 10 * USDC).tx_hash
    assert chain.buy(vault, 101 * USDC).status == 0
    chain.sell(vault, 4 * USDC)
    chain.mint(vault, 3 * USDC)
    chain.anvil.mine(FINAL_SOON + 1)
    follower.catch_up()
    follower.catch_up()
    return tx_hash


@pytest.mark.slow
def test_a_sound_record__has_no_findings(
    follower: Follower, working: Working, audit: Audit
) -> None:
    """The donation of 3 USDC is explained; every final block and the one ledger are looked at."""
    live_a_little(follower, working[1])
    looked = audit()
    head = follower.tip.cursor.number
    first = follower.deployed.start_block - 1
    assert looked == Looked(blocks=head - FINAL_SOON - first, ledgers=1, findings=())
    with follower.database.read() as session:
        position = findings.audit_position(session, CHAIN_ID)
        assert position is not None
        assert (position.blocks_total, position.books_total, position.is_same_provider) == (
            looked.blocks,
            1,
            False,
        )


@pytest.mark.slow
def test_a_log_that_a_range_left_out__is_found_with_the_ledger_that_misses_it(
    follower: Follower, audit: Audit
) -> None:
    mandate = follower.issue()
    vault = follower.deployed.create_vault(mandate.terms)
    bought = follower.deployed.buy(vault, 25 * USDC)
    make_final(follower)
    liar = believe_a_liar(follower, bought.tx_hash)
    assert liar.dropped > 0
    assert follower.story(mandate) == ["signed", "vault_created", "deposit"], (
        "the backfill believed it"
    )
    looked = audit(reader=follower.deployed.reader)
    lacks = [what for kind, what in whats(looked) if kind == "log"]
    mine = [
        log
        for log in bought.logs
        if log.address in (vault, follower.deployed.contracts["test_venue_adapter"])
    ]
    assert lacks == sorted(
        f"the record lacks log {log.log_index} of {log.address} in block {bought.block_number}"
        for log in mine
    )
    others = [what for kind, what in whats(looked) if kind != "log"]
    height = follower.tip.cursor.number - FINAL_SOON
    assert others == [
        (
            f"the ledger of {mandate.public_id} has 1000.000000 USDC in the vault at block "
            f"{height}, the chain 975.000000"
        ),
        (
            f"the ledger of {mandate.public_id} has 0.000000 USDC spent at block {height}, its "
            "vault 25.000000"
        ),
    ]


@pytest.mark.slow
def test_a_finding__is_written_once_until_a_rebuild_closes_it(
    follower: Follower, working: Working, audit: Audit
) -> None:
    live_a_little(follower, working[1])
    tamper(follower.database, "reverted_tx", "delete from reverted_tx")
    assert len(audit().findings) == 1
    assert audit().findings == ()
    with follower.database.write() as session:
        assert findings.resolve_rebuilt(session, CHAIN_ID, now_utc()) == 1
    assert len(audit().findings) == 1, "it stands again, so it is told again"
    with follower.database.write() as session:
        open_one = findings.open_findings(session, CHAIN_ID)[0]
        assert findings.acknowledge(session, open_one.id, "known", now_utc())
        assert not findings.acknowledge(session, open_one.id, "twice", now_utc())
    assert audit().findings == ()


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        (
            "update raw_log set data = '\\x01' || data where number = :number and log_index = 0",
            "is not the chain's: data",
        ),
        (
            "update raw_log set log_index = 77 where number = :number and log_index = 0",
            "has no log 77",
        ),
        (
            (
                "update raw_log set address = substring(sha256(address) for 20) where number = "
                ":number and log_index = 0"
            ),
            "is not the chain's: address",
        ),
        ("delete from raw_log where number = :number and log_index = 0", "the record lacks log 0"),
    ],
)
def test_a_raw_log_altered_by_hand__is_found(
    follower: Follower, working: Working, audit: Audit, statement: str, says: str
) -> None:
    vault = working[1]
    live_a_little(follower, vault)
    with follower.database.read() as session:
        log = session.scalars(
            select(RawLogRow)
            .where(RawLogRow.log_index == 0)
            .order_by(RawLogRow.number.desc())
            .limit(1)
        ).one()
    tamper(follower.database, "raw_log", statement, number=log.number)
    found = [what for kind, what in whats(audit()) if kind == "log"]
    assert any(says in what for what in found), found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("delete from reverted_tx", "the record lacks the reverted call"),
        ("update reverted_tx set gas_used = gas_used + 1", "is not the chain's: gas_used"),
    ],
)
def test_a_reverted_call_that_was_hidden_or_altered__is_found(
    follower: Follower, working: Working, audit: Audit, statement: str, says: str
) -> None:
    live_a_little(follower, working[1])
    tamper(follower.database, "reverted_tx", statement)
    [(kind, what)] = whats(audit())
    assert kind == "revert"
    assert says in what


@pytest.mark.slow
def test_a_vault_that_was_taken_out_of_the_record__is_found(
    follower: Follower, working: Working, audit: Audit
) -> None:
    live_a_little(follower, working[1])
    tamper(follower.database, "vault", "delete from vault")
    assert (
        "vault",
        f"the record lacks vault {working[1]} (block {created_at(follower, working[1])})",
    ) in whats(audit())


def created_at(follower: Follower, vault: str) -> int:
    headers = follower.deployed.reader.headers(range(1, follower.tip.cursor.number + 1))
    return next(
        header.number
        for header in headers
        if header and follower.deployed.reader.code_at(vault, header.hash)
    )


@pytest.mark.slow
def test_another_block_at_a_final_height__is_found(
    follower: Follower, working: Working, audit: Audit
) -> None:
    live_a_little(follower, working[1])
    number = follower.deployed.start_block + 1
    tamper(
        follower.database,
        "chain_block",
        "delete from chain_block where number = :number",
        number=number,
    )
    assert ("block", f"the record has no block {number}") in whats(audit())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "says"),
    [
        (
            "update mandate_event set amount_usdc_e6 = amount_usdc_e6 + 1 where seq = 4",
            "seq 4: row_hash is 0x",
        ),
        ("delete from mandate_event where seq = 4", "seq 5: expected seq 4"),
        (
            "update mandate_event set cash_delta_usdc_e6 = cash_delta_usdc_e6 - 1 where seq = 4",
            "head: cash_usdc_e6 is not the fold's",
        ),
    ],
)
def test_a_ledger_altered_by_hand__is_found(
    follower: Follower, working: Working, audit: Audit, statement: str, says: str
) -> None:
    live_a_little(follower, working[1])
    tamper(follower.database, "mandate_event", statement)
    told = [what for kind, what in whats(audit()) if kind == "book"]
    assert any(what.startswith(f"the ledger of {working[0].public_id}: {says}") for what in told), (
        told
    )


@pytest.mark.slow
def test_a_head_altered_by_hand__is_found(
    follower: Follower, working: Working, audit: Audit
) -> None:
    live_a_little(follower, working[1])
    tamper(
        follower.database,
        "mandate_head",
        "update mandate_head set spent_usdc_e6 = spent_usdc_e6 + 1",
    )
    assert whats(audit()) == [
        ("book", f"the ledger of {working[0].public_id}: head: spent_usdc_e6 is not the fold's")
    ]


def test_ledgers_have_their_turn__the_longest_unverified_first(
    follower: Follower, working: Working, audit: Audit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auditor_module, "LEDGERS_A_ROUND", 1)
    second = follower.issue("m_second23456", nonce=2)
    for expected in ([working[0].id], [working[0].id, second.id], [second.id, working[0].id]):
        assert audit(blocks=0).ledgers == 1
        with follower.database.read() as session:
            assert (
                list(session.scalars(select(AuditBook.mandate_id).order_by(AuditBook.verified_at)))
                == expected
            )


@pytest.mark.slow
def test_a_few_blocks_a_round__are_never_more_than_asked_for(
    follower: Follower, working: Working, audit: Audit
) -> None:
    live_a_little(follower, working[1])
    assert 2 <= audit(blocks=4).blocks <= 4


@pytest.mark.slow
def test_an_open_finding__makes_the_indexer_degraded_and_says_how_to_close_it(
    follower: Follower, working: Working, audit: Audit
) -> None:
    live_a_little(follower, working[1])
    follower.leadership.beat({"state": "following"})

    def verdict() -> tuple[Health, str | None]:
        with follower.database.read() as session:
            found = judge_indexer(
                health.indexer_facts(session, now_utc(), follower.tip.cursor.number)
            )
        return found.health, found.note

    assert verdict() == (Health.OK, None)
    tamper(
        follower.database,
        "mandate_head",
        "update mandate_head set spent_usdc_e6 = spent_usdc_e6 + 1",
    )
    audit()
    is_now, note = verdict()
    assert is_now is Health.DEGRADED
    assert note is not None
    assert "python -m scripts.rebuild" in note
    assert "python -m indexer.main acknowledge ID" in note
    with follower.database.write() as session:
        findings.acknowledge(
            session, findings.open_findings(session, CHAIN_ID)[0].id, None, now_utc()
        )
    assert verdict() == (Health.OK, None)


@pytest.mark.parametrize(
    "statement",
    [
        "update audit_finding set what = ''",
        "delete from audit_finding",
        "truncate audit_resolution",
    ],
)
def test_findings__are_append_only(database: Database, statement: str) -> None:
    with pytest.raises(Exception, match="append-only"), database.write() as session:
        session.execute(text(statement))


@pytest.mark.slow
def test_an_agent_that_came_later__is_no_agent_of_earlier_blocks(
    follower: Follower, working: Working, audit: Audit
) -> None:
    """Its failed call of before it was named is nobody's; ranges and single blocks agree on
    that.
    """
    chain, vault = follower.deployed, working[1]
    assert chain.send(DEPLOYER, vault, chain.buy_data(USDC)).status == 0
    chain.succeed(OWNER, vault, calldata.set_agent(DEPLOYER.address))
    make_final(follower)
    follower.catch_up()
    assert audit().findings == ()
    forget(follower)
    follower.catch_up()
    settle(follower)
    assert audit().findings == ()
