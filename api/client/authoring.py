"""Rows of a record signed by who writes them, so that nobody can write them in their name
(docs/record.md#signed-rows).

    ask where the next row is (once)  ->  sign  ->  send  ->  out of order: sign again where the service says

What is signed is made here out of the call itself, never of what the service offers to sign.
"""

import secrets
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from api.client.money import usdc_e6, usdc_text
from api.client.refusal import Refused
from api.client.signing import sign_typed_data

if TYPE_CHECKING:
    from eth_account.signers.local import LocalAccount

MANDATE = "/mandate-wallet/mandates/{id}"
EVENTS, REFUSALS, STOP, CANCEL = (
    f"{MANDATE}/{name}" for name in ("events", "refusals", "stop", "cancel")
)
SIGNED_PATHS = frozenset({EVENTS, REFUSALS, STOP, CANCEL})
ATTEMPTS = 8  # measured: of two busy processes none of 145 rows was refused, of three 2 of 120
OUT_OF_ORDER = "author_out_of_order"
MAX_EXACT_JSON_INT = 2**53 - 1
NO_TRANSACTION = "0x" + "00" * 32
RECORD_ROW = [
    {"name": "mandate", "type": "string"},
    {"name": "sequence", "type": "uint64"},
    {"name": "prev", "type": "bytes32"},
    {"name": "kind", "type": "string"},
    {"name": "amountUsdc", "type": "string"},
    {"name": "txHash", "type": "bytes32"},
    {"name": "payloadHash", "type": "bytes32"},
]
DOMAIN = [
    {"name": "name", "type": "string"},
    {"name": "version", "type": "string"},
    {"name": "chainId", "type": "uint256"},
    {"name": "verifyingContract", "type": "address"},
]

Fields = Mapping[str, Any]


def row_of(path: str, fields: Fields, place: Fields) -> dict[str, Any] | None:
    """{kind, amountUsdc, txHash, payload} of the row that a call writes; None: it writes none."""
    if path == EVENTS:
        return _row(fields["kind"], fields, _event_payload(fields), fields.get("amount_usdc"))
    if path == REFUSALS:
        return _row("note", fields, {"refusal": _refusal(fields)})
    if path == CANCEL:
        return _row("note", {}, {"cancelled": True})
    by = place["reported_by"]
    if place["market_mode"] == "paper":
        return _row("stop", {}, {"stopped": {"by": by, "reason": by, "worth_usdc": None}})
    return _row("note", {}, {"stop_requested": True}) if by == "agent" else None


def row_typed_data(mandate_id: str, row: Fields, place: Fields) -> dict[str, Any]:
    """The EIP-712 document of a row at its place.

    Errors: ValueError when the service names another domain than that of records, or the payload has
    a fraction.
    """
    domain = place["domain"]
    if (domain["name"], domain["version"]) != ("Mandate Wallet Record", "1"):
        raise ValueError(f"not signed: {domain} is not the domain of a record's rows")
    message = {
        "mandate": mandate_id,
        "sequence": place["sequence"],
        "prev": place["prev"],
        "kind": row["kind"],
        "amountUsdc": row["amountUsdc"],
        "txHash": row["txHash"],
        "payloadHash": payload_hash(row["payload"]),
    }
    return {
        "types": {"EIP712Domain": DOMAIN, "RecordRow": RECORD_ROW},
        "primaryType": "RecordRow",
        "domain": dict(domain),
        "message": message,
    }


def payload_hash(payload: Fields) -> str:
    """keccak256 of the payload's RFC 8785 JSON. Errors: ValueError for a fraction."""
    import rfc8785
    from eth_utils.crypto import keccak

    _refuse_fractions(payload)
    return "0x" + keccak(rfc8785.dumps(dict(payload))).hex()


def _refuse_fractions(value: Any) -> None:
    if isinstance(value, float):
        raise ValueError(f"payload: write {value} as text; a record has no fractions")
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for one in value:
            _refuse_fractions(one)


def _row(kind: str, fields: Fields, payload: Fields, amount: Any = None) -> dict[str, Any]:
    return {
        "kind": kind,
        "amountUsdc": "" if amount is None else _amount_text(amount),
        "txHash": (fields.get("tx_hash") or NO_TRANSACTION).lower(),
        "payload": payload,
    }


def _amount_text(amount: Any) -> str:
    """As a record writes it: six decimals. Errors: ValueError."""
    digits = str(amount).removeprefix("-")
    return usdc_text(usdc_e6(digits) if digits == str(amount) else -usdc_e6(digits))


def _event_payload(fields: Fields) -> dict[str, Any]:
    beside = {name: fields[name] for name in ("detail", "why") if fields.get(name) is not None}
    composed: dict[str, Any] = _composed({**(fields.get("payload") or {}), **beside})
    return composed


def _composed(value: Any) -> Any:
    """As the service keeps it: texts as NFC, names of fields as they are, 5.0 as 5."""
    if isinstance(value, str):
        return normalize("NFC", value)
    if isinstance(value, float) and value.is_integer() and abs(value) <= MAX_EXACT_JSON_INT:
        return int(value)
    if isinstance(value, Mapping):
        return {name: _composed(item) for name, item in value.items()}
    return [_composed(item) for item in value] if isinstance(value, list | tuple) else value


def _refusal(fields: Fields) -> dict[str, Any]:
    refusal = {
        "reason": fields["reason"],
        "source": "agent",
        "reason_source": "agent",
        "check": "reported",
        "server_check": "unconfirmed",
    }
    amount = fields.get("amount_usdc")
    attempted = {} if amount is None else {"amount_usdc": _amount_text(amount)}
    return refusal | ({"attempted": attempted} if attempted else {})


class RowSigner:
    """Signs the rows that the calls of one wallet write; remembers where each mandate's next row
    goes.
    """

    def __init__(self, account: "LocalAccount") -> None:
        self._account = account
        self._places: dict[str, dict[str, Any]] = {}

    def send(
        self,
        path: str,
        fields: Fields,
        ask: Callable[[str], Fields],
        call: Callable[[Fields], dict[str, Any]],
    ) -> dict[str, Any]:
        """Make the call with its row signed; unsigned where this wallet may not sign for the
        mandate, which the service refuses once a row was signed.

        Errors: those of the call.
        """
        mandate_id, attempt = str(fields["id"]), 1
        place = self._places.pop(mandate_id, None) or dict(ask(mandate_id))
        while True:
            row = row_of(path, fields, place)
            if row is None or self._account.address not in place["signers"]:
                return call(fields)
            try:
                answer = call({**fields, "author": self._author(mandate_id, row, place)})
            except Refused as refused:
                expected = refused.body.get("expected")
                if refused.reason != OUT_OF_ORDER or attempt == ATTEMPTS or expected is None:
                    raise
                place, attempt = place | expected, attempt + 1
                time.sleep(secrets.randbelow(50 * 2**attempt) / 1_000)
            else:
                self._remember(mandate_id, place, answer)
                return answer

    def _author(self, mandate_id: str, row: Fields, place: Fields) -> dict[str, Any]:
        signature = sign_typed_data(self._account, row_typed_data(mandate_id, row, place))
        return {
            "signer": self._account.address,
            "sequence": place["sequence"],
            "prev": place["prev"],
            "signature": signature,
        }

    def _remember(self, mandate_id: str, place: dict[str, Any], answer: Fields) -> None:
        """The next place, as far as the answer says it; a wrong one is put right by a refusal."""
        event = answer.get("event") or {}
        if event.get("signed_by") == self._account.address:
            after = {"sequence": place["sequence"] + 1, "prev": event["row_hash"]}
            self._places[mandate_id] = place | after
