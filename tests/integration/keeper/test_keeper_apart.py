"""Nothing that one vault, one row or the record says keeps the keeper from the other vaults; and a
stop has a second way.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update
from sqlalchemy.exc import OperationalError

from core.blocks.tables import Vault
from core.chain.abi import call_by_signature
from core.hexes import bytes_of
from core.keeper import intents as rows
from core.keeper.intents import NewIntent, NewVaultMark
from core.keeper.tables import KeeperEnded
from core.keeper.views import watched_vaults
from core.mandate.tables import Mandate, ReplacedTerms
from core.money import UsdcE6
from keeper import tick
from keeper.last_resort import UNKNOWN_S
from tests.integration.keeper.conftest import (
    PRICE_AT_FLOOR,
    SWALLOWS,
    USDC,
    KeeperProcess,
    Stage,
    intent,
)
from tests.personas import DEPLOYER, KEEPER, STRANGER

ABSURD = 2**255
STEP_S = 40


def a_mark(stage: Stage, worth_usdc_e6: int | None = 960 * USDC, **changes: Any) -> NewVaultMark:
    fields: dict[str, Any] = {
        "chain_id": stage.chain.chain_id,
        "vault": stage.vault,
        "block_number": 5,
        "block_hash": "0x" + "ab" * 32,
        "worth_usdc_e6": worth_usdc_e6,
        "floor_usdc_e6": UsdcE6(950 * USDC),
        "source": "vault.worth",
    }
    return NewVaultMark(**fields | changes)


# Rows


def test_a_sent_mark_of_an_absurd_worth__blinds_nobody(stage: Stage) -> None:
    row = intent(bytes_of(stage.vault), kind="mark", state="done", trigger=1, at=stage.now())
    row.reason = {"worth_usdc": f"{ABSURD}.000000"}
    with stage.database.write() as session:
        session.add(row)
    stage.set_price(PRICE_AT_FLOOR)
    stage.keeper().run()
    assert stage.status() == "stopped"


@pytest.mark.parametrize(
    "bad", [{"worth_usdc_e6": 10**80}, {"block_number": 2**63}, {"source": "a\0b"}]
)
def test_marks__one_that_the_database_refuses__keeps_no_other_out(
    stage: Stage, bad: dict[str, Any]
) -> None:
    marks = [
        a_mark(stage),
        *(a_mark(stage, **bad) for _ in range(2)),
        *(a_mark(stage) for _ in range(5)),
    ]
    with stage.database.write() as session:
        rows.add_vault_marks(session, marks, stage.now())
    assert [mark.worth_usdc_e6 for mark in stage.marks()].count(960 * USDC) == 6
    kept = [
        (mark.worth_usdc_e6, mark.source) for mark in stage.marks() if mark.worth_usdc_e6 is None
    ]
    assert kept == ([(None, rows.NOT_KEPT)] * 2 if bad.keys() != {"block_number"} else [])


def new_intent(stage: Stage, **changes: Any) -> NewIntent:
    fields: dict[str, Any] = {
        "chain_id": stage.chain.chain_id,
        "subject": stage.vault.lower(),
        "vault": stage.vault,
        "kind": "stop",
        "role": "keeper",
        "to": stage.vault,
        "data": b"",
        "trigger_block_number": 1,
        "trigger_block_hash": "0x" + "ab" * 32,
        "reason": {"why": "at_or_below_floor"},
    }
    return NewIntent(**fields | changes)


def test_intents__one_that_the_database_refuses__keeps_no_other_out(stage: Stage) -> None:
    with stage.database.write() as session:
        assert (
            rows.add_intent(session, new_intent(stage, reason={"why": "a\0b"}), 1, stage.now())
            is None
        )
        assert rows.add_intent(session, new_intent(stage), 1, stage.now()) is not None


# Whom it watches


@pytest.mark.parametrize("status", ["draft", "cancelled", "stopped", "settled"])
def test_whatever_the_record_says__a_vault_of_ours_is_stopped_at_its_floor(
    stage: Stage, status: str
) -> None:
    with stage.database.write() as session:
        session.execute(update(Mandate).values(status=status))
    stage.set_price(PRICE_AT_FLOOR)
    stage.keeper().run()
    assert stage.status() == "stopped"


def test_a_strangers_vault__is_not_watched(stage: Stage) -> None:
    with stage.database.write() as session:
        session.execute(update(Vault).values(mandate_id=None))
    assert stage.keeper().run().vaults == 0


@pytest.mark.slow
def test_a_vault_that_ended__drops_out_when_the_record_has_said_so_for_an_hour(
    stage: Stage,
) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    keeper = stage.keeper()
    keeper.run()
    assert keeper.run().vaults == 1
    stage.record("stopped", rested=True)
    keeper.run()
    assert (keeper.run().vaults, stage.keeper().tick.mode) == (0, "sending")
    with stage.database.read() as session:
        assert [row.status for row in session.scalars(select(KeeperEnded))] == ["stopped"]
        in_grace = stage.now() + timedelta(seconds=stage.ends_at - stage.chain.now)
        assert len(watched_vaults(session, stage.chain.chain_id, in_grace)) == 1, "it may owe a fee"


def test_a_vault_that_ended__drops_out_at_the_next_tick_when_the_database_failed_once(
    stage: Stage, monkeypatch: Any
) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    keeper = stage.keeper()
    keeper.run()
    stage.record("stopped", rested=True)

    def lost(*_: Any) -> None:
        monkeypatch.undo()
        raise OperationalError("insert", {}, Exception("connection lost"))

    monkeypatch.setattr(tick, "add_ended", lost)
    with pytest.raises(OperationalError):
        keeper.run()
    keeper.run()
    assert keeper.run().vaults == 0


def test_the_floor__is_of_the_terms_that_the_vault_was_made_of(stage: Stage) -> None:
    """Also where the draft was written again in the moment in which the vault came."""
    with stage.database.write() as session:
        mandate = session.scalars(select(Mandate)).one()
        of_vault = ReplacedTerms(
            digest=mandate.terms_digest,
            mandate_id=mandate.id,
            budget_usdc_e6=mandate.budget_usdc_e6,
            stop_floor_bps=mandate.stop_floor_bps,
            ends_at=mandate.ends_at,
            replaced_at=stage.now(),
        )
        session.add(of_vault)
        mandate.terms_digest, mandate.stop_floor_bps = b"\7" * 32, 9_000
    stage.set_price(PRICE_AT_FLOOR)
    stage.keeper().run()
    assert stage.status() == "stopped"


# The second way


class SilentSigner:
    """A remote signer that is down."""

    address = STRANGER.address

    def require_key(self) -> None:
        raise OSError("no route to the signer")

    def sign_transaction(self, transaction: dict[str, Any]) -> bytes:
        raise OSError("no route to the signer")

    def sign_digest(self, digest: bytes) -> str:
        raise OSError("no route to the signer")


def test_the_stops_signer_is_down__the_keepers_key_stops(stage: Stage) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    keeper = stage.keeper(stop_signer=SilentSigner())
    keeper.run()
    assert stage.status() == "stopped"
    assert stage.receipt_of(stage.txs()[-1]).sender == KEEPER.address


def test_a_node_that_keeps_bytes_to_itself__delays_no_stop(stage: Stage) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    stage.keeper(paths=(SWALLOWS, "")).run()
    assert stage.status() == "stopped"


def test_a_node_that_keeps_bytes_to_itself__delays_no_mark(stage: Stage) -> None:
    stage.set_price(1_100_000)
    stage.keeper(paths=(SWALLOWS, "")).run()
    assert (stage.keeper_nonce(), dict(stage.states())["mark"]) == (1, "mined")


def later(stage: Stage, seconds: int) -> None:
    stage.pass_time(stage.chain.now + seconds)


def run_for(stage: Stage, keeper: KeeperProcess, seconds: int) -> None:
    """Ticks without a gap that this process would notice."""
    for _ in range(-(-seconds // STEP_S)):
        later(stage, STEP_S)
        keeper.run()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("last_worth", "is_removed"), [(969 * USDC, True), (969 * USDC + 1, False)]
)
def test_unknown_for_long__the_agent_is_removed_only_near_the_floor(
    stage: Stage, last_worth: int, is_removed: bool
) -> None:
    """Floor 950: 2 % above it is 969."""
    with stage.database.write() as session:
        rows.add_vault_marks(session, [a_mark(stage, last_worth)], stage.now())
    stage.chain.anvil.rpc.call(
        "anvil_setCode", [stage.chain.contracts["test_venue_adapter"], "0xfe"]
    )
    keeper = stage.keeper(pauser=DEPLOYER.signer, clock=stage.chain_clock)
    keeper.run()
    run_for(stage, keeper, UNKNOWN_S - STEP_S)
    assert "remove_agent" not in dict(stage.states())
    run_for(stage, keeper, STEP_S)
    assert (int(stage.chain.reader.agent(stage.vault), 16) == 0) is is_removed
    assert stage.status() == "working"


@pytest.mark.slow
def test_a_removal_that_could_not_be_sent__is_not_sent_once_the_worth_is_known_again(
    stage: Stage,
) -> None:
    """Nothing measures it again: the agent was removed from a sound vault."""
    with stage.database.write() as session:
        rows.add_vault_marks(session, [a_mark(stage, 951 * USDC)], stage.now())
    rpc, adapter = stage.chain.anvil.rpc, stage.chain.contracts["test_venue_adapter"]
    code, wei = rpc.call("eth_getCode", [adapter, "latest"]), hex(10**20)
    rpc.call("anvil_setCode", [adapter, "0xfe"])
    rpc.call("anvil_setBalance", [DEPLOYER.address, "0x0"])
    keeper = stage.keeper(pauser=DEPLOYER.signer, clock=stage.chain_clock)
    keeper.run()
    run_for(stage, keeper, UNKNOWN_S)
    rpc.call("anvil_setCode", [adapter, code])
    rpc.call("anvil_setBalance", [DEPLOYER.address, wei])
    run_for(stage, keeper, STEP_S)
    assert dict(stage.states())["remove_agent"] == "superseded"
    assert int(stage.chain.reader.agent(stage.vault), 16) != 0


@pytest.mark.slow
def test_without_a_pausers_key__nothing_is_done_about_the_unknown(stage: Stage) -> None:
    with stage.database.write() as session:
        rows.add_vault_marks(session, [a_mark(stage, 951 * USDC)], stage.now())
    stage.chain.anvil.rpc.call(
        "anvil_setCode", [stage.chain.contracts["test_venue_adapter"], "0xfe"]
    )
    keeper = stage.keeper(clock=stage.chain_clock)
    run_for(stage, keeper, UNKNOWN_S + STEP_S)
    assert stage.states() == []


# Marks


@pytest.mark.slow
def test_a_vault_whose_price_is_wiggled__sends_so_many_marks_a_day_and_is_still_stopped(
    stage: Stage,
) -> None:
    keeper = stage.keeper(marks_a_day=2)
    for price in (1_200_000, 900_000, 1_200_000, 900_000):
        stage.set_price(price)
        keeper.run()
        keeper.run()
    assert [kind for kind, _ in stage.states()] == ["mark", "mark"]
    stage.set_price(PRICE_AT_FLOOR)
    keeper.run()
    assert stage.status() == "stopped"


# Nonces


def test_only_the_lowest_nonce__is_offered_again(stage: Stage) -> None:
    with stage.no_blocks():
        keeper = stage.keeper()
        with stage.database.write() as session:
            for n in range(3):
                rows.add_intent(
                    session, replace(new_intent(stage), **_acceptance(stage, n)), 1, stage.now()
                )
        keeper.run()
        assert [tx.nonce for tx in stage.txs()] == [0, 1, 2]
        stage.chain.anvil.rpc.call("anvil_dropAllTransactions")
        stage.chain.anvil.mine(4)
        keeper.run()
    assert [(tx.nonce, tx.attempt) for tx in stage.txs()] == [(0, 1), (1, 1), (2, 1), (0, 2)]


def _acceptance(stage: Stage, n: int) -> dict[str, Any]:
    """Anything that the chain takes from the keeper's key: an approval of USDC."""
    data = bytes_of(call_by_signature("approve(address,uint256)", [stage.vault, n]))
    return {
        "subject": f"test:{n}",
        "vault": None,
        "kind": "test",
        "to": stage.chain.contracts["usdc"],
        "data": data,
    }
