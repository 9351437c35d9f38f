"""The example follower, against the real pipeline: what it prints is what docs/fund-follower.md shows."""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from api.client import Client, Refused
from api.client.examples.follower import FundFollower, PaperAccount, board_price
from api.kernel.operation import Deps
from core.credits.ledger import writer as credit_ledger
from core.market.tables import MarketListingState
from tests.integration.api.client.conftest import Wire
from tests.integration.api.conftest import BASE_URL, Clock
from tests.integration.api.fund.conftest import ADDRESS, BTC, ETH, SHARE, Office

PAGE = Path(__file__).parents[4] / "docs" / "fund-follower.md"
MONDAY = datetime.fromisoformat("2026-11-23T14:00:00+00:00")  # half an hour before New York opens


@pytest.fixture
def agent(client: TestClient, deps: Deps, clock: Clock) -> Iterator[Client]:
    """With 45 credits: four signals and a half."""
    wire = Wire(client)
    with Client(BASE_URL, over=wire) as nobody, nobody.connect("follower") as agent:
        with deps.database.write() as session:
            account = int(agent.user_id)
            before = credit_ledger.load_balance(session, account).available
            credit_ledger.earn(session, account, 45 - before, "test", {}, clock.now)
        yield agent


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def mirroring(agent: Client, vault: int, clock: Clock, told: list[str]) -> FundFollower:
    clock.now = MONDAY
    return FundFollower(
        agent, vault, ADDRESS, Decimal(500), PaperAccount(Decimal(1_000)),
        PaperAccount(Decimal(1_000)), board_price(agent), told.append, clock,
    )  # fmt: skip


def priced(deps: Deps, clock: Clock, market: str, mid: float) -> None:
    """The market's book now; those of the others are seen again."""
    with deps.database.write() as session:
        for state in session.query(MarketListingState):
            state.sampled_at = clock.now
            if state.token_id == market:
                state.mid = mid


def test_the_transcript__is_the_pages(
    mirroring: FundFollower, office: Office, deps: Deps, clock: Clock, vault: int, told: list[str]
) -> None:
    priced(deps, clock, SHARE, 150.0)
    mirroring.consent()
    office.publish(vault, weight="0.6", market=BTC)
    office.publish(vault, weight="0.1", market=ETH)
    office.publish(vault, weight="0.1", market=SHARE)
    mirroring.look()
    clock.pass_(hours=1)
    priced(deps, clock, BTC, 93_000.0)
    mirroring.look()
    clock.pass_(hours=1)
    priced(deps, clock, BTC, 90_000.0)
    office.publish(vault, weight="0.2", market=BTC)
    mirroring.look()
    clock.pass_(hours=1)
    priced(deps, clock, SHARE, 153.0)
    office.publish(vault, weight="0.15", market=SHARE)
    mirroring.look()
    transcript = PAGE.read_text().partition("```text\n")[2].partition("```")[0]
    assert told == transcript.splitlines()


def test_its_fills__are_counted_as_its_own_word_and_its_plans_cost_nothing_more(
    mirroring: FundFollower, office: Office, deps: Deps, clock: Clock, vault: int
) -> None:
    priced(deps, clock, SHARE, 150.0)
    mirroring.consent()
    signal = office.publish(vault, weight="0.6", market=BTC)
    mirroring.look()
    mirroring.look()
    mirror = mirroring.agent.fund.own_mirror(vault)
    assert [(one["signal_id"], one["source"]) for one in mirror["fills"]] == [
        (signal, "self_report")
    ]
    with deps.database.read() as session:
        held = credit_ledger.load_balance(session, int(mirroring.agent.user_id))
    assert held.available == 35


def test_new_rules__end_what_it_may_plan(
    mirroring: FundFollower, office: Office, vault: int, deps: Deps, clock: Clock
) -> None:
    priced(deps, clock, SHARE, 150.0)
    mirroring.consent()
    office.publish(vault, market=BTC)
    universe = [{"market": BTC, "min_order_usd": "10"}]
    rules = {"mandate": "Daily.", "max_leverage": "1", "universe": universe}
    office.post(f"/admin/fund/vaults/{vault}/rules", {"rules": rules})
    with pytest.raises(Refused) as refused:
        mirroring.look()
    assert refused.value.reason == "rules_changed"
    assert mirroring.own.units == {}
