"""GET /mandate-wallet/me/alerts: an owner reads its own alerts, the newest first, withdrawn ones
included.
"""

from typing import Any

from core.alerts import queries as alerts
from core.mandate import queries as mandates
from core.mandate.queries import owners_of
from core.mandate.rules import events as ev
from core.mandate.rules.new_rows import row_from_event
from tests.integration.api.mandates.stage import CHAIN_ID, KEEPER, Stage, address


def keeper_proposed(stage: Stage, mandate_id: str, n: int) -> None:
    """The indexer found a log of the factory in block `n`, and tells the mandate's owner."""
    ref = ev.LogRef(
        CHAIN_ID,
        n,
        "0x" + f"{n:064x}",
        int(stage.clock.now.timestamp()),
        "0x" + f"{n:064x}",
        0,
        address(1),
    )
    note = row_from_event(
        ev.KeeperProposed(KEEPER, 1_800_000_000), ref, KEEPER, address(2), None, usdc=address(3)
    )
    assert note is not None
    with stage.database.write() as session:
        mandate = mandates.find_mandate(session, mandate_id)
        assert mandate is not None
        payload = {key: note.payload[key] for key in ("event", "args")}
        alerts.add(
            session,
            alerts.KEEPER_CHANGE,
            owners_of(session, [mandate.id]),
            note,
            payload,
            stage.clock.now,
        )


def read(stage: Stage, **query: Any) -> dict[str, Any]:
    """Without that the stage's agent linked its wallet."""
    found = stage.get("/me/alerts", stage.owner, **query)
    return found | {
        "alerts": [
            alert for alert in found["alerts"] if alert["kind"] != alerts.AGENT_WALLET_LINKED
        ]
    }


def test_an_alert__says_what_changed_and_where(stage: Stage) -> None:
    keeper_proposed(stage, stage.working(), 7)
    (alert,) = read(stage)["alerts"]
    assert alert.pop("id") > 0
    assert alert == {
        "kind": "keeper_change",
        "message": (
            "The account that may mark and stop your vaults has changed, or is about to. Only "
            "you can withdraw."
        ),
        "next_step": "If you do not expect this change, stop your mandates with stop-call and withdraw.",
        "mandate_id": None,
        "event": "KeeperProposed",
        "args": {"proposedKeeper": KEEPER, "eta": "1800000000"},
        "chain_id": CHAIN_ID,
        "tx_hash": "0x" + f"{7:064x}",
        "log_index": 0,
        "block_number": 7,
        "at": "2026-11-21T12:00:00Z",
        "withdrawn_at": None,
    }


def test_the_same_log_again__is_no_second_alert(stage: Stage, mandate_id: str) -> None:
    keeper_proposed(stage, mandate_id, 7)
    keeper_proposed(stage, mandate_id, 7)
    assert len(read(stage)["alerts"]) == 1


def test_an_alert_that_a_reorg_took_back__stays_and_says_so(stage: Stage) -> None:
    keeper_proposed(stage, stage.working(), 7)
    with stage.database.write() as session:
        alerts.withdraw(session, CHAIN_ID, ["0x" + f"{7:064x}"], stage.clock.now)
    assert [alert["withdrawn_at"] for alert in read(stage)["alerts"]] == ["2026-11-21T12:00:00Z"]


def test_alerts__come_newest_first_in_pages(stage: Stage, mandate_id: str) -> None:
    for block in (7, 8, 9):
        keeper_proposed(stage, mandate_id, block)
    first = read(stage, limit=2)
    assert [alert["block_number"] for alert in first["alerts"]] == [9, 8]
    second = read(stage, limit=2, cursor=first["next_cursor"])
    assert ([alert["block_number"] for alert in second["alerts"]], second["next_cursor"]) == (
        [7],
        None,
    )


def test_another_owners_alerts__are_not_shown(stage: Stage) -> None:
    keeper_proposed(stage, stage.working(), 7)
    assert stage.get("/me/alerts", stage.new_owner()) == {"alerts": [], "next_cursor": None}
