"""Receipts of the rows that this client writes: checked, and kept to hold the service to them
(docs/record.md#receipts; `verify-record --receipt`).

    answer --record_line--> does it say what was sent, and give the hash?
       |receipt-----------> is it of this mandate, row, hash and hour, and who signed it?
       +--> kept
"""

import json
from collections import deque
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any

from api.client.appending import Appending
from api.client.authoring import EVENTS, MANDATE, NO_TRANSACTION, REFUSALS, SIGNED_PATHS, row_of
from api.client.refusal import ClientError

SIGN = f"{MANDATE}/sign"
RECEIPTED_PATHS = SIGNED_PATHS | {SIGN, f"{MANDATE}/execute-call"}
MOST_KEPT = 10_000  # in memory, the newest
EPOCH_S = 3_600
HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
SERVICE_KEYS = frozenset({"unseen", "violation"})
DOMAIN_TYPE = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
RECEIPT_TYPE = "RecordReceipt(string mandate,uint64 seq,bytes32 rowHash,uint64 epoch)"

Fields = Mapping[str, Any]
Keep = Callable[[dict[str, Any]], object]


class BadReceipt(ClientError):
    """The service took the call, and its receipt is missing or wrong.

    `answer`: what it answered. The row may be in the record: read it before the call is repeated.
    """

    def __init__(self, why: str, answer: Fields) -> None:
        super().__init__(f"the call was answered, but its receipt proves nothing: {why}")
        self.answer = dict(answer)


class NotKept(ClientError):
    """The service took the call, and its receipt could not be written where it was to be kept.

    `answer`: what it answered; do not repeat the call. `receipt`: keep it yourself.
    """

    def __init__(self, cause: OSError, answer: Fields, receipt: Fields) -> None:
        super().__init__(f"the call was answered, but its receipt could not be written: {cause}")
        self.answer = dict(answer)
        self.receipt = dict(receipt)


class Receipts:
    """What a client does with receipts.

    `keep`: a file that each is appended to, a line of JSON each, or what is called with each; None:
    they are in `kept` alone, the newest. `signer`: whose receipts count, the service's published
    address, or several around a rotation of its key; every row must then have one. Without it a
    receipt must be signed by the key that it names, which shows no more than that it is whole.

    Errors: OSError when the file cannot be written.
    """

    def __init__(
        self,
        keep: "str | PathLike[str] | Keep | None" = None,
        signer: "str | Collection[str] | None" = None,
    ) -> None:
        self.kept: deque[dict[str, Any]] = deque(maxlen=MOST_KEPT)
        named = [signer] if isinstance(signer, str) else signer or []
        self._signers = frozenset(one.lower() for one in named)
        self._keep: Keep | None = None
        if callable(keep):
            self._keep = keep
        elif keep is not None:
            append = Appending(Path(keep))
            self._keep = lambda receipt: append(line_of(receipt))

    def take(self, path: str, fields: Fields, answer: Fields) -> None:
        """Check and keep the receipt of a call's answer.

        Errors: BadReceipt; NotKept when the file cannot be written.
        """
        if path not in RECEIPTED_PATHS:
            return
        if answer.get("record_line") is None:
            if self._signers and (path == SIGN or "event" in answer):
                raise BadReceipt("there is none", answer)
            return  # the call wrote no row
        receipt = answer.get("receipt")
        try:
            _require_line(path, fields, answer)
            if receipt is None:
                if not self._signers:
                    return
                raise ValueError("there is none")
            _require_receipt(str(fields["id"]), answer["record_line"], receipt, self._signers)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise BadReceipt(str(error), answer) from error
        self.kept.append(receipt)
        if self._keep is not None:
            try:
                self._keep(receipt)
            except OSError as error:
                raise NotKept(error, answer, receipt) from error


def line_of(receipt: Fields) -> str:
    return json.dumps(receipt, sort_keys=True, separators=(",", ":")) + "\n"


