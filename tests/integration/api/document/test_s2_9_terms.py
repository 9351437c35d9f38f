"""Mandate wallet 2.9 and 9: the signed terms, version 2 issued and version 1 verified."""

from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_account.signers.local import LocalAccount

from api.catalogue import catalogue
from core.mandate import queries as mandates
from core.mandate.chain.typed_data import guard_targets_hash, rules_hash, terms_digest
from core.mandate.rules.terms import rules_from_json, terms_from_json
from tests.integration.api.document.live import Live
from tests.integration.api.mandates.stage import CONTRACTS, Stage


@pytest.mark.row(
    "2.9 publicId", "2.9 owner", "2.9 agent", "2.9 budgetUsdc", "2.9 perTxCap", "2.9 dailyCap",
    "2.9 stopFloor", "2.9 stopFloorBps",
    "2.9 horizonDays", "2.9 endsAt", "2.9 agentFeeBps", "2.9 approvalAbove", "2.9 onFloor",
    "2.9 allowedTargetsHash",
    "2.9 guardTargetsHash", "2.9 issuedAt", "2.9 nonce", "2.9 domain version is the string 2",
    "9 Terms", "9 Chain",
)  # fmt: skip
def test_terms__are_the_typed_data_of_the_draft(stage: Stage) -> None:
    mandate_id = stage.draft(approval_above_usdc="50", on_floor="close")
    terms = stage.get(f"/mandates/{mandate_id}/terms", stage.owner)
    document = terms["typed_data"]
    assert [(field["name"], field["type"]) for field in document["types"]["MandateTerms"]] == [
        ("publicId", "string"), ("owner", "address"), ("agent", "address"), ("budgetUsdc",
            "uint256"), ("perTxCap", "uint256"),
        ("dailyCap", "uint256"), ("stopFloor", "uint256"), ("stopFloorBps", "uint16"),
            ("horizonDays", "uint32"), ("endsAt", "uint64"),
        ("agentFeeBps", "uint16"), ("approvalAbove", "uint256"), ("onFloor", "uint8"),
            ("allowedTargetsHash", "bytes32"),
        ("guardTargetsHash", "bytes32"), ("issuedAt", "uint64"), ("nonce", "uint256"),
    ]  # fmt: skip
    assert document["message"] == {
        "publicId": mandate_id,
        "owner": stage.owner_wallet.address,
        "agent": stage.agent_wallet.address,
        "budgetUsdc": "1000000000",
        "perTxCap": "200000000",
        "dailyCap": "450000000",
        "stopFloor": "950000000",
        "stopFloorBps": "500",
        "horizonDays": "30",
        "endsAt": "1797854400",
        "agentFeeBps": "1000",
        "approvalAbove": "50000000",
        "onFloor": "1",
        "allowedTargetsHash": rules_hash(rules_from_json(terms["rules"])),
        "guardTargetsHash": guard_targets_hash(terms["guard_targets"]),
        "issuedAt": "1795262400",
        "nonce": document["message"]["nonce"],
    }
    assert document["primaryType"] == "MandateTerms" and int(document["message"]["nonce"]) > 0
    domain = {
        "name": "Mandate Wallet",
        "version": "2",
        "chainId": 84532,
        "verifyingContract": CONTRACTS["factory"],
    }
    assert document["domain"] == domain and terms["version"] == 2


@pytest.mark.row("2.9 perTxCap", "2.9 dailyCap", "2.9 approvalAbove", "2.9 onFloor", "2.9 agent")
def test_terms__of_a_draft_with_gaps__sign_what_the_gaps_mean(stage: Stage) -> None:
    mandate_id = stage.draft(
        agent_id=None, open_board=True, per_tx_cap_usdc=None, daily_cap_usdc=None
    )
    message = stage.get(f"/mandates/{mandate_id}/terms", stage.owner)["typed_data"]["message"]
    assert (message["perTxCap"], message["dailyCap"]) == ("1000000000", "1000000000")
    assert (message["approvalAbove"], message["onFloor"], message["agent"]) == (
        "0",
        "0",
        "0x" + "00" * 20,
    )


