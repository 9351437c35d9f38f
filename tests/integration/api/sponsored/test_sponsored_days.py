"""What many accounts, owners, wallets and network addresses together may cost the sponsor in a day
(docs/sponsored-buys.md#the-day).
"""

from datetime import timedelta
from typing import Any

import pytest
from eth_account import Account
from sqlalchemy import text

from core.keeper.gas import NEW_BUYERS, SPONSORS, kind_of
from core.sponsored import days
from core.sponsored.rules import BUYS_A_DAY, FAILURES_A_DAY, FAILURES_OF_AN_ADDRESS
from core.times import instant_text, next_day, start_of_day
from tests.integration.api.conftest import reason
from tests.integration.api.sponsored.conftest import USDC, SponsoredStage
from tests.integration.api.sponsored.test_sponsored_gas import failed_buy


def another_wallet(stage: SponsoredStage) -> None:
    stage.buyer = Account.create()
    stage.chain.mint(stage.buyer.address, 1_000 * USDC)


def paid(stage: SponsoredStage, agent: dict[str, str]) -> dict[str, Any]:
    """A buy that is final, so that its wallet is known."""
    quote = stage.bought(agent)
    stage.processes[0].run()
    stage.be_safe()
    for _ in range(3):
        stage.processes[0].run()
    stage.tell_time()
    assert stage.state(agent, quote)["is_final"] is True
    return quote


def handed_in_before(stage: SponsoredStage, quote: dict[str, Any], count: int) -> None:
    """So many others of the same account, wallet and address were handed in a moment ago."""
    columns = (
        "chain_id, account_id, buyer, recipient, reserve_token, batch, treasury, amount_usdc_e6,"
        " fee_usdc_e6, credit_usdc_e6, tokens, min_tokens, salt, covers_wei, valid_before, expires_at,"
        " created_at, purchase_signature, fee_signature, accepted_at, requests, gas_scopes"
    )
    with stage.database.write() as session:
        session.execute(
            text(
                f"insert into sponsored_buy (id, buy_nonce, fee_nonce, {columns})"
                " select id || n, sha256((id || n || 'b')::bytea), sha256((id || n || 'f')::bytea),"
                f" {columns} from sponsored_buy, generate_series(1, :count) n where id = :id"
            ),
            {"id": quote["id"], "count": count},
        )


# A global budget


@pytest.mark.parametrize("scope", [SPONSORS, NEW_BUYERS])
def test_a_day_that_is_used_up__is_refused_before_anybody_signs(
    stage: SponsoredStage, agent: dict[str, str], scope: str
) -> None:
    quote = stage.prepared(agent)
    limits = stage.deps.limits
    budget = {
        SPONSORS: limits.sponsor_gas_wei_per_day,
        NEW_BUYERS: limits.sponsor_gas_wei_of_new_buyers_per_day,
    }[scope]
    stage.used_gas(scope, spent=budget)
    tomorrow = instant_text(next_day(stage.clock.now))
    for answer in (stage.prepare(agent), stage.hand_in(agent, stage.signed(quote))):
        assert reason(answer) == (503, "sponsor_unavailable")
        assert "is used up" in answer.text
        assert answer.json()["service"]["retry_at"] == tomorrow
    with stage.database.read() as session:
        assert session.scalar(text("select count(*) from outbox where kind = 'sponsored_buy'")) == 0
        taken = text("select count(*) from sponsored_buy where accepted_at is not null")
        assert session.scalar(taken) == 0
    assert stage.state(agent, quote)["state"] == "prepared"


