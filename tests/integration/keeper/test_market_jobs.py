"""The market's slow jobs compute outside of transactions, however many listings there are."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select

from api.areas.market import jobs
from api.areas.market.jobs import MarketHeld
from api.kernel.jobs import JobPlace
from core.db.engine import Database
from core.market import (
    identity,
    insights,
    networks,
    parts,
    queries,
    shadow,
    watch,
)
from core.market.facts import DataSource, NetworkStatus
from core.market.rules import grade, wci
from core.market.rules import warnings as rules
from core.market.tables import MarketAssetState, MarketWarningStanding
from tests.integration.core.market.conftest import NOON, market
from tests.integration.core.market.test_shadow import Fund
from tests.integration.keeper.test_notes_vault import place_of
from tests.integration.lent import lent_during

BASES = tuple(f"C{n}" for n in range(12))


def list_and_close(database: Database) -> datetime:
    """Twelve coins at one exchange, all of which it closed for withdrawals at once."""
    with database.write() as session:
        parts.ensure_ahead(session, NOON)
        found = [market("kucoin", one) for one in BASES]
        queries.learn_markets(session, "kucoin", found, DataSource.SIMULATED, NOON)
        for minute, is_open in ((0, True), (1, False)):
            told = [
                NetworkStatus(
                    exchange="kucoin", native_base=one, chain="eip155:1",
                    contract=f"0x{number:040x}", can_deposit=is_open, can_withdraw=is_open,
                    is_native=False, withdraw_fee=None,
                )
                for number, one in enumerate(BASES)
            ]  # fmt: skip
            at = NOON + timedelta(minutes=minute)
            networks.learn_networks(session, "kucoin", told, at)
    return NOON + timedelta(minutes=2)


def coins(place: JobPlace, now: datetime) -> Any:
    return jobs.show_coins(place, now)


def warnings(place: JobPlace, now: datetime) -> Any:
    return jobs.warn(place, now, MarketHeld())


@pytest.mark.parametrize(
    ("run", "where", "name", "shown"),
    [
        (coins, identity, "identify", MarketAssetState.contracts),
        (coins, identity, "_asset_row", MarketAssetState.contracts),
        (warnings, identity, "identify", MarketWarningStanding.token),
        (warnings, watch, "_foreign", MarketWarningStanding.token),
        (warnings, rules, "signs", MarketWarningStanding.token),
        (jobs.grade, grade, "grade_many", None),
        (jobs.publish, wci, "b3", None),
        (lambda place, now: jobs.detect(place, now, MarketHeld()), insights, "drains", None),
    ],
)
def test_the_market__is_computed_outside_of_transactions(
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    run: Callable[[JobPlace, datetime], Any],
    where: Any,
    name: str,
    shown: Any,
) -> None:
    now = list_and_close(database)
    lent = lent_during(monkeypatch, database, where, name)
    run(place_of(database), now)
    assert set(lent) == {0}
    if shown is None:
        return
    with database.read() as session:
        assert len([one for one in session.scalars(select(shown)) if one]) == len(BASES)


def test_warnings__are_written_part_by_part(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = list_and_close(database)
    monkeypatch.setattr(jobs, "WARNINGS_A_WRITE", 5)
    assert warnings(place_of(database), now) == {
        "issued": 12, "reopened": 0, "cleared": 0,
    }  # fmt: skip
    assert warnings(place_of(database), now)["issued"] == 0


def test_a_run_of_the_shadow_fund__takes_page_after_page_and_keeps_each(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What flapped faster than a page a minute held up all other trades, and a page that was cut undid
    those before it, for ever.
    """
    fund = Fund(database)
    monkeypatch.setattr(shadow, "A_PAGE", 2)
    for n in range(21):
        fund.episode(NOON + n * timedelta(minutes=1))
    enter, calls, now = shadow._enter, list[int](), NOON + timedelta(hours=1)

    def killed(*args: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return enter(*args)

    with monkeypatch.context() as patched:
        patched.setattr(shadow, "_enter", killed)
        with pytest.raises(KeyboardInterrupt):
            jobs.replay(place_of(database), now)
    done = [jobs.replay(place_of(database), now)["skipped"] for _ in range(3)]
    assert done == [16, 1, 0]  # 4 of the 21 before