@pytest.mark.row("9 Terms", "2.9 domain version is the string 2")
def test_the_factory_itself__takes_the_signature_of_version_2(live: Live) -> None:
    mandate_id, vault = live.working()
    terms = live.owners(mandate_id, "terms")
    assert live.deployed.reader.predict_vault(terms["digest"]) == vault
    status = live.read(mandate_id)["terms_status"]
    assert status == {
        "signed": True,
        "version": 2,
        "digest": terms["digest"],
        "digest_matches": True,
        "signer_matches": True,
    }


def signed_before_caps(stage: Stage, signer: LocalAccount) -> str:
    """A mandate whose row was signed under version 1, which is issued no more."""
    mandate_id = stage.signed()
    terms = terms_from_json(stage.get(f"/mandates/{mandate_id}/terms", stage.owner)["terms"])
    with stage.database.write() as session:
        found = mandates.find_mandate(session, mandate_id)
        assert found is not None
        found.terms_version = 1
        found.terms_digest = bytes.fromhex(terms_digest(terms, CONTRACTS["factory"], 84532, 1)[2:])
    document = stage.get(f"/mandates/{mandate_id}/terms", stage.owner)["typed_data"]
    with stage.database.write() as session:
        found = mandates.find_mandate(session, mandate_id)
        assert found is not None
        found.signature = bytes(
            signer.sign_message(encode_typed_data(full_message=document)).signature
        )
    return mandate_id


def status_of(stage: Stage, mandate_id: str) -> dict[str, Any]:
    return dict(stage.get(f"/mandates/{mandate_id}", stage.owner)["terms_status"])


@pytest.mark.row(
    "2.9 version 1 stays verifiable for rows signed before", "9 Terms", "2.2 terms_status"
)
def test_version_1__of_a_row_signed_before_caps__is_verified_as_it_was_signed(stage: Stage) -> None:
    mandate_id = signed_before_caps(stage, stage.owner_wallet)
    terms = stage.get(f"/mandates/{mandate_id}/terms", stage.owner)
    assert (terms["version"], terms["typed_data"]["domain"]["version"]) == (1, "1")
    unsigned = {"perTxCap", "dailyCap", "approvalAbove", "onFloor", "guardTargetsHash"}
    assert terms["terms"].keys() - terms["typed_data"]["message"].keys() == unsigned
    status = status_of(stage, mandate_id)
    assert (
        status["signed"],
        status["version"],
        status["digest_matches"],
        status["signer_matches"],
    ) == (True, 1, True, True)
    clauses = {
        one["key"]: one for one in stage.get(f"/mandates/{mandate_id}", stage.owner)["clauses"]
    }
    assert [
        (clauses[key]["source"], clauses[key]["status"]) for key in ("per_action", "per_day")
    ] == [(None, "stored_pending")] * 2
    assert (clauses["budget"]["source"], clauses["markets"]["signed_fields"]) == (
        "terms.budgetUsdc",
        ["allowedTargetsHash"],
    )


@pytest.mark.row("2.9 version 1 stays verifiable for rows signed before", "2.2 terms_status")
def test_version_1__signed_by_somebody_else_or_changed_since__does_not_match(stage: Stage) -> None:
    # no key explains it
    assert status_of(stage, signed_before_caps(stage, Account.create()))["signer_matches"] is None
    mandate_id = signed_before_caps(stage, stage.owner_wallet)
    with stage.database.write() as session:
        found = mandates.find_mandate(session, mandate_id)
        assert found is not None
        found.terms = {**found.terms, "perTxCap": "1000000000"}  # version 1 did not sign it
    assert status_of(stage, mandate_id)["digest_matches"] is True
    with stage.database.write() as session:
        found = mandates.find_mandate(session, mandate_id)
        assert found is not None
        found.terms = {**found.terms, "budgetUsdc": "2000000000"}
    assert status_of(stage, mandate_id)["digest_matches"] is False


@pytest.mark.row("9 Names")
def test_the_wallets_tools__have_the_documents_names() -> None:
    documented = {
        "agent_policy_get", "agent_policy_set", "agent_balances", "transfer_report", "mandate_list",
        "mandate_get", "mandate_offers",
        "mandate_propose", "mandate_report_event", "mandate_report_refusal", "mandate_stop",
        "mandate_accept", "mandate_execute_call",
        "mandate_unwind_call", "mandate_approvals",
    }  # fmt: skip
    assert documented <= {
        row.tool.name for row in catalogue().by_key.values() if row.tool is not None
    }
