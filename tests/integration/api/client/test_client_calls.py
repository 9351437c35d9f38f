"""The client and the service, together: an owner and an agent live through a paper mandate."""

from pathlib import Path

import pytest
from eth_account.signers.local import LocalAccount

from api.client import Client, Refused
from tests.integration.api.client.conftest import Connect, Wire

DRAFT = {
    "purpose": "Learn without money.",
    "budget_usdc": "1000.000000",
    "horizon_days": 30,
    "stop_floor_bps": 500,
    "per_tx_cap_usdc": "200.000000",
    "market_mode": "paper",
}


def mandate_of(owner: Client, agent: Client, wallet: LocalAccount) -> str:
    """A paper mandate that names the agent, signed and accepted."""
    owner.mandates.policy_set(agent.user_id, accepts_mandates=True)
    draft = owner.mandates.create(agent_id=agent.user_id, **DRAFT)  # type: ignore[arg-type]  # one mapping of several kinds
    mandate_id = str(draft["mandate"]["public_id"])
    owner.sign_terms(mandate_id, wallet)
    agent.mandates.accept(mandate_id)
    return mandate_id


@pytest.fixture
def owner(caller: Connect, wallet: LocalAccount) -> Client:
    found = caller()
    found.sign_in(wallet)
    return found


@pytest.fixture
def agent(owner: Client) -> Client:
    return owner.connect("quant")


def test_an_owner__signs_in_and_connects_an_agent_of_its_own(owner: Client, agent: Client) -> None:
    assert [str(one["user_id"]) for one in owner.agents.mine()["agents"]] == [agent.user_id]
    assert agent.mandates.me()["is_owned"] is True


def test_an_agent__links_its_wallet(agent: Client) -> None:
    key = "0x" + "33" * 32

    assert agent.link_wallet(key)["registered"] is True
    assert agent.mandates.me()["wallet_address"] == agent.identity.wallet_status()["wallet_address"]


def test_an_owner__unlinks_the_wallet_of_its_agent(
    owner: Client, agent: Client, wallet: LocalAccount
) -> None:
    agent.link_wallet("0x" + "33" * 32)
    linked = agent.identity.wallet_status()["wallet_address"]

    found = owner.unlink_wallet(int(agent.user_id), wallet)

    assert found["unlinked_wallet"] == linked
    assert [one["wallet_address"] for one in owner.agents.mine()["agents"]] == [None]


def test_a_draft__is_signed_and_its_signature_holds(
    owner: Client, agent: Client, wallet: LocalAccount
) -> None:
    mandate_id = mandate_of(owner, agent, wallet)

    status = owner.mandates.read(mandate_id)["terms_status"]
    assert (status["signed"], status["digest_matches"], status["signer_matches"]) == (
        True,
        True,
        True,
    )


def test_a_report_whose_answer_is_lost__is_written_once(
    owner: Client, agent: Client, wallet: LocalAccount, wire: Wire
) -> None:
    mandate_id = mandate_of(owner, agent, wallet)
    served, wire.losses = wire.served, 2

    told = agent.mandates.report_event(
        mandate_id, kind="note", payload={"text": "The price holds."}
    )

    assert wire.served - served == 3
    notes = [
        one
        for one in agent.items(agent.mandates.ledger, "events", mandate_id)
        if one["kind"] == "note"
    ]
    assert [one["id"] for one in notes] == [told["event"]["id"]]


def test_pages__are_the_whole_list(owner: Client, agent: Client, wallet: LocalAccount) -> None:
    mandate_id = mandate_of(owner, agent, wallet)
    for number in range(5):
        agent.mandates.report_event(mandate_id, kind="note", payload={"text": f"Note {number}."})

    whole = agent.mandates.ledger(mandate_id, limit=200)["events"]
    pages = list(agent.pages(agent.mandates.ledger, mandate_id, limit=2))
    assert [event for page in pages for event in page["events"]] == whole
    assert len(whole) >= 6
    assert len(pages) == (len(whole) + 1) // 2


def test_a_real_refusal__tells_who_fixes_it_and_how(agent: Client) -> None:
    with pytest.raises(Refused) as caught:
        agent.mandates.statement_all()

    refused = caught.value
    assert (refused.status, refused.reason, refused.who_fixes, refused.retry_safe) == (
        401,
        "auth_required",
        "caller",
        False,
    )
    assert refused.next[-1]["path"] == "/agent/catalog"


def test_the_door__is_an_answer_although_it_is_a_402(caller: Connect) -> None:
    assert caller().mandates.door()["next"]


def test_a_client__closes_with_its_block(caller: Connect) -> None:
    with caller() as client:
        assert client.discovery.live() == {"status": "ok"}

    with pytest.raises(RuntimeError, match="closed"):
        client.discovery.live()


def test_a_record__is_saved_as_the_service_streams_it(
    owner: Client, agent: Client, wallet: LocalAccount, tmp_path: Path
) -> None:
    mandate_id, file = mandate_of(owner, agent, wallet), tmp_path / "record.ndjson"

    written = agent.save_record(mandate_id, str(file))

    assert written == file.stat().st_size
    assert file.read_text() == owner.mandates.record(mandate_id)["text"]
    assert '"head"' in file.read_text().splitlines()[-1]


def test_a_record_that_is_refused__leaves_no_file(owner: Client, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="not_found"):
        owner.save_record("m_aaaaaaaaaa", tmp_path / "record.ndjson")

    assert list(tmp_path.iterdir()) == []
