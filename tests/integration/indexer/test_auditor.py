"""The auditor finds what the record has wrong: blocks that are not the second node's, sums that are
not the vault's, a ledger that was touched.
"""

import random
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select, text

from core.audit import queries as findings
from core.audit.rules import Fault
from core.audit.tables import AuditBook
from core.db.engine import Database
from core.health import views as health
from core.health.rules import Health, judge_indexer
from core.mandate.ledger import writer as mandate_ledger
from indexer.chain import auditor as auditor_module
from indexer.chain.auditor import Auditor
from indexer.chain.context import ChainContext
from tests.integration.chain_fixtures import CHAIN_ID, USDC, Ground
from tests.integration.indexer.conftest import FINAL_SOON, Follower, Issued, now_utc

Working = tuple[Issued, str]
Audit = Callable[..., tuple[Fault, ...]]
ALL = 200  # more than twice as many blocks as there are: all of them


@pytest.fixture
def ground(short_epochs: Ground) -> Ground:
    return short_epochs


@pytest.fixture
def audit(follower: Follower) -> Audit:
    """One round over every final block and every ledger, against the honest node."""

    def once(blocks: int = ALL, **changes: Any) -> tuple[Fault, ...]:
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
        )
        return auditor.round()

    return once


def whats(found: tuple[Fault, ...]) -> list[tuple[str, str]]:
    return sorted((finding.kind.value, finding.what) for finding in found)


def looked_at(follower: Follower) -> tuple[int, int, bool]:
    """How many blocks and ledgers, and whether at the record's own node."""
    with follower.database.read() as session:
        position = findings.audit_position(session, CHAIN_ID)
    assert position is not None
    return position.blocks_total, position.books_total, position.is_same_provider


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
    for _ in range(2):  # the only node says so twice
        follower.tip.note_finality()
    return tx_hash


@pytest.mark.slow
def test_a_sound_record__has_no_findings(
    follower: Follower, working: Working, audit: Audit
) -> None:
    """The donation of 3 USDC is explained; every final block and the one ledger are looked at."""
    live_a_little(follower, working[1])
    assert audit() == ()
    head = follower.tip.cursor.number
    first = follower.deployed.start_block - 1
    assert looked_at(follower) == (head - FINAL_SOON - first, 1, False)


@pytest.mark.slow
def test_a_finding__is_written_once_until_a_rebuild_closes_it(
    follower: Follower, working: Working, audit: Audit
) -> None:
    live_a_little(follower, working[1])
    lose_a_block(follower)
    assert len(audit()) == 1
    assert audit() == ()
    with follower.database.write() as session:
        assert findings.resolve_rebuilt(session, CHAIN_ID, now_utc()) == 1
    assert len(audit()) == 1, "it stands again, so it is told again"
    with follower.database.write() as session:
        open_one = findings.open_findings(session, CHAIN_ID)[0]
        assert findings.acknowledge(session, open_one.id, "known", now_utc())
        assert not findings.acknowledge(session, open_one.id, "twice", now_utc())
    assert audit() == ()


def lose_a_block(follower: Follower) -> int:
    number = follower.deployed.start_block + 1
    statement = "delete from chain_block where number = :number"
    tamper(follower.database, "chain_block", statement, number=number)
    return number


@pytest.mark.slow
def test_another_block_at_a_final_height__is_found(
    follower: Follower, working: Working, audit: Audit
) -> None:
    live_a_little(follower, working[1])
    number = lose_a_block(follower)
    tamper(
        follower.database,
        "chain_block",
        "update chain_block set ts = ts + 1 where number = :number",
        number=number + 1,
    )
    assert whats(audit()) == [
        ("block", f"block {number + 1}: parent or time differs from the chain's"),
        ("block", f"the record has no block {number}"),
    ]


@pytest.mark.slow
def test_a_ledger_that_lacks_a_row_of_its_vault__has_other_sums_than_the_vault(
    follower: Follower, working: Working, audit: Audit
) -> None:
    mandate, vault = working
    live_a_little(follower, vault)
    with follower.database.write() as session:
        mandate_ledger.reverse_logs(
            session, mandate.id, (follower.deployed.start_block, 0), now_utc()
        )
    height = follower.tip.cursor.number
    assert whats(audit(blocks=0)) == [
        (
            "totals",
            (
                f"the ledger of {mandate.public_id} has 0.000000 USDC {name} at block {height}, "
                f"its vault {theirs}.000000"
            ),
        )
        for name, theirs in (("deposited", 1_000), ("received", 4), ("spent", 10))
    ]


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
            "head: cash_usdc_e6 differs from the fold",
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
        ("book", f"the ledger of {working[0].public_id}: head: spent_usdc_e6 differs from the fold")
    ]


def test_ledgers_have_their_turn__the_longest_unverified_first(
    follower: Follower, working: Working, audit: Audit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auditor_module, "LEDGERS_A_ROUND", 1)
    second = follower.issue("m_second23456", nonce=2)
    turns = ([working[0].id], [working[0].id, second.id], [second.id, working[0].id])
    for rounds, expected in enumerate(turns, 1):
        audit(blocks=0)
        assert looked_at(follower)[1] == rounds
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
    audit(blocks=4)
    assert 2 <= looked_at(follower)[0] <= 4


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
    assert "python -m indexer.rebuild" in note
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
