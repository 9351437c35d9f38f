"""The facts of warnings, and the warnings of what is listed no more."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from core.db.engine import Database
from core.market import networks, outcomes, queries, samples
from core.market.facts import DataSource, NetworkStatus
from core.market.outcomes import NewOutcome
from core.market.rules.notices import NoticeReading, OutcomeKind
from core.market.tables import (
    MarketAsset,
    MarketNetwork,
    MarketTransferEvent,
    MarketWarning,
    MarketWarningStanding,
)
from tests.integration.core.market.conftest import (
    NOON,
    Listed,
    batch,
    market,
    warn,
    warning_facts,
)

BASES = [f"C{n:02}" for n in range(12)]


def list_at(database: Database, bases: list[str]) -> None:
    with database.write() as session:
        found = [market("kucoin", base) for base in bases]
        queries.learn_markets(session, "kucoin", found, DataSource.SIMULATED, NOON)


def tell(
    database: Database, minute: int, can_deposit: bool | None, bases: list[str] = BASES
) -> None:
    told = [
        NetworkStatus(
            exchange="kucoin",
            native_base=base,
            chain="eip155:1",
            can_deposit=can_deposit,
            can_withdraw=True,
            contract=None,
            is_native=False,
            withdraw_fee=None,
        )
        for base in bases
    ]
    with database.write() as session:
        networks.learn_networks(session, "kucoin", told, NOON + timedelta(minutes=minute))


@pytest.mark.parametrize(("before", "closed"), [(True, {12}), (None, {0})])
def test_what_was_unknown_and_is_closed__was_not_closed_now(
    database: Database, before: bool | None, closed: set[int]
) -> None:
    list_at(database, BASES)
    tell(database, 0, before)
    tell(database, 1, False)
    with database.read() as session:
        now = NOON + timedelta(minutes=2)
        found = warning_facts(session, now)
    assert {one.venue_bases_closed for _, one in found} == closed


def test_warnings_of_what_is_listed_no_more__are_over(database: Database) -> None:
    list_at(database, BASES)
    tell(database, 0, True)
    tell(database, 1, False)
    now = NOON + timedelta(minutes=2)
    with database.write() as session:
        done = warn(session, now)
    assert done.issued == 12  # venue_risk of each
    list_at(database, BASES[:11])
    with database.write() as session:
        done = warn(session, now)
    with database.read() as session:
        over = session.scalars(
            select(MarketWarning.token).where(MarketWarning.action == "cleared")
        ).all()
        standing = session.scalars(select(MarketWarningStanding.token)).all()
    assert (done.cleared, list(over)) == (1, [BASES[11]])
    assert sorted(standing) == BASES[:11]


def test_a_network_that_is_told_no_more__is_unknown(database: Database) -> None:
    list_at(database, BASES)
    tell(database, 0, True)
    for minute in (1, 2):
        tell(database, minute, True, BASES[:11])
    with database.read() as session:
        row = session.get_one(MarketNetwork, ("kucoin", BASES[11], "eip155:1"))
        events = session.execute(
            select(
                MarketTransferEvent.native_base,
                MarketTransferEvent.direction,
                MarketTransferEvent.was_open,
                MarketTransferEvent.is_open,
            ).order_by(MarketTransferEvent.direction)
        ).all()
    assert (row.can_deposit, row.can_withdraw, row.withdraw_fee) == (None, None, None)
    assert row.deposit_since == NOON + timedelta(minutes=1)
    assert [tuple(one) for one in events] == [
        (BASES[11], "deposit", True, None),
        (BASES[11], "withdraw", True, None),
    ]


ONE, OTHER = "0x" + "11" * 20, "0x" + "22" * 20


def list_contracts(database: Database, contracts: dict[str, str]) -> None:
    """AAA at each exchange, with its contract there."""
    with database.write() as session:
        for exchange, contract in contracts.items():
            found = [market(exchange, "AAA")]
            queries.learn_markets(session, exchange, found, DataSource.SIMULATED, NOON)
            status = NetworkStatus(
                exchange=exchange,
                native_base="AAA",
                chain="eip155:1",
                can_deposit=True,
                can_withdraw=True,
                contract=contract,
                is_native=False,
                withdraw_fee=None,
            )
            networks.learn_networks(session, exchange, [status], NOON)


def declare(
    database: Database,
    exchange: str,
    kind: OutcomeKind,
    days_ago: int,
    *,
    is_genuine: bool = True,
) -> None:
    with database.write() as session:
        asset_id = session.scalars(select(MarketAsset.id).where(MarketAsset.ticker == "AAA")).one()
        reading = NoticeReading(kind, None, is_genuine=is_genuine)
        at = NOON - timedelta(days=days_ago)
        outcomes.add_outcomes(session, [NewOutcome(exchange, asset_id, reading, at, None)])


def flags(database: Database) -> dict[str, dict[str, str]]:
    """The evidence of the flags that stand after the job has run, by exchange."""
    with database.write() as session:
        warn(session, NOON)
        found = session.scalars(
            select(MarketWarningStanding).where(MarketWarningStanding.type == "cross_exchange_flag")
        )
        return {one.exchange: one.evidence for one in found}


def test_a_cross_flag__names_who_declared_what_and_when(database: Database) -> None:
    list_contracts(database, {"kucoin": ONE, "mexc": ONE, "okx": ONE, "gate": OTHER})
    declare(database, "mexc", OutcomeKind.SUSPEND, 90)  # too old
    declare(database, "mexc", OutcomeKind.CAUTION, 0)  # no outcome
    declare(database, "gate", OutcomeKind.DELIST, 0)  # of another contract
    declare(database, "okx", OutcomeKind.ST_TAG, 0, is_genuine=False)  # since nobody knows when
    assert flags(database) == {}
    declare(database, "mexc", OutcomeKind.ST_TAG, 2)
    tagged = {"exchange": "mexc", "kind": "st_tag", "at": "2026-11-22T12:00:00Z"}
    assert flags(database) == {"kucoin": tagged, "okx": tagged}
    declare(database, "okx", OutcomeKind.DELIST, 1)
    delisting = {"exchange": "okx", "kind": "delist_notice", "at": "2026-11-23T12:00:00Z"}
    # what stands keeps what it was issued for
    assert flags(database) == {"kucoin": tagged, "okx": tagged, "mexc": delisting}


def test_of_several_outcomes__a_cross_flag_names_the_newest(database: Database) -> None:
    list_contracts(database, {"kucoin": ONE, "mexc": ONE, "okx": ONE})
    declare(database, "mexc", OutcomeKind.DELIST, 3)
    declare(database, "mexc", OutcomeKind.ST_TAG, 2)
    declare(database, "okx", OutcomeKind.SUSPEND, 2)
    of_mexc = {"exchange": "mexc", "kind": "st_tag", "at": "2026-11-22T12:00:00Z"}
    of_okx = {"exchange": "okx", "kind": "suspend_notice", "at": "2026-11-22T12:00:00Z"}
    # of the same time the first by exchange
    assert flags(database) == {"kucoin": of_mexc, "okx": of_mexc, "mexc": of_okx}


@pytest.mark.parametrize(("minutes", "depth"), [(29, None), (30, 100_000.0)])
def test_the_depth_of_an_hour__is_known_from_half_of_it_on(
    database: Database, listed: Listed, minutes: int, depth: float | None
) -> None:
    with database.write() as session:
        for minute in range(minutes):
            at = NOON + timedelta(minutes=minute)
            samples.copy_samples(session, batch(listed.ids, at))
    with database.read() as session:
        found = warning_facts(session, NOON + timedelta(minutes=40))
    known = {(of.depth_lowest_1h_usd, of.depth_highest_1h_usd) for _, of in found}
    assert known == {(depth, depth)}
