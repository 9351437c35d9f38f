"""A wallet's signature is taken however the wallet wrote it, wherever a key signs in."""

import pytest
from eth_account.signers.local import LocalAccount

from tests.integration.api.conftest import (
    KEY,
    TestClient,
    bearer,
    connect,
    nonce_for,
    reason,
    sign,
    sign_in,
)
from tests.unit.core.chain.test_signatures import written_otherwise

WRITTEN = ("v 0 or 1", "64 bytes", "in capitals")


def written(wallet: LocalAccount, message: str, how: str) -> str:
    return written_otherwise(sign(wallet, message))[how]


def test_sign_in_and_link_and_self_record__take_it(
    client: TestClient, wallet: LocalAccount
) -> None:
    agent = connect(client)
    token = bearer(agent["bearer_token"])
    mine = {"wallet_address": wallet.address}
    link = {**mine, "signature": written(wallet, nonce_for(client, wallet, "link"), "64 bytes")}
    linked = client.post("/auth/wallet/link", json=link, headers=token)
    assert linked.status_code == 200, linked.text

    record = {"persona": "Careful."}
    digest = client.post("/agent/self", json=record, headers={KEY: agent["api_key"]})
    text = client.post(
        "/auth/wallet/nonce",
        json={**mine, "purpose": "self", "record_sha256": digest.json()["record_sha256"]},
    ).json()["message"]
    record["signature"] = written(wallet, text, "64 bytes")
    kept = client.post("/agent/self", json=record, headers={KEY: agent["api_key"]})
    assert kept.status_code == 200, kept.text
    assert kept.json()["signature"] == sign(wallet, text), "65 bytes with v 27 or 28"


@pytest.mark.parametrize("how", WRITTEN)
def test_login__takes_it(client: TestClient, wallet: LocalAccount, how: str) -> None:
    message = nonce_for(client, wallet, "login")
    answer = sign_in(client, message, written(wallet, message, how))
    assert answer.status_code == 200, answer.text


def test_login__with_v_of_35_or_66_bytes__is_signature_invalid(
    client: TestClient, wallet: LocalAccount
) -> None:
    message = nonce_for(client, wallet, "login")
    signature = sign(wallet, message)
    for odd in (signature[:-2] + "23", signature[:-2] + "24", signature + "00", signature[:-4]):
        answer = sign_in(client, message, odd)
        assert reason(answer) == (400, "signature_invalid"), odd
    mistyped = message.replace(wallet.address, wallet.address.swapcase().replace("X", "x"))
    answer = sign_in(client, mistyped, signature)
    assert reason(answer) == (400, "invalid_parameter")
    assert "EIP-55 checksum" in answer.json()["detail"]
