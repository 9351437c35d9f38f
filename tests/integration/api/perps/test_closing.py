"""The end of a leg: from the mandate's stop to the venue, through the SDK, and into the record."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from eth_account import Account
from sqlalchemy import text
from sqlalchemy.exc import DisconnectionError

from core.custody.keys import CustodySigner, KeyRing
from core.db.engine import Database, WriteSession
from core.jobs.rules import ATTENTION
from core.perps.hyperliquid_desk import HyperliquidDesk
from core.perps.rules.closing import SLOWEST_RETRY_S, STUCK_TRIES
from core.perps.rules.orders import LIFE, SKEW_S, OrderAnswer, VenueOrder, cloid_of
from keeper import perps_closing
from tests.hl_exchange import NO_MATCH
from tests.integration.api.perps.legs import WALLET, LegStage

FOR_GOOD = LIFE.total_seconds() + SKEW_S


class KilledError(BaseException):
    """The process ends here."""


# What is sent


def test_while_the_mandate_works__nothing_is_sent(leg: LegStage) -> None:
    leg.holds(BTC="0.5")
    assert leg.run() == {"due": 0, "tried": 0, "over": 0}
    assert (leg.rows, leg.exchange.orders) == ([], [])


def test_at_the_stop_line__positions_are_closed_and_each_order_is_two_rows(leg: LegStage) -> None:
    leg.holds(BTC="0.5")
    leg.stop()
    assert leg.run() == {"due": 1, "tried": 1, "over": 1}
    cloid = cloid_of(leg.mandate_id, 1)
    assert leg.rows == [
        (
            "hl_order",
            {
                "seq": 1,
                "status": "sending",
                "cloid": cloid,
                "coin": "BTC",
                "side": "sell",
                "size": "0.5",
                "notional_usd": "29700.000000",
                "by": "owner",
                "reduce_only": True,
                "why": "stop_line",
            },
        ),
        (
            "hl_order_result",
            {
                "seq": 1,
                "status": "accepted",
                "cloid": cloid,
                "avg_px": "60000",
                "total_sz": "0.5",
                "oid": 1,
            },
        ),
        ("hl_stop_line", {"status": "closed"}),
    ]
    assert leg.stage.faults(leg.mandate_id) == []


def test_what_is_sent__only_reduces_and_is_within_the_allowance(leg: LegStage) -> None:
    leg.holds(BTC="0.5", ETH="-2")
    leg.stop()
    leg.run()
    sent = [(one["coin"], one["b"], one["p"], one["s"], one["r"]) for one in leg.exchange.orders]
    assert sent == [("BTC", False, "59400", "0.5", True), ("ETH", True, "3030", "2", True)]
    assert not any(leg.holder.positions.values())


def test_a_leg_on_a_market_that_builders_deployed__is_closed_there(leg: LegStage) -> None:
    leg.unbind()
    leg.bind(dex="xyz")
    leg.holder.positions = {"xyz:BTC": Decimal("0.1"), "BTC": Decimal("3")}
    leg.stop()
    leg.run()
    assert [one["a"] for one in leg.exchange.orders] == [120_000]
    assert leg.holder.positions == {"xyz:BTC": 0, "BTC": 3}


@pytest.mark.parametrize(("by", "why"), [("public", "stop_line"), ("owner", "stopped")])
def test_an_order__says_why_it_closes(leg: LegStage, by: str, why: str) -> None:
    leg.holds(BTC="0.5")
    leg.stop(by)
    leg.run()
    assert leg.rows[0][1]["why"] == why


def test_a_mandate_that_is_past_its_end__is_closed_before_anybody_settles_it(leg: LegStage) -> None:
    leg.holds(BTC="0.5")
    leg.later(31 * 86_400)
    leg.run()
    assert leg.rows[0][1]["why"] == "ended"
    assert leg.words[-1] == ("stop_line", "closed")


def test_an_account_without_positions__is_closed_at_once(leg: LegStage) -> None:
    leg.stop()
    leg.run()
    assert leg.rows == [("hl_stop_line", {"status": "closed"})]


def test_closed__is_final(leg: LegStage) -> None:
    leg.stop()
    leg.run()
    leg.holds(BTC="1")
    assert leg.later(900).run()["due"] == 0
    assert leg.exchange.orders == []


def test_what_the_owner_reads__says_that_positions_were_closed(leg: LegStage) -> None:
    leg.stop()
    leg.run()
    found = leg.stage.get(leg.path, leg.stage.owner)
    assert found["note"].startswith(
        "The mandate has ended, and the account's positions were closed"
    )


# What goes wrong


@pytest.mark.slow
def test_a_partial_fill__is_pending_and_the_rest_is_closed_by_the_next_try(leg: LegStage) -> None:
    leg.holds(BTC="0.5")
    leg.exchange.liquidity = Decimal("0.2")
    leg.stop()
    leg.run()
    assert leg.rows[-1] == ("hl_stop_line", {"status": "pending", "transient": True})
    leg.exchange.liquidity = None
    leg.later().run()
    results = [(one["total_sz"]) for word, one in leg.rows if word == "hl_order_result"]
    assert (results, leg.words[-1]) == (["0.2", "0.3"], ("stop_line", "closed"))


def test_a_rejected_order__is_followed_by_another_and_not_before_the_next_try(
    leg: LegStage,
) -> None:
    leg.holds(BTC="0.5")
    leg.exchange.refuses = NO_MATCH
    leg.stop()
    leg.run()
    assert leg.words == [
        ("order", "sending"),
        ("order_result", "rejected"),
        ("stop_line", "pending"),
    ]
    leg.exchange.refuses = None
    assert leg.later(29).run()["due"] == 0
    leg.later(1).run()
    assert [one["seq"] for word, one in leg.rows if word == "hl_order"] == [1, 2]
    assert leg.words[-1] == ("stop_line", "closed")


def test_an_order_that_was_taken_and_not_answered__is_found_by_its_cloid_and_not_sent_again(
    leg: LegStage,
) -> None:
    leg.holds(BTC="0.5")
    leg.exchange.lies["exchange"] = b"not json"
    leg.stop()
    leg.run()
    assert leg.words == [
        ("order", "sending"),
        ("order_result", "unknown"),
        ("order_result", "accepted"),
        ("stop_line", "closed"),
    ]
    assert leg.rows[2][1] == {
        "seq": 1,
        "status": "accepted",
        "cloid": cloid_of(leg.mandate_id, 1),
        "total_sz": "0.5",
        "oid": 1,
    }
    assert len(leg.exchange.orders) == 1


def test_an_order_that_was_lost__is_sent_anew_only_when_it_can_no_longer_arrive(
    leg: LegStage,
) -> None:
    leg.holds(BTC="0.5")
    leg.exchange.is_deaf = True
    leg.stop()
    leg.run()
    leg.exchange.is_deaf = False
    leg.later(FOR_GOOD - 1).run()
    assert leg.words == [
        ("order", "sending"),
        ("order_result", "unknown"),
        ("stop_line", "pending"),
    ]
    leg.later(60).run()
    assert leg.words[3:] == [
        ("order_result", "rejected"),
        ("order", "sending"),
        ("order_result", "accepted"),
        ("stop_line", "closed"),
    ]


def test_an_order_that_arrives_too_late__is_not_taken(leg: LegStage) -> None:
    leg.holds(BTC="0.5")
    caught: list[dict[str, Any]] = []
    leg.exchange.before, leg.exchange.is_deaf = caught.append, True
    leg.stop()
    leg.run()
    leg.exchange.is_deaf = False
    leg.later(LIFE.total_seconds() + 1)
    assert leg.exchange.exchange(caught[0])["response"] == "Action expired."


@pytest.mark.parametrize("lie", ["userRole", "clearinghouseState", "meta", "allMids"])
def test_a_venue_that_lies_or_is_down__leaves_the_closing_pending(leg: LegStage, lie: str) -> None:
    leg.holds(BTC="0.5")
    leg.exchange.lies[lie] = b"[]"
    leg.stop()
    leg.run()
    leg.later().run()
    assert leg.rows == [("hl_stop_line", {"status": "pending", "transient": True})]
    leg.exchange.lies.clear()
    leg.later(60).run()
    assert leg.words[-1] == ("stop_line", "closed")


def test_a_venue_that_nobody_reaches__leaves_the_closing_pending(leg: LegStage) -> None:
    leg.holds(BTC="0.5")
    leg.stop()
    leg.run(HyperliquidDesk("http://127.0.0.1:1", answer_s=0.5))
    assert leg.rows == [("hl_stop_line", {"status": "pending", "transient": True})]


def test_a_venue_that_stays_away__asks_for_attention_until_it_is_back(leg: LegStage) -> None:
    leg.holds(BTC="0.5")
    leg.exchange.lies["userRole"] = b"[]"
    leg.stop()
    for _ in range(STUCK_TRIES - 1):
        assert ATTENTION not in leg.run()
        leg.later(SLOWEST_RETRY_S)
    assert leg.run()[ATTENTION].startswith("1 perpetuals legs of ended mandates")
    leg.exchange.lies.clear()
    assert ATTENTION not in leg.later(SLOWEST_RETRY_S).run()


def test_a_market_that_cannot_be_read__holds_up_no_other_position(leg: LegStage) -> None:
    leg.holds(BTC="0.5", ETH="1")
    leg.exchange.mids["BTC"] = "NaN"
    leg.stop()
    leg.run()
    assert [one["coin"] for one in leg.exchange.orders] == ["ETH"]
    assert leg.words[-1] == ("stop_line", "pending")


def test_a_lost_key__is_said_in_the_record_and_to_the_owner_once(leg: LegStage) -> None:
    leg.holds(BTC="0.5")
    leg.holder.agents.clear()
    leg.stop()
    leg.run()
    leg.later().run()
    assert leg.rows == [("hl_stop_line", {"status": "pending", "key_lost": True})]
    alerts = leg.stage.get("/me/alerts", leg.stage.owner)["alerts"]
    assert [one["kind"] for one in alerts].count("hl_key_lost") == 1
    leg.holder.agents.add(WALLET.address.lower())
    leg.later(60).run()
    assert leg.words[-1] == ("stop_line", "closed")


def test_a_key_that_is_lost_between_reading_and_order__is_found_by_the_next_try(
    leg: LegStage,
) -> None:
    leg.holds(BTC="0.5")
    leg.exchange.before = lambda _: leg.holder.agents.clear()
    leg.stop()
    leg.run()
    leg.later(30).run()
    assert leg.words == [
        ("order", "sending"),
        ("order_result", "rejected"),
        ("stop_line", "pending"),
        ("stop_line", "pending"),
    ]
    assert leg.rows[-1][1] == {"status": "pending", "key_lost": True}


def test_a_stop_that_is_rolled_back__rests_the_closing_until_the_mandate_ends(
    leg: LegStage,
) -> None:
    leg.holds(BTC="0.5")
    leg.exchange.refuses = NO_MATCH
    leg.stop()
    leg.run()
    leg.roll_back()
    leg.exchange.refuses = None
    assert leg.later(60).run() == {"due": 0, "tried": 0, "over": 0}
    leg.stop()
    assert leg.run()["over"] == 1


def test_more_positions_than_a_try_takes__are_all_closed_in_turn(
    leg: LegStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(perps_closing, "ORDERS_A_TURN", 1)
    leg.holds(BTC="0.5", ETH="1")
    leg.stop()
    leg.run()
    assert leg.words[-1] == ("stop_line", "pending")
    leg.later().run()
    assert leg.words[-1] == ("stop_line", "closed")


def test_after_an_order_without_an_answer__no_other_is_sent(leg: LegStage) -> None:
    leg.holds(BTC="0.5", ETH="1")
    leg.exchange.is_deaf = True
    leg.stop()
    leg.run()
    assert [word for word, _ in leg.words].count("order") == 1


def test_a_key_that_cannot_be_opened__writes_no_order(leg: LegStage) -> None:
    leg.holds(BTC="0.5")
    leg.stop()
    other = CustodySigner(KeyRing([b"\x08" * 32]))
    leg.keeper(signer=other).run(leg.stage.clock.now)
    assert leg.rows == [("hl_stop_line", {"status": "pending", "transient": True})]


# Whose key it is


def test_a_unified_account__is_closed_although_its_worth_is_unknown(leg: LegStage) -> None:
    leg.holder.mode = "unifiedAccount"
    leg.holds(BTC="0.5")
    leg.stop()
    leg.run()
    assert leg.words[-1] == ("stop_line", "closed")


def test_a_key_that_the_venue_takes_for_another_account__sends_nothing(leg: LegStage) -> None:
    leg.holds(BTC="0.5")
    other = leg.exchange.holder("0x" + "ab" * 20)
    other.agents, leg.holder.agents = leg.holder.agents, set()
    other.positions["BTC"] = Decimal("7")
    leg.stop()
    leg.run()
    assert leg.rows == [("hl_stop_line", {"status": "pending", "key_lost": True})]
    assert (other.positions["BTC"], leg.exchange.orders) == (7, [])


def test_a_leg_with_the_agents_own_key__is_left_open(leg: LegStage) -> None:
    leg.unbind()
    own = Account.create().address
    leg.bind(agent_address=own)
    leg.holder.agents.add(own.lower())
    leg.holds(BTC="0.5")
    leg.stop()
    assert leg.run()["over"] == 1
    assert leg.rows == [("hl_stop_line", {"status": "left_open", "why": "no_key"})]
    assert leg.stage.get(leg.path, leg.stage.owner)["note"].startswith(
        "The mandate has ended. The keeper has no key"
    )


def test_a_leg_that_was_unbound_before_the_stop__is_not_closed(leg: LegStage) -> None:
    leg.holds(BTC="0.5")
    leg.unbind()
    leg.stop()
    assert leg.run()["due"] == 0


def test_a_leg_that_is_unbound_meanwhile__is_left_open(leg: LegStage) -> None:
    leg.holds(BTC="0.5")
    leg.exchange.liquidity = Decimal("0.2")
    leg.stop()
    leg.run()
    leg.unbind()
    leg.later().run()
    assert leg.rows[-1] == ("hl_stop_line", {"status": "left_open", "why": "unbound"})
    assert len(leg.exchange.orders) == 1


# Kills and spares


@dataclass
class Dying(HyperliquidDesk):
    """Ends the process before or after the venue took the order."""

    url: str
    has_sent: bool

    def __post_init__(self) -> None:
        super().__init__(self.url, answer_s=1.0)

    def send(self, order: VenueOrder, cloid: str, **rest: Any) -> OrderAnswer:
        if self.has_sent:
            super().send(order, cloid, **rest)
        raise KilledError


@pytest.mark.parametrize("has_sent", [True, False])
def test_a_keeper_that_is_killed_between_the_rows__leaves_an_order_that_is_never_sent_twice(
    leg: LegStage, has_sent: bool
) -> None:
    leg.holds(BTC="0.5")
    leg.stop()
    with pytest.raises(KilledError):
        leg.run(Dying(leg.url, has_sent))
    assert leg.words == [("order", "sending")]
    for _ in range(8):
        leg.later(15).run()
    cloids = [one["c"] for one in leg.exchange.orders]
    assert cloids == [cloid_of(leg.mandate_id, 1 if has_sent else 2)]
    assert leg.words[-1] == ("stop_line", "closed")
    results = [status for word, status in leg.words if word == "order_result"]
    assert results[0] == ("accepted" if has_sent else "rejected")
    assert leg.stage.faults(leg.mandate_id) == []


class LosingDatabase:
    """Its job's lock is lost after the first write."""

    def __init__(self, database: Database) -> None:
        self.read = database.read
        self._writes = iter([database.write])

    def write(self) -> AbstractContextManager[WriteSession]:
        write = next(self._writes, None)
        if write is None:
            raise DisconnectionError("lost")
        return write()


