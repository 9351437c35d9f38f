"""The state machine of what is to be sent, without a database and without a chain."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from core.chain.abi import function, hex_text
from core.chain.rpc import RpcUnreachableError
from core.db.repositories.keeper import TERMINAL, Intent
from core.domain.money import UsdcE6
from keeper import intents
from keeper.intents import NEXT, State, intent_of, restated
from keeper.observe import Numbers
from keeper.state import Head, Kind, VaultStatus, evidence_hash
from tests.unit.keeper.readings import FLOOR, HEAD, NOW, VAULT, reading

LATER = Head(HEAD.number + 3, "0x" + "cd" * 32, HEAD.at, HEAD.base_fee_wei)
WHEN = datetime.fromtimestamp(NOW, UTC)


def intent(kind: Kind = Kind.STOP, state: State = State.PLANNED, intent_id: int = 1) -> Intent:
    new = intent_of(reading(FLOOR).mark(kind, HEAD, "at_or_below_floor"), 84532)
    fields = {name: getattr(new, name) for name in type(new).__slots__}
    return Intent(**fields, id=intent_id, state=state, created_at=WHEN)


def numbers(worth: int | None, status: VaultStatus | None = VaultStatus.WORKING) -> Numbers:
    return Numbers(status, None if worth is None else UsdcE6(worth), FLOOR, "vault.worth")


# The table


def test_next__every_state_stands_in_the_table_and_only_ends_lead_nowhere() -> None:
    assert set(NEXT) == set(State)
    assert {state.value for state, after in NEXT.items() if not after} == set(TERMINAL)


def test_next__signed_bytes__can_only_be_broadcast() -> None:
    assert NEXT[State.SIGNED] == {State.BROADCAST}


# What an action says on chain


def test_intent_of__is_the_vaults_mark_with_worth_height_and_evidence() -> None:
    action = reading(FLOOR).mark(Kind.STOP, HEAD, "at_or_below_floor")
    new = intent_of(action, 84532)
    worth, as_of_block, evidence = function("MandateVault", "mark").decode_input(hex_text(new.data))
    assert (new.to, worth, as_of_block) == (VAULT, FLOOR, HEAD.number)
    assert evidence == evidence_hash(new.reason)
    assert new.reason["worth_usdc"] == "950.000000"


def test_evidence_hash__does_not_depend_on_the_order_of_keys() -> None:
    reason = reading(FLOOR).mark(Kind.STOP, HEAD, "at_or_below_floor").reason(84532)
    assert evidence_hash(reason) == evidence_hash(dict(reversed(reason.items())))


# Judged again before signing


def test_restated__stop_still_due__says_the_numbers_of_now() -> None:
    fresh = restated(intent(), numbers(FLOOR - 5), LATER)
    assert fresh is not None
    assert function("MandateVault", "mark").decode_input(hex_text(fresh.data))[:2] == (FLOOR - 5, LATER.number)
    assert (fresh.trigger_block_number, fresh.trigger_block_hash) == (LATER.number, LATER.hash)


@pytest.mark.parametrize("worth", [FLOOR + 1, None])
def test_restated__stop_whose_vault_recovered_or_became_unreadable__is_dropped(worth: int | None) -> None:
    assert restated(intent(), numbers(worth), LATER) is None


@pytest.mark.parametrize("status", [None, VaultStatus.STOPPED, VaultStatus.SETTLED])
def test_restated__vault_no_longer_working__is_dropped(status: VaultStatus | None) -> None:
    assert restated(intent(), numbers(FLOOR, status), LATER) is None


def test_restated__mark_whose_vault_reached_the_floor__leaves_it_to_the_stop() -> None:
    assert restated(intent(Kind.MARK), numbers(FLOOR), LATER) is None
    assert restated(intent(Kind.MARK), numbers(FLOOR + 1), LATER) is not None


# Driving


def test_advance__goes_from_planned_to_mined_in_one_tick() -> None:
    order = [State.PLANNED, State.SIGNED, State.BROADCAST, State.MINED]

    def step(of: Intent, now: datetime) -> Intent:
        at = order.index(State(of.state))
        return replace(of, state=order[min(at + 1, 3)])

    (after,) = intents.advance(step, [intent()], WHEN)
    assert after.state == State.MINED


def test_advance__stops_come_before_marks() -> None:
    seen: list[int] = []

    def step(of: Intent, now: datetime) -> Intent:
        seen.append(of.id)
        return of

    intents.advance(step, [intent(Kind.MARK, intent_id=1), intent(Kind.STOP, intent_id=2)], WHEN)
    assert seen == [2, 1]


def test_advance__a_node_that_fails_one_intent__does_not_hold_up_the_next() -> None:
    def step(of: Intent, now: datetime) -> Intent:
        if of.id == 1:
            raise RpcUnreachableError("eth_call", ["HTTP 503"])
        return replace(of, state=State.SUPERSEDED)

    after = intents.advance(step, [intent(intent_id=1), intent(intent_id=2)], WHEN)
    assert [one.state for one in after] == [State.PLANNED, State.SUPERSEDED]


def test_live_kinds__are_collected_by_vault() -> None:
    assert intents.live_kinds([intent(Kind.MARK), intent(Kind.STOP)]) == {VAULT: {Kind.MARK, Kind.STOP}}
