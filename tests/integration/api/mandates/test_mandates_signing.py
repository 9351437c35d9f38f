import pytest
from eth_account import Account
from eth_account.messages import encode_typed_data

from core.mandate.chain import calldata
from core.mandate.rules.terms import terms_from_json
from tests.integration.api.conftest import login
from tests.integration.api.mandates.stage import CONTRACTS, DRAFT, Stage, reason
from tests.unit.core.chain.test_signatures import written_otherwise


@pytest.mark.row("5 signature_invalid")
def test_sign__with_another_key__is_signature_invalid(stage: Stage) -> None:
    mandate_id = stage.draft()
    answer = stage.call(
        "POST",
        f"/mandates/{mandate_id}/sign",
        stage.owner,
        {"signature": stage.sign_terms(mandate_id, Account.create())},
    )
    assert reason(answer) == (400, "signature_invalid")
    assert (
        answer.json()["service"]["next"][0]["path"]
        == f"/mandate-wallet/mandates/{mandate_id}/terms"
    )
    assert stage.get(f"/mandates/{mandate_id}", stage.owner)["mandate"]["status"] == "draft"


@pytest.mark.row("5 signature_invalid")
def test_sign__for_another_chain__is_signature_invalid(stage: Stage) -> None:
    mandate_id = stage.draft()
    document = stage.get(f"/mandates/{mandate_id}/terms", stage.owner)["typed_data"]
    document["domain"]["chainId"] = 1
    signature = stage.owner_wallet.sign_message(
        encode_typed_data(full_message=document)
    ).signature.to_0x_hex()
    assert reason(
        stage.call("POST", f"/mandates/{mandate_id}/sign", stage.owner, {"signature": signature})
    ) == (400, "signature_invalid")


def test_sign__the_terms_of_an_older_draft__is_signature_invalid(stage: Stage) -> None:
    mandate_id = stage.draft()
    old = stage.sign_terms(mandate_id)
    stage.call("PUT", f"/mandates/{mandate_id}", stage.owner, DRAFT)
    assert reason(
        stage.call("POST", f"/mandates/{mandate_id}/sign", stage.owner, {"signature": old})
    ) == (400, "signature_invalid")


def test_sign__by_a_contract_wallet__asks_the_wallet(stage: Stage) -> None:
    stage.owner = login(stage.client, stage.owner_wallet)
    mandate_id = stage.draft()
    stage.chain.wallets[stage.owner_wallet.address] = "0x" + "ab" * 70
    refused = stage.call(
        "POST", f"/mandates/{mandate_id}/sign", stage.owner, {"signature": "0x" + "cd" * 70}
    )
    assert reason(refused) == (400, "signature_invalid")
    signed = stage.post(
        f"/mandates/{mandate_id}/sign", stage.owner, {"signature": "0x" + "ab" * 70}
    )
    assert signed["mandate"]["status"] == "signed"
    assert (
        stage.get(f"/mandates/{mandate_id}", stage.owner)["terms_status"]["signer_matches"] is None
    )


def test_deploy_call__without_money__is_the_factorys_call_at_a_known_address(stage: Stage) -> None:
    mandate_id = stage.signed()
    call = stage.get(f"/mandates/{mandate_id}/deploy-call", stage.owner)
    terms = stage.get(f"/mandates/{mandate_id}/terms", stage.owner)
    assert (call["to"], call["value"], call["chain_id"]) == (CONTRACTS["factory"], 0, 84532)
    assert call["vault_address"] == stage.chain.predict_vault(terms["digest"])
    assert call["data"].startswith(
        calldata.create_vault(terms_from_json(terms["terms"]), (), "0x")[:10]
    )


def test_deploy_call__by_authorization__asks_for_the_signature_and_then_carries_it(
    stage: Stage,
) -> None:
    mandate_id = stage.signed()
    asked = stage.get(f"/mandates/{mandate_id}/deploy-call", stage.owner, fund="authorization")
    assert (asked["data"], asked["reason"]) == (None, "authorization_signature_needed")
    message = asked["typed_data"]["message"]
    assert (message["to"], message["value"], message["nonce"]) == (
        asked["vault_address"],
        "1000000000",
        asked["digest"],
    )
    signature = "0x" + "5a" * 65
    sent = stage.get(
        f"/mandates/{mandate_id}/deploy-call",
        stage.owner,
        fund="authorization",
        authorization_signature=signature,
    )
    assert "5a" * 65 in sent["data"]


