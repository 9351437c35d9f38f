"""Which calls with one Idempotency-Key are the same."""

from typing import Any

from api.catalogue import catalogue
from api.kernel.caller import OperatorCaller
from api.kernel.idempotency import slot_of
from api.kernel.operation import Command

IDEMPOTENT = next(one for one in catalogue().operations if one.idempotent and one.secrets is None)
CALLER = OperatorCaller(account_id=7, key_id=None)


class Free(Command):
    body: dict[str, Any]


def body_hash(body: dict[str, Any]) -> bytes:
    slot = slot_of(IDEMPOTENT, CALLER, {"id": "m_1"}, Free(body=body), "key")
    assert slot is not None
    return slot.body_hash


def test_the_same_fields_in_another_order__are_the_same_body() -> None:
    first = body_hash({"a": 1, "b": {"c": 2, "d": 3}})
    assert first == body_hash({"b": {"d": 3, "c": 2}, "a": 1})
    assert first != body_hash({"a": 1, "b": {"c": 2, "d": 4}})
