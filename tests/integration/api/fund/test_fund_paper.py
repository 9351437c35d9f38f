"""The paper follower of a vault: it follows, is marked, and tells no live signal
(docs/fund.md#the-paper-follower).
"""

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, update
from starlette.testclient import TestClient

from api.areas.fund import jobs
from api.kernel.operation import Deps
from core.db.engine import WriteSession
from core.fund import indices, paper
from core.fund.rules.frozen import UniverseMarket
from core.fund.tables import (
    FundApplication,
    FundPaper,
    FundPaperMark,
    FundPaperPosition,
    FundPaperTrade,
)
from core.jobs.rules import ATTENTION
from core.market.tables import MarketListingState
from core.money import UsdcE6
from tests.integration.api.conftest import Clock
from tests.integration.api.fund.conftest import USD, Follower, Office, vault_with
from tests.integration.api.fund.pilots import IndexWorld, TransferChain, list_coin, sampled

LINK, UNI = "binance_link_usdt", "binance_uni_usdt"
TEN = UsdcE6(10 * USD)
DID = {"vaults": 0, "trades": 0, "marks": 0, "left": 0}


@pytest.fixture
def market(deps: Deps, clock: Clock) -> None:
    """LINK and UNI at 100 dollars, of grade B."""
    with deps.database.write() as session:
        list_coin(session, clock.now, "LINK", {"binance": 400_000.0})
        list_coin(session, clock.now, "UNI", {"binance": 400_000.0})


@pytest.fixture
def vault(deps: Deps, clock: Clock, market: None) -> int:
    universe = [UniverseMarket(LINK, "always", TEN), UniverseMarket(UNI, "always", TEN)]
    return vault_with(deps, clock, universe=universe)


def follow(deps: Deps, vault_id: int, clock: Clock) -> paper.PaperRun:
    with deps.database.write() as session:
        return paper.follow(session, vault_id, clock.now)


def shown(client: TestClient, vault_id: int) -> Any:
    return client.get(f"/fund/vaults/{vault_id}").json()["paper"]


def cash(deps: Deps, vault_id: int) -> int:
    with deps.database.read() as session:
        return session.get_one(FundPaper, vault_id).cash_usdc_e6


def test_a_vault_without_signals__is_ten_thousand(
    client: TestClient, deps: Deps, clock: Clock, vault: int
) -> None:
    assert shown(client, vault) is None
    assert follow(deps, vault, clock) == paper.PaperRun(0, True)
    assert shown(client, vault) == {
        "since": "2026-11-21T12:00:00Z",
        "at": "2026-11-21T12:00:00Z",
        "nav_usd": "10000.000000",
        "curve": None,
        "return_bps": "0.00",
        "drawdown_bps": "0.00",
        "max_drawdown_bps": "0.00",
        "trades": 0,
        "impact_usd": "0.000000",
        "fees_usd": "0.000000",
        "fund_fees_usd": "0.000000",
    }


def test_a_signal__is_followed_once_net_of_impact_and_fee(
    deps: Deps, clock: Clock, office: Office, vault: int
) -> None:
    seq = office.publish(vault, "0.2500", LINK)
    assert [follow(deps, vault, clock).trades for _ in range(2)] == [1, 0]
    with deps.database.read() as session:
        trade = session.get_one(FundPaperTrade, seq)
        held = session.get_one(FundPaperPosition, (vault, LINK)).quantity_e18
        mark = session.scalars(select(FundPaperMark)).one()
    # 2,500 within the first rung of 50,000: at 100.5001
    assert (trade.side, trade.usdc_e6, trade.fee_usdc_e6) == ("buy", 2_500 * USD, 2_500_000)
    assert (trade.impact_usdc_e6, held) == (12_440_287, 24_875_597_138_709_314_717)
    assert cash(deps, vault) == 7_497_500_000
    assert (mark.nav_usdc_e6, mark.drawdown_bps_e2) == (9_985_059_713, 1_495)