def test_terms_and_funding__signed_in_another_form__are_kept_as_the_factory_recovers_them(
    stage: Stage,
) -> None:
    mandate_id = stage.draft()
    signature = stage.sign_terms(mandate_id)
    body = {"signature": written_otherwise(signature)["64 bytes"]}
    stage.post(f"/mandates/{mandate_id}/sign", stage.owner, body)
    path = f"/mandates/{mandate_id}/deploy-call"
    assert signature[2:] in stage.get(path, stage.owner)["data"]
    asked = stage.get(path, stage.owner, fund="authorization")
    signed = stage.owner_wallet.sign_message(encode_typed_data(full_message=asked["typed_data"]))
    funding = signed.signature.to_0x_hex()
    funded = stage.get(
        path,
        stage.owner,
        fund="authorization",
        authorization_signature=written_otherwise(funding)["64 bytes"],
    )
    assert funding[2:] in funded["data"]


@pytest.mark.parametrize("length", [64, 65])
def test_a_contract_wallets_signature__of_a_keys_length__is_kept_as_it_is(
    stage: Stage, length: int
) -> None:
    """Its last byte may be 0 or 1, and its bytes are its own."""
    stage.owner = login(stage.client, stage.owner_wallet)
    mandate_id = stage.draft()
    own = "0x" + "ab" * (length - 1) + "01"
    stage.chain.wallets[stage.owner_wallet.address] = own
    stage.post(f"/mandates/{mandate_id}/sign", stage.owner, {"signature": own})
    assert own[2:] in stage.get(f"/mandates/{mandate_id}/deploy-call", stage.owner)["data"]


def test_deploy_call__of_a_draft__is_wrong_status(stage: Stage) -> None:
    assert reason(stage.call("GET", f"/mandates/{stage.draft()}/deploy-call", stage.owner)) == (
        409,
        "wrong_status",
    )


def test_sign__with_an_empty_signature__asks_the_contract_wallet(stage: Stage) -> None:
    """A Safe that approved the hash on chain signs with nothing (EIP-1271); a key never does."""
    mandate_id = stage.draft()
    refused = stage.call("POST", f"/mandates/{mandate_id}/sign", stage.owner, {"signature": "0x"})
    assert reason(refused) == (400, "signature_invalid")
    stage.chain.wallets[stage.owner_wallet.address] = "0x"
    stage.post(f"/mandates/{mandate_id}/sign", stage.owner, {"signature": "0x"})
    assert stage.get(f"/mandates/{mandate_id}", stage.owner)["terms_status"]["signed"] is True
    assert stage.get(f"/mandates/{mandate_id}/deploy-call", stage.owner)["data"] is not None


def test_deploy_call__with_an_empty_authorization__is_refused(stage: Stage) -> None:
    """The vault would read it as an allowance that nobody gave."""
    query = {"fund": "authorization", "authorization_signature": "0x"}
    answer = stage.call("GET", f"/mandates/{stage.signed()}/deploy-call", stage.owner, **query)
    assert reason(answer) == (400, "invalid_parameter")
    assert "fund=approve" in answer.json()["detail"]


def test_typed_data__is_offered_without_eip712domain_too(stage: Stage) -> None:
    """ethers derives that type itself and refuses a document that has it."""
    mandate_id = stage.signed()
    for answer in (
        stage.get(f"/mandates/{mandate_id}/terms", stage.owner),
        stage.get(f"/mandates/{mandate_id}/deploy-call", stage.owner, fund="authorization"),
    ):
        whole, parts = answer["typed_data"], answer["typed_data_parts"]
        assert set(whole["types"]) - set(parts["types"]) == {"EIP712Domain"}
        in_parts = encode_typed_data(parts["domain"], parts["types"], parts["message"])
        assert in_parts == encode_typed_data(full_message=whole)