def test_a_run_that_lost_the_jobs_lock__sends_nothing(leg: LegStage) -> None:
    leg.holds(BTC="0.5")
    leg.stop()
    with pytest.raises(DisconnectionError):
        leg.keeper(database=LosingDatabase(leg.stage.database)).run(leg.stage.clock.now)
    assert (leg.rows, leg.exchange.orders) == ([], [])


def test_a_keeper_that_takes_over_while_an_order_is_under_way__waits_for_it(leg: LegStage) -> None:
    leg.holds(BTC="0.5")
    leg.stop()
    seen: list[dict[str, Any]] = []

    def second(_: Any) -> None:
        leg.exchange.before = lambda _: None
        seen.append(leg.later(16).run())
        leg.stage.clock.pass_(seconds=-16)

    leg.exchange.before = second
    leg.run()
    assert seen == [{"due": 1, "tried": 1, "over": 0}]
    assert [one["c"] for one in leg.exchange.orders] == [cloid_of(leg.mandate_id, 1)]
    assert ("order_result", "accepted") in leg.words


def test_orders__are_numbered_by_the_mandate_and_no_number_comes_twice(leg: LegStage) -> None:
    leg.holds(BTC="1", ETH="1")
    leg.exchange.liquidity = Decimal("0.5")
    leg.stop()
    leg.run()
    leg.later().run()
    with leg.stage.database.read() as session:
        seqs = session.execute(text("select seq, outcome from perps_order order by seq")).all()
    assert [tuple(row) for row in seqs] == [(n, "accepted") for n in (1, 2, 3, 4)]
