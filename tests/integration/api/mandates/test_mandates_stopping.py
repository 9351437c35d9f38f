"""Who may end a mandate, by which call, and when."""

import pytest

from core.mandate.chain import calldata
from core.mandate.chain.calldata import vault_address
from core.mandate.rules.terms import terms_from_json
from tests.integration.api.mandates.stage import CONTRACTS, Stage, reason

# leaving


def calls_of(stage: Stage, mandate_id: str) -> tuple[tuple[str, str], tuple[str, str]]:
    """(to, data) of the vault's stop and of cancelTerms, as they follow from the terms alone."""
    read = stage.get(f"/mandates/{mandate_id}/terms", stage.owner)
    vault = vault_address(CONTRACTS["factory"], read["digest"])
    return (vault, calldata.stop("owner")), (
        CONTRACTS["factory"],
        calldata.cancel_terms(terms_from_json(read["terms"])),
    )


@pytest.mark.parametrize("is_down", [False, True])
@pytest.mark.parametrize("path", ["stop", "cancel"])
def test_stop_and_cancel__of_signed_terms__end_nothing_and_give_both_calls(
    stage: Stage, path: str, is_down: bool
) -> None:
    """The record alone ended them, and a vault that was mined and not yet indexed, or made later,
    worked for good.
    """
    mandate_id = stage.signed()
    stage.chain.is_down = is_down
    stop, cancel = calls_of(stage, mandate_id)
    answer = stage.post(f"/mandates/{mandate_id}/{path}", stage.owner)
    assert (answer["status"], answer["mandate"]["status"], answer["mandate"]["ended_at"]) == (
        "signed",
        "signed",
        None,
    )
    assert (answer["call"]["to"], answer["call"]["data"]) == stop
    assert (answer["cancel_call"]["to"], answer["cancel_call"]["data"]) == cancel
    assert stage.faults(mandate_id) == []


def test_stop_call__of_signed_terms_without_a_vault__has_both_calls(stage: Stage) -> None:
    mandate_id = stage.signed()
    stop, cancel = calls_of(stage, mandate_id)
    call = stage.get(f"/mandates/{mandate_id}/stop-call", stage.owner)
    assert (
        (call["to"], call["data"]),
        (call["cancel_call"]["to"], call["cancel_call"]["data"]),
    ) == (stop, cancel)
    step = stage.get(f"/mandates/{mandate_id}/close-all-plan", stage.owner)["steps"][0]
    assert (step["type"], step["to"], step["data"]) == ("stop", *cancel)


def test_agents_stop_in_the_settle_grace__leaves_no_request_in_the_record(stage: Stage) -> None:
    mandate_id = stage.working()
    stage.later(days=30)
    answer = stage.call("POST", f"/mandates/{mandate_id}/stop", stage.agent)
    assert (reason(answer), answer.json()["service"]["retry_at"]) == (
        (409, "wrong_status"),
        "2026-12-22T12:00:00Z",
    )
    assert [
        e
        for e in stage.get(f"/mandates/{mandate_id}/ledger", stage.agent)["events"]
        if e["payload"].get("stop_requested")
    ] == []