def test_a_day_with_just_enough__takes_one_more_and_then_none(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    first, second = stage.prepared(agent), stage.prepared(agent)
    covers = max(int(one["gas"]["covers_wei"]) for one in (first, second))
    budget = stage.deps.limits.sponsor_gas_wei_per_day
    stage.used_gas(SPONSORS, spent=budget - covers)
    assert stage.hand_in(agent, stage.signed(first)).status_code == 202
    answer = stage.hand_in(agent, stage.signed(second))
    assert reason(answer) == (503, "sponsor_unavailable")
    stage.processes[0].run()
    assert stage.tokens(stage.buyer.address) > 0
    assert len(stage.processes[0].wire.sent) == 1


def test_what_new_wallets_use_up__leaves_the_day_to_those_that_paid_before(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    """Whoever makes wallets by the thousand stops other strangers, and nobody who paid before."""
    paid(stage, agent)
    known = stage.buyer
    stage.used_gas(NEW_BUYERS, spent=stage.deps.limits.sponsor_gas_wei_of_new_buyers_per_day)
    stage.bought(agent)
    another_wallet(stage)
    assert reason(stage.prepare(stage.agent())) == (503, "sponsor_unavailable")
    stage.buyer = known
    stage.prepared(agent)


# Persons, wallets, addresses


def test_the_51st_buy_of_a_day__is_refused_for_a_wallet_whatever_account_hands_it_in(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    handed_in_before(stage, stage.bought(agent), BUYS_A_DAY - 1)
    other = stage.agent()
    quote = stage.prepared(other, "5.000000")
    answer = stage.hand_in(other, stage.signed(quote))
    assert reason(answer) == (429, "rate_limited")
    assert f"the wallet {stage.buyer.address} already handed in 50" in answer.text
    another_wallet(stage)
    stage.bought(other)


def test_the_51st_buy_of_a_day__is_refused_for_an_owners_agents_together(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    first = stage.bought(agent)
    with stage.database.write() as session:
        session.execute(
            text("update sponsored_buy set gas_scopes = gas_scopes || array['sponsor:owner:77']")
        )
    handed_in_before(stage, first, BUYS_A_DAY - 1)
    another_wallet(stage)
    other = stage.agent()
    quote = stage.prepared(other)
    with stage.database.write() as session:
        session.execute(
            text(
                "insert into account (id, kind, name, created_at) values (77, 'owner', 'them', now())"
            )
        )
        session.execute(
            text("update account set owner_id = 77 where id = :id"), {"id": stage.account_id(quote)}
        )
    answer = stage.hand_in(other, stage.signed(quote))
    assert reason(answer) == (429, "rate_limited")
    assert "your owner's agents already handed in 50" in answer.text


def test_the_day__ends_at_midnight_utc_by_the_services_own_clock(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    """A quote of before midnight is the next day's first; a clock that is set back opens no new day."""
    midnight = next_day(stage.clock.now)
    stage.pass_time(int((midnight - stage.clock.now).total_seconds()) - 20)
    stage.index()
    stage.processes[0].run()
    stage.tell_time()
    handed_in_before(stage, stage.bought(agent), BUYS_A_DAY - 1)
    quote = stage.prepared(agent, "5.000000")
    body = stage.signed(quote)
    assert reason(stage.hand_in(agent, body)) == (429, "rate_limited")
    stage.clock.now = midnight - timedelta(microseconds=1)
    assert reason(stage.hand_in(agent, body)) == (429, "rate_limited")
    stage.clock.now = midnight
    stage.processes[0].run()
    assert stage.hand_in(agent, body).status_code == 202


def test_a_days_buys__are_counted_of_whom_they_are_bounded_for_and_not_of_all(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    """Each count read what everybody had bought that day, since all count in one scope."""
    stage.bought(agent)
    with stage.database.read() as session:
        (own,) = session.scalars(text("select gas_scopes from sponsored_buy"))
        found = days.accepted_since(session, own, start_of_day(stage.clock.now))
    assert {kind_of(scope): count for scope, count in found.items()} == {"account": 1, "buyer": 1}


def test_a_failure__counts_on_the_day_on_which_it_is_final(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    """Buys that were handed in right before midnight and failed after it counted on no day."""
    for _ in range(FAILURES_A_DAY):
        failed_buy(stage, agent)
    midnight = start_of_day(stage.clock.now)
    shift = "update {} = :at where {}"
    late, at = stage.signed(stage.prepared(agent)), midnight - timedelta(seconds=1)
    with stage.database.write() as session:
        accepted = shift.format("sponsored_buy set accepted_at", "accepted_at is not null")
        session.execute(text(accepted), {"at": at})
    assert reason(stage.hand_in(agent, late)) == (429, "rate_limited")
    with stage.database.write() as session:
        ended = shift.format("keeper_intent set updated_at", "state = 'reverted'")
        session.execute(text(ended), {"at": at})
    assert stage.hand_in(agent, late).status_code == 202


def test_failures_of_many_accounts__stop_the_network_address_that_they_come_from(
    stage: SponsoredStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = stage.agent()
    quote = stage.prepared(agent)
    monkeypatch.setattr(
        days,
        "failed_since",
        lambda _, scopes, __: {
            scope: FAILURES_OF_AN_ADDRESS for scope in scopes if "address" in scope
        },
    )
    answer = stage.hand_in(agent, stage.signed(quote))
    assert reason(answer) == (429, "rate_limited")
    assert "come from your network address" in answer.text
