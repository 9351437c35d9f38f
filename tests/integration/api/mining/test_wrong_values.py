"""What a value costs that is rejected as wrong, and how many a group has open (docs/mining.md#review)."""

from typing import Any

from sqlalchemy import text

from core.db.engine import Database
from tests.integration.api.conftest import Clock, connect
from tests.integration.api.earn.people import fund
from tests.integration.api.mining.conftest import CHAIN, CONTRACT, Mine, Rebuild, entry, key


def names(mine: Mine, *words: str) -> list[dict[str, Any]]:
    return [connect(mine.client, agent_name=word) for word in words]


def lie(mine: Mine, liar: dict[str, Any], *observers: dict[str, Any], value: str = "base") -> None:
    """A value that these see to be wrong, as does the operator."""
    made = mine.submit(liar, entry(value=value))
    for one in observers:
        mine.re_observe(one, made["entries"][0]["task_id"], "mismatch")
    mine.reject(made)


def holds(mine: Mine, agent: dict[str, Any]) -> tuple[int, int]:
    held = mine.credits(agent)
    return held["earned"], held["owed"]


def test_a_wrong_value__costs_its_submitter_what_its_mismatches_were_paid(mine: Mine) -> None:
    liar, one, other = names(mine, "liar", "one", "other")
    lie(mine, liar, one, other)
    assert [holds(mine, who) for who in (liar, one, other)] == [(0, 120), (60, 0), (60, 0)]


def test_a_wrong_value__that_nobody_looked_at__costs_nothing(mine: Mine) -> None:
    [liar] = names(mine, "liar")
    lie(mine, liar)
    assert holds(mine, liar) == (0, 0)


def test_what_it_costs__is_repaid_before_anybody_of_its_group_is_paid(mine: Mine) -> None:
    liar, friend, observer = names(
        mine, "liar", "friend", "observer"
    )  # of one address, but for the last
    lie(mine, liar, observer)
    mine.approve(mine.submit(friend, CHAIN))
    assert [holds(mine, who) for who in (liar, friend)] == [(0, 20), (0, 0)]


def own(mine: Mine, agent: dict[str, Any], path: str) -> list[dict[str, Any]]:
    """The one list of such an answer."""
    answer = mine.client.get(path, headers=key(agent)).json()
    return list(next(iter(answer.values())))


def owes(mine: Mine, agent: dict[str, Any]) -> tuple[int, int]:
    [shown] = own(mine, agent, "/earn/me")
    return shown["owed_credit"], shown["group_owed_credit"]


def test_what_it_costs__is_told_to_all_who_repay_it(mine: Mine) -> None:
    liar, friend, observer = who = names(mine, "liar", "friend", "observer")
    lie(mine, liar, observer)
    assert [owes(mine, one) for one in who] == [(60, 0), (0, 60), (0, 0)]
    mine.approve(mine.submit(friend, CHAIN))
    assert [owes(mine, one) for one in who] == [(20, 0), (0, 20), (0, 0)]
    mine.approve(mine.submit(friend, CONTRACT))
    assert [owes(mine, one) for one in who] == [(0, 0), (0, 0), (0, 0)]
    paid = [
        (one["paid_credit"], one["repaid_credit"]) for one in own(mine, friend, "/payouts/mine")
    ]
    assert paid == [(100, 20), (40, 40)]
    [seen] = own(mine, observer, "/payouts/mine")
    assert (seen["paid_credit"], seen["repaid_credit"]) == (60, 0)


def test_a_lie_and_its_own_re_observers__bring_nothing(mine: Mine) -> None:
    liar, *ring = names(mine, "liar", *(f"ring {n}" for n in range(5)))
    made = mine.submit(liar, entry(value="base"))
    for one in ring:
        refused = mine.client.post(
            f"/tasks/{made['entries'][0]['task_id']}/claim", headers=key(one)
        )
        assert refused.status_code == 403
    mine.reject(made)
    assert [holds(mine, who) for who in (liar, *ring)] == [(0, 0)] * 6


OPEN = ("website_url", "whitepaper_url", "source_code_url")


def urls(*numbers: int) -> list[dict[str, Any]]:
    return [entry(name, f"https://{n}.example/") for n, name in zip(numbers, OPEN, strict=False)]


def refused(mine: Mine, agent: dict[str, Any], *entries: dict[str, Any]) -> dict[str, Any]:
    body = {"exchange": "binance", "symbol": "LINK/USDT", "entries": list(entries)}
    answer = mine.client.post("/agent/mining/submit", json=body, headers=key(agent))
    assert answer.status_code == 409, answer.text
    assert answer.json()["error"] == "too_many_open"
    return dict(answer.json()) | {"Retry-After": answer.headers.get("Retry-After")}