def test_what_is_shown__was_marked_before_the_oldest_live_signal(
    client: TestClient, deps: Deps, clock: Clock, office: Office, vault: int
) -> None:
    follow(deps, vault, clock)
    clock.pass_(hours=1)
    sampled(deps, clock.now)
    office.publish(vault, "0.2500", LINK)
    follow(deps, vault, clock)
    assert shown(client, vault)["trades"] == 0
    clock.pass_(hours=23, minutes=59)
    sampled(deps, clock.now, mid=80.0)
    follow(deps, vault, clock)
    assert shown(client, vault)["nav_usd"] == "10000.000000"
    clock.pass_(minutes=1)  # the signal is historical now, and free
    page = client.get(f"/fund/vaults/{vault}/signals").json()
    assert page["paper"]["trades"] == 1
    # 24.875597138709314717 coins at 80, and 7,497.50 in cash
    assert page["paper"]["nav_usd"] == "9487.547771"
    assert page["paper"]["max_drawdown_bps"] == "512.46"
    assert page["paper"]["return_bps"] == "-512.46"


def test_a_signal_that_came_after_a_run_began__is_left_to_the_next_run(
    client: TestClient, deps: Deps, clock: Clock, office: Office, vault: int
) -> None:
    began = clock.now
    clock.pass_(seconds=1)
    office.publish(vault, "0.2500", LINK)
    with deps.database.write() as session:
        assert paper.follow(session, vault, began) == paper.PaperRun(0, True)
    # that mark is older than the live signal, and shown: it tells nothing of it
    assert shown(client, vault)["trades"] == 0
    assert follow(deps, vault, clock).trades == 1


def test_a_signal_of_a_market_without_a_book__waits_for_it(
    deps: Deps, clock: Clock, office: Office, vault: int
) -> None:
    office.publish(vault, "0.2500", LINK)
    clock.pass_(minutes=11)  # the last look is too old
    assert follow(deps, vault, clock).trades == 0
    sampled(deps, clock.now)
    assert follow(deps, vault, clock).trades == 1


def test_a_signal_of_grade_f__is_kept_with_its_reason(
    deps: Deps, clock: Clock, office: Office, vault: int
) -> None:
    with deps.database.write() as session:
        session.execute(update(MarketListingState).values(grade="F"))
    seq = office.publish(vault, "0.2500", LINK)
    assert follow(deps, vault, clock).trades == 0
    with deps.database.read() as session:
        assert session.get_one(FundPaperTrade, seq).reason == "grade_f"


def test_a_curve__has_the_marks_up_to_the_one_that_is_shown(
    client: TestClient, deps: Deps, clock: Clock, vault: int
) -> None:
    for _ in range(3):
        follow(deps, vault, clock)
        clock.pass_(hours=1)
    paper_shown = client.get(f"/fund/vaults/{vault}?curve=1").json()["paper"]

    assert [one["at"] for one in paper_shown["curve"]] == [
        "2026-11-21T12:00:00Z",
        "2026-11-21T13:00:00Z",
        "2026-11-21T14:00:00Z",
    ]
    assert paper_shown["curve"][-1]["nav_usd"] == paper_shown["nav_usd"]
    assert shown(client, vault)["curve"] is None


def test_an_unknown_price__is_no_mark_and_no_trade(
    deps: Deps, clock: Clock, office: Office, vault: int
) -> None:
    office.publish(vault, "0.2500", LINK)
    follow(deps, vault, clock)
    clock.pass_(hours=1)
    with deps.database.write() as session:
        uni = update(MarketListingState).where(MarketListingState.token == "UNI")
        session.execute(uni.values(sampled_at=clock.now))
    office.publish(vault, "0.2500", UNI)
    assert follow(deps, vault, clock) == paper.PaperRun(0, False)
    sampled(deps, clock.now)
    assert follow(deps, vault, clock) == paper.PaperRun(1, True)


