"""Names that look like secrets, wherever they stand."""

from typing import Any

import pytest

from api.kernel.operation import Refusal
from api.kernel.secrets_guard import refuse_secrets
from tests.each import each


@each(
    "name",
    [
        "api_key",
        "apiKey",
        "API-KEY",
        "exchange_api_secret",
        "privateKey",
        "client.secret",
        "Pass Phrase",
        "mnemonic",
    ],
)
@each(
    "wrap",
    [lambda d: d, lambda d: {"payload": {"detail": d}}, lambda d: {"list": [1, [d]]}],
    ids=["top", "nested", "in a list"],
)
def test_a_secret_like_name__at_any_depth__is_refused(name: str, wrap: Any) -> None:
    with pytest.raises(Refusal) as refused:
        refuse_secrets(wrap({name: "hunter2"}))
    assert refused.value.reason == "secret_field_refused"
    assert "hunter2" not in refused.value.detail
    assert refused.value.detail.endswith(
        "leave the field out, and replace the secret if it was a real one."
    )


def test_the_fields_of_the_specification__pass() -> None:
    refuse_secrets(
        {
            "idempotency_key": "a",
            "token": "BTC",
            "token_id": "x",
            "signature": "0x",
            "key": 1,
            "tx_hash": "0x",
            "recovery": 1,
        }
    )


def test_a_value_that_looks_like_a_secret__passes() -> None:
    refuse_secrets({"why": "the api_key was lost"})


def test_names_that_make_a_word_together__pass() -> None:
    refuse_secrets({"why": {"api": 1, "key": 2, "pass": 3, "word": 4}})
