"""A mandate whose ledger is short of facts of the chain says so wherever it is shown, and shows no limit."""

from collections.abc import Callable
from typing import Any

import pytest

from core.db.repositories import quarantine
from core.db.repositories.mandates import find_mandate
from core.db.repositories.quarantine import NewHeld
from tests.integration.api.mandates.stage import Stage

WHY = (
    "The record is short of facts of the chain (1) from block 7 on; they are held back and not lost. "
    "The vault on chain is the truth meanwhile."
)
FACT = NewHeld(
    base_key="log:0x01:0",
    block_number=7,
    block_hash="0x" + "07" * 32,
    tx_hash="0x" + "01" * 32,
    log_index=0,
    address=None,
    topic=None,
    reason="database",
    note="no",
    fact=b"{}",
    tries=1,
)


@pytest.fixture
def short(stage: Stage) -> str:
    """A working mandate with one fact held back."""
    public_id = stage.working()
    with stage.database.write() as session:
        mandate = find_mandate(session, public_id)
        assert mandate is not None
        quarantine.hold(session, mandate.chain_id, quarantine.MANDATE, mandate.id, [FACT], stage.clock.now)
    return public_id


def test_its_limits__are_null(stage: Stage, short: str) -> None:
    used = stage.get(f"/mandates/{short}", stage.owner)["limits"]["used"]
    assert {number["basis"] for number in used.values()} == {"data_issue"}
    assert {number["value"] for number in used.values()} == {None}


PLACES: dict[str, Callable[[Stage, str], dict[str, Any]]] = {
    "the mandate": lambda stage, one: stage.get(f"/mandates/{one}", stage.owner)["mandate"],
    "its progress": lambda stage, one: stage.get(f"/mandates/{one}", stage.owner)["progress"],
    "a list": lambda stage, one: stage.get("/mandates", stage.owner)["mandates"][0],
    "its statement": lambda stage, one: stage.get(f"/mandates/{one}/statement", stage.owner),
    "the statement of all": lambda stage, one: stage.get("/me/statement", stage.owner)["mandates"][0],
}


@pytest.mark.parametrize("place", PLACES)
def test_wherever_it_is_shown__data_issue_says_why(stage: Stage, short: str, place: str) -> None:
    shown = PLACES[place](stage, short)
    assert (shown["data_issue"], shown["data_issue_reason"]) == (True, WHY)