def _require_line(path: str, fields: Fields, answer: Fields) -> None:
    """The row's line says what was sent, and its hash is that of what it says. Errors: ValueError."""
    import rfc8785

    line, event = answer["record_line"], answer.get("event")
    body = line["body"]
    computed = sha256(bytes.fromhex(line["prev_hash"].removeprefix("0x")) + rfc8785.dumps(body))
    if line["row_hash"] != "0x" + computed.hexdigest():
        raise ValueError("record_line does not give its row_hash")
    if event is not None and (event["id"], event["row_hash"]) != (body["seq"], line["row_hash"]):
        raise ValueError("event and record_line are different rows")
    if "service" not in answer and _says_what_was_sent(path, answer):
        _require_sent(path, fields, body)


def _says_what_was_sent(path: str, answer: Fields) -> bool:
    """A refusal that the record had already is answered as it stands there."""
    return path == EVENTS or (path == REFUSALS and answer.get("is_new") is True)


def _require_sent(path: str, fields: Fields, body: Fields) -> None:
    sent = row_of(path, fields, {})
    assert sent is not None  # both paths write one
    payload = {name: one for name, one in body["payload"].items() if name not in SERVICE_KEYS}
    for name, said, was_sent in (
        ("kind", body["kind"], sent["kind"]),
        ("amount_usdc", body["amount_usdc"] or "", sent["amountUsdc"]),
        ("tx_hash", body["tx_hash"] or NO_TRANSACTION, sent["txHash"]),
        ("payload", payload, json.loads(json.dumps(sent["payload"]))),
    ):
        if said != was_sent:
            raise ValueError(f"the row has another {name} than was sent")


def _require_receipt(
    mandate_id: str, line: Fields, receipt: Fields, signers: Collection[str]
) -> None:
    """Errors: ValueError."""
    body = line["body"]
    written = datetime.strptime(body["created_at"], "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    for name, said, expected in (
        ("mandate_id", receipt["mandate_id"], mandate_id),
        ("seq", receipt["seq"], body["seq"]),
        ("row_hash", receipt["row_hash"], line["row_hash"]),
        ("epoch", receipt["epoch"], int(written.timestamp()) // EPOCH_S),
    ):
        if type(said) is not type(expected) or said != expected:
            raise ValueError(f"its {name} is {said!r:.100}, not {expected!r}")
    if signers and receipt["signer"].lower() not in signers:
        raise ValueError(f"its signer is {receipt['signer']!r:.100}, not {' or '.join(signers)}")
    if signer_of(receipt) != receipt["signer"]:
        raise ValueError(f"{receipt['signer']!r:.100} did not sign it")


def signer_of(receipt: Fields) -> str | None:
    """The checksum address whose key signed it; None for a signature that is none, or is malleable.

    Errors: ValueError, TypeError, LookupError for what is not a receipt.
    """
    from eth_keys.datatypes import Signature
    from eth_keys.exceptions import BadSignature
    from eth_utils.exceptions import ValidationError

    raw = bytes.fromhex(receipt["signature"].removeprefix("0x"))
    r, s = int.from_bytes(raw[:32]), int.from_bytes(raw[32:64])
    if len(raw) != 65 or raw[64] not in (27, 28) or s > HALF_ORDER:
        return None
    try:
        key = Signature(vrs=(raw[64] - 27, r, s)).recover_public_key_from_msg_hash(_digest(receipt))
    except (BadSignature, ValidationError):
        return None
    return str(key.to_checksum_address())


def _digest(receipt: Fields) -> bytes:
    from eth_utils.crypto import keccak

    domain = keccak(
        keccak(text=DOMAIN_TYPE)
        + keccak(text="Mandate Wallet Record")
        + keccak(text="1")
        + _word(receipt["chain_id"])
        + _word(int(receipt["factory"], 16))
    )
    message = keccak(
        keccak(text=RECEIPT_TYPE)
        + keccak(text=receipt["mandate_id"])
        + _word(receipt["seq"])
        + bytes.fromhex(receipt["row_hash"].removeprefix("0x"))
        + _word(receipt["epoch"])
    )
    return bytes(keccak(b"\x19\x01" + domain + message))


def _word(number: int) -> bytes:
    try:
        return number.to_bytes(32)
    except OverflowError as error:
        raise ValueError("a number is too large") from error