def test_a_group_without_standing__has_so_many_values_open(mine_with: Rebuild) -> None:
    mine = mine_with(open_entries_without_standing=3)
    one, other = names(mine, "one", "other")  # of one address
    made = mine.submit(one, *urls(1, 2))
    said = refused(mine, other, *urls(3, 4))
    assert said["detail"] == (
        "Without standing, your group (your owner, network address or wallets) may have at most 3 "
        "open values: 2 wait for a review, 0 were rejected as wrong within 7 days, and this call "
        "adds 2; submit again when one is reviewed, or re-observe what others submitted."
    )
    assert said["Retry-After"] is None
    mine.submit(other, *urls(5))
    mine.reject(made, "out_of_date")  # and one more may be
    mine.submit(other, *urls(6))
    refused(mine, one, CHAIN)
    mine.set_apart(one)
    mine.submit(one, CHAIN)


def test_values_that_were_wrong_in_the_last_7_days__count_as_open(
    mine_with: Rebuild, clock: Clock
) -> None:
    mine = mine_with(open_entries_without_standing=2)
    [liar] = names(mine, "liar")
    lie(mine, liar)
    lie(mine, liar, value="polygon")
    assert "2 were rejected as wrong within 7 days" in refused(mine, liar, CHAIN)["detail"]
    clock.pass_(hours=7 * 24)
    refused(mine, liar, CHAIN)  # exactly 7 days ago still counts
    clock.pass_(seconds=1)
    mine.submit(liar, CHAIN)


def test_with_standing__wrong_values_are_bounded_too(
    mine_with: Rebuild, database: Database, clock: Clock
) -> None:
    mine = mine_with(open_entries_without_standing=1, wrong_entries_in_7_days=2)
    [liar] = names(mine, "liar")
    with database.write() as session:
        standing = "insert into earn_standing (account_id, verified_claims) values (:id, 3)"
        session.execute(text(standing), {"id": liar["user_id"]})
    made = [mine.submit(liar, one) for one in (*urls(1), entry(value="base"), entry(value="bsc"))]
    mine.reject(made[1])
    mine.reject(made[2])
    said = refused(mine, liar, CHAIN)
    assert said["Retry-After"] == str(7 * 24 * 3600)
    assert said["detail"] == (
        "2 values of your group (your owner, network address or wallets) were rejected as wrong "
        "within 7 days; at most 2 may be; submit again from 2026-11-28T12:00:00Z on, or re-observe "
        "what others submitted."
    )
    clock.pass_(hours=7 * 24, seconds=1)
    mine.submit(liar, CHAIN)


def test_whoever_is_funded_by_a_liar__is_not_kept_from_submitting_by_its_lies(
    mine_with: Rebuild, database: Database
) -> None:
    """Anybody may send a stranger 1 USDC: what waits is of both, what was wrong is the liar's alone."""
    mine = mine_with(wrong_entries_in_7_days=1)
    liar, honest = names(mine, "liar", "honest")
    mine.set_apart(honest)
    with database.write() as session:
        for number, who in enumerate((liar, honest), 1):
            fund(session, who["user_id"], "0x" + "ab" * 20, number)
    lie(mine, liar)
    refused(mine, liar, CHAIN)
    mine.submit(honest, CHAIN)


def test_values_beyond_those_that_may_be_wrong__pay_nobody_for_saying_so(
    mine_with: Rebuild, database: Database
) -> None:
    """A liar with standing may have had any number waiting when the first of them was rejected."""
    mine = mine_with(wrong_entries_in_7_days=1)
    liar, friend = names(mine, "liar", "friend")
    with database.write() as session:
        standing = "insert into earn_standing (account_id, verified_claims) values (:id, 3)"
        session.execute(text(standing), {"id": liar["user_id"]})
    made = [mine.submit(liar, one) for one in (*urls(1), entry(value="base"))]
    for one in made:
        mine.re_observe(friend, one["entries"][0]["task_id"], "mismatch")
    for one in made:
        mine.reject(one)
    assert [holds(mine, who) for who in (liar, friend)] == [(0, 60), (60, 0)]
    own = mine.client.get("/tasks/my/claims", headers=key(friend)).json()["claims"]
    assert [one["status"] for one in own] == ["verified", "paid"]