def test_the_job__follows_every_vault_and_a_pilot_pays_its_fee(
    deps: Deps, clock: Clock, office: Office, follower: Follower, vault: int
) -> None:
    place = IndexWorld(deps, clock, TransferChain(), office, 0).job_place()
    with deps.database.write() as session:
        index_id = indices.register(session, clock.now)["majors"]
        session.add(
            FundApplication(
                index_id=index_id,
                account_id=follower.user_id,
                state="approved",
                categories=[],
                fund_type="active",
                plan_text="x",
                cadence="weekly",
                leverage_e2=100,
                fee_bps=200,
                tvl_cap_usdc_e6=USD,
                bond_currency="credit",
                bond_credits=1,
                vault_id=vault,
                submitted_at=clock.now,
                decided_at=clock.now,
            )
        )
    assert jobs.follow(place, clock.now) == DID | {"vaults": 1, "marks": 1}
    clock.now += timedelta(days=365)
    assert jobs.follow(place, clock.now) == DID | {"vaults": 1, "marks": 1}
    assert shown(office.client, vault)["fund_fees_usd"] == "200.000000"
    assert shown(office.client, vault)["nav_usd"] == "9800.000000"


def test_the_job__takes_up_the_vaults_that_have_something_to_do(
    deps: Deps, clock: Clock, office: Office, vault: int
) -> None:
    place = IndexWorld(deps, clock, TransferChain(), office, 0).job_place()
    universe = [UniverseMarket(LINK, "always", TEN), UniverseMarket(UNI, "always", TEN)]
    for _ in range(2):
        vault_with(deps, clock, universe=universe)
    assert jobs.follow(place, clock.now) == DID | {"vaults": 3, "marks": 3}
    clock.pass_(minutes=1)
    assert jobs.follow(place, clock.now) == DID
    office.publish(vault, "0.1000", LINK)
    office.publish(vault, "0.2500", LINK)  # it supersedes the one before
    assert jobs.follow(place, clock.now) == DID | {"vaults": 1, "trades": 1}
    assert jobs.follow(place, clock.now) == DID
    office.post(f"/admin/fund/vaults/{vault}/pause")
    clock.pass_(minutes=59)
    sampled(deps, clock.now)
    assert jobs.follow(place, clock.now) == DID | {"vaults": 3, "marks": 3}
    assert jobs.follow(place, clock.now) == DID


def test_a_run_that_takes_too_long__leaves_vaults_to_the_next_and_begins_with_signals(
    deps: Deps, clock: Clock, office: Office, vault: int
) -> None:
    place = IndexWorld(deps, clock, TransferChain(), office, 0).job_place()
    last = vault_with(deps, clock, universe=[UniverseMarket(LINK, "always", TEN)])
    office.publish(last, "0.2500", LINK)
    assert jobs.follow(place, clock.now, run_s=0) == {
        "vaults": 1, "trades": 1, "marks": 1, "left": 1,
    }  # fmt: skip
    assert jobs.follow(place, clock.now, run_s=0) == DID | {"vaults": 1, "marks": 1}


def test_a_vault_of_which_a_price_is_unknown__is_taken_up_after_the_others(
    deps: Deps, clock: Clock, office: Office, vault: int
) -> None:
    universe = [UniverseMarket(UNI, "always", TEN)]
    others = [vault_with(deps, clock, universe=universe) for _ in range(2)]
    office.publish(vault, "0.2500", LINK)
    for one in (vault, *others):
        follow(deps, one, clock)
    clock.pass_(hours=1)
    for one in others:
        follow(deps, one, clock)
    clock.pass_(hours=1)
    new = vault_with(deps, clock, universe=universe)
    with deps.database.read() as session:
        assert paper.due(session, clock.now) == [new, *others, vault]


def test_a_vault_that_cannot_be_followed__does_not_stop_the_others(
    deps: Deps, clock: Clock, office: Office, vault: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = IndexWorld(deps, clock, TransferChain(), office, 0).job_place()
    vault_with(deps, clock, universe=[UniverseMarket(LINK, "always", TEN)])
    run = paper.follow

    def follow_but_one(session: WriteSession, vault_id: int, now: datetime) -> paper.PaperRun:
        if vault_id == vault:
            raise KeyError("universe")
        return run(session, vault_id, now)

    monkeypatch.setattr(paper, "follow", follow_but_one)
    assert jobs.follow(place, clock.now) == DID | {
        "vaults": 1,
        "marks": 1,
        ATTENTION: "1 of 2 failed and are tried again; the log has each",
    }
