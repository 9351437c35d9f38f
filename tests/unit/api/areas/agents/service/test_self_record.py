"""The hash that an agent's wallet signs, computed as the documentation says."""

import hashlib
from typing import Any

import rfc8785

from api.areas.agents.service.self_record import record_sha256
from tests.each import each

EMPTY: dict[str, Any] = {"persona": None, "strategy": None, "progress": None, "next_steps": None}


def test_the_worked_example_of_the_docs() -> None:
    text = (
        '{"next_steps":null,"persona":"A careful buyer of units.","progress":null,"strategy":null}'
    )
    digest = "6d52643b15162f20f0efa7a70ba6a518b5b3cfdd8fdd4af5c0e685c5409778f2"
    assert (
        hashlib.sha256(text.encode()).hexdigest()
        == record_sha256(EMPTY | {"persona": "A careful buyer of units."}).hex()
        == digest
    )


@each("persona", ["plain", 'quotes " and \\', "한국어 € \u2028", ["a", "b"]])
def test_the_hash__is_that_of_an_independent_rfc_8785_writer(persona: Any) -> None:
    record = EMPTY | {"persona": persona}
    assert record_sha256(record) == hashlib.sha256(rfc8785.dumps(record)).digest()


def test_the_hash__does_not_depend_on_the_order_of_the_fields() -> None:
    record = EMPTY | {"persona": "a", "progress": "b"}
    assert record_sha256(dict(reversed(record.items()))) == record_sha256(record)
