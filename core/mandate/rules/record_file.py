"""The public record as a file: canonical JSON lines, first the terms, then the rows, last the head.

    {chain_id, factory, format, genesis_hash, guard_targets, mandate_id, market_mode, rules, signature, terms, terms_digest, ...}
    {body, prev_hash, row_hash}                          one a row, from seq 1 on (core.mandate.rules.record); `author` in its
                                                         body where somebody signed it (core.mandate.rules.authors)
    {anchor: {block_hash, block_number, epoch, proof, root, root_before, row_hash, seq, tx_hash}}    one an epoch, rising
    {head: {as_of, row_hash, seq, totals}}               and `held` in it while the record is short of facts of the chain

`as_of`: the newest block whose logs the rows contain, and the height up to which reverted calls
were looked up; null on paper.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import lru_cache
from operator import itemgetter
from sys import intern
from typing import Any, Final, TypeGuard

from core.anchors.rules import EpochPost
from core.errors import InvalidParameterError
from core.hexes import checksum_address
from core.mandate.rules.rows import LedgerRow, ReportedBy, RowAuthor, RowKind
from core.mandate.rules.state import MandateState
from core.money import UsdcE6, usdc_e6_from_text, usdc_text
from core.quarantine.rules import is_short_json
from core.times import exact_instant_text

FORMAT: Final = "mandate-record"
VERSION: Final = 2
FIRST_FORMS: Final[Mapping[str, tuple[type, ...]]] = {
    **dict.fromkeys(
        ("format", "mandate_id", "market_mode", "factory", "terms_digest", "genesis_hash"), (str,)
    ),
    **dict.fromkeys(("version", "chain_id", "terms_version"), (int,)),
    **dict.fromkeys(("vault", "signature"), (str, type(None))),
    **dict.fromkeys(("rules", "guard_targets"), (list,)),
    "terms": (dict,),
}
FIRST_KEYS: Final = frozenset(FIRST_FORMS)
AS_OF_KEYS: Final = frozenset({"block_hash", "block_number", "reverts_block_number"})
ROW_KEYS: Final = frozenset({"body", "prev_hash", "row_hash"})
MOST_SHARED: Final = 66  # characters: an address or a hash
TIMES_KEPT: Final = 512  # newest ones
ANCHOR_KEYS: Final = frozenset(
    {"block_hash", "block_number", "epoch", "proof", "root", "root_before", "row_hash", "seq", "tx_hash"}
)  # fmt: skip
HEAD_KEYS: Final = frozenset({"as_of", "row_hash", "seq", "totals"})
# {facts, from_block}: what the chain said and the rows do not say yet (core.quarantine.rules)
HELD_KEY: Final = "held"
BODY_KEYS: Final = frozenset(
    {
        "amount_usdc", "base_key", "block_hash", "block_number", "cash_delta_usdc", "chain_id", "created_at", "incarnation", "kind",
        "log_index", "occurred_at", "payload", "reported_by", "reverses_seq", "seq", "tx_hash",
    }
)  # fmt: skip
_TIME_TEXT: Final = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}Z")
AUTHOR_KEY: Final = "author"  # in the body of a signed row
AUTHOR_KEYS: Final = frozenset({"prev", "sequence", "signature", "signer"})
MOST_SEQUENCE: Final = 2**53 - 1
CHECKSUM_FORM: Final = re.compile("0x[0-9a-fA-F]{40}")
HASH_FORM: Final = re.compile("0x[0-9a-f]{64}")
SIGNATURE_FORM: Final = re.compile("0x([0-9a-f]{2}){0,8191}")


def totals_of(state: MandateState) -> dict[str, Any]:
    """The head's totals: what the fold of the rows must give."""
    return {
        "status": state.status.value,
        "paused": state.paused,
        "cash_usdc": usdc_text(state.cash_usdc_e6),
        "deposited_usdc": usdc_text(state.deposited_usdc_e6),
        "spent_usdc": usdc_text(state.spent_usdc_e6),
        "received_usdc": usdc_text(state.received_usdc_e6),
        "withdrawn_usdc": usdc_text(state.withdrawn_usdc_e6),
        "paid_out_usdc": usdc_text(state.paid_out_usdc_e6),
    }


def row_of_line(line: Mapping[str, Any]) -> LedgerRow:
    """The row of a record's line: `core.mandate.rules.record.record_line` of it gives the same
    bytes.

    Ids are not public: `id` is the seq, `reverses_id` the reversed row's, `mandate_id` 0.

    Errors: InvalidParameterError naming the key that is missing, unknown or has another form.
    """
    _require_keys(line, ROW_KEYS, "the line")
    body = line["body"]
    if not isinstance(body, Mapping):
        raise InvalidParameterError("body", "an object")
    if body.keys() != BODY_KEYS:
        _require_keys(body, BODY_KEYS | {AUTHOR_KEY} if AUTHOR_KEY in body else BODY_KEYS, "body")
    if (wrong := _wrong_form(tuple(map(type, _values_of(body))))) is not None:
        raise InvalidParameterError(f"body.{wrong}", "has another form than a record's")
    _require_numbers(body)
    _require_reversal(body)
    return LedgerRow(
        kind=_KINDS.get(body["kind"]) or _member(RowKind, body["kind"], "body.kind"),
        reported_by=_REPORTERS.get(body["reported_by"])
        or _member(ReportedBy, body["reported_by"], "body.reported_by"),
        occurred_at=_time(body["occurred_at"], "body.occurred_at"),
        base_key=body["base_key"],
        amount_usdc_e6=None
        if body["amount_usdc"] is None
        else _amount(body["amount_usdc"], "body.amount_usdc"),
        cash_delta_usdc_e6=_amount(body["cash_delta_usdc"], "body.cash_delta_usdc"),
        chain_id=body["chain_id"],
        tx_hash=_hash_or_none(body["tx_hash"], "body.tx_hash"),
        log_index=body["log_index"],
        block_number=body["block_number"],
        block_hash=_hash_or_none(body["block_hash"], "body.block_hash"),
        payload=_shared(body["payload"]),
        author=_author(body[AUTHOR_KEY]) if AUTHOR_KEY in body else None,
        id=body["seq"],
        mandate_id=0,
        seq=body["seq"],
        incarnation=body["incarnation"],
        reverses_id=body["reverses_seq"],
        created_at=_time(body["created_at"], "body.created_at"),
        prev_hash=_hash(line["prev_hash"], "prev_hash"),
        row_hash=_hash(line["row_hash"], "row_hash"),
    )


def _shared(payload: dict[str, Any]) -> dict[str, Any]:
    """The same texts (a target, a selector, no money) stand in many rows: each is kept once."""
    for part in (payload, *payload.values()):
        if type(part) is dict:
            for key, value in part.items():
                if type(value) is str and len(value) <= MOST_SHARED:
                    part[key] = intern(value)
    return payload


def _author(said: object) -> RowAuthor:
    if not isinstance(said, Mapping):
        raise InvalidParameterError("body.author", "an object")
    _require_keys(said, AUTHOR_KEYS, "body.author")
    try:
        return row_author(**said)
    except ValueError as error:
        raise InvalidParameterError("body.author", str(error)) from error


def row_author(signer: object, sequence: object, prev: object, signature: object) -> RowAuthor:
    """A signature of a row in the one form that a record has. Errors: ValueError."""
    if not (isinstance(signer, str) and CHECKSUM_FORM.fullmatch(signer)) or (
        checksum_address(signer) != signer
    ):
        raise ValueError("signer: write a checksum address")
    if type(sequence) is not int or not 1 <= sequence <= MOST_SEQUENCE:
        raise ValueError("sequence: write a whole number from 1 on")
    if not (isinstance(prev, str) and HASH_FORM.fullmatch(prev)):
        raise ValueError("prev: write 0x and 64 lower-case hex digits")
    if not (isinstance(signature, str) and SIGNATURE_FORM.fullmatch(signature)):
        raise ValueError("signature: write 0x and lower-case hex")
    return RowAuthor(signer=signer, sequence=sequence, prev=prev, signature=signature)


@dataclass(frozen=True, slots=True)
class AnchorLine:
    """What one epoch's root says of the mandate: its head, or seq 0 and the hash that its chain
    begins with while it has none. `proof` as core.anchors.rules.HeadProof writes it.
    """

    post: EpochPost
    seq: int
    row_hash: str
    proof: str

    def to_json(self) -> dict[str, Any]:
        own = {"seq": self.seq, "row_hash": self.row_hash, "proof": self.proof}
        return {"anchor": asdict(self.post) | own}

    @classmethod
    def of_json(cls, line: Mapping[str, Any]) -> "AnchorLine":
        """Errors: InvalidParameterError when it has not the form of a record's."""
        anchor = line.get("anchor")
        if line.keys() != {"anchor"} or not isinstance(anchor, Mapping):
            raise InvalidParameterError("anchor", "an object, alone in its line")
        _require_keys(anchor, ANCHOR_KEYS, "the anchor")
        for key in ("block_number", "epoch", "seq"):
            if type(anchor[key]) is not int or anchor[key] < 0:
                raise InvalidParameterError(f"anchor.{key}", "a whole number from 0 on")
        for key in ("block_hash", "root", "root_before", "row_hash", "tx_hash"):
            if not is_hash(anchor[key]):
                raise InvalidParameterError(f"anchor.{key}", "0x and 64 lower-case hex digits")
        if not isinstance(anchor["proof"], str):
            raise InvalidParameterError("anchor.proof", "text")
        own = {key: anchor[key] for key in ("seq", "row_hash", "proof")}
        post = EpochPost(**{key: anchor[key] for key in ANCHOR_KEYS - own.keys()})
        return cls(post, **own)


def is_first_line(line: Mapping[str, Any]) -> bool:
    """Whether a line has the form of a record's first one; what it says may still be false."""
    if line.keys() != FIRST_KEYS or (line["format"], line["version"]) != (FORMAT, VERSION):
        return False
    return all(type(line[key]) in kinds for key, kinds in FIRST_FORMS.items())


def is_head(head: object) -> bool:
    """Whether a value has the form of a record's head."""
    if (
        not isinstance(head, Mapping)
        or head.keys() - {HELD_KEY} != HEAD_KEYS
        or not isinstance(head["totals"], Mapping)
    ):
        return False
    if HELD_KEY in head and not is_short_json(head[HELD_KEY]):
        return False
    as_of = head["as_of"]
    if as_of is None:
        return True
    heights = ("block_number", "reverts_block_number")
    return (
        isinstance(as_of, Mapping)
        and as_of.keys() == AS_OF_KEYS
        and is_hash(as_of["block_hash"])
        and all(type(as_of[key]) is int and as_of[key] >= 0 for key in heights)
    )


def is_hash(value: object) -> TypeGuard[str]:
    """Whether a value is 0x and 64 lower-case hex digits."""
    return isinstance(value, str) and HASH_FORM.fullmatch(value) is not None


_KINDS: Final = {kind.value: kind for kind in RowKind}
_REPORTERS: Final = {by.value: by for by in ReportedBy}
_TEXT, _TEXT_OR_NONE, _WHOLE, _WHOLE_OR_NONE = (str,), (str, type(None)), (int,), (int, type(None))
_FORMS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(
        ("base_key", "cash_delta_usdc", "created_at", "kind", "occurred_at", "reported_by"), _TEXT
    ),
    **dict.fromkeys(("amount_usdc", "block_hash", "tx_hash"), _TEXT_OR_NONE),
    **dict.fromkeys(("incarnation", "seq"), _WHOLE),
    **dict.fromkeys(("block_number", "chain_id", "log_index", "reverses_seq"), _WHOLE_OR_NONE),
    "payload": (dict,),
}
_values_of = itemgetter(*_FORMS)


@lru_cache(maxsize=64)  # of all rows but a few, the types are those of the row before
def _wrong_form(found: tuple[type, ...]) -> str | None:
    """The first key whose value has none of its types; `found`: in the order of `_FORMS`."""
    pairs = zip(_FORMS.items(), found, strict=True)
    return next((key for (key, kinds), kind in pairs if kind not in kinds), None)


# the least that each number may be
_LEAST: Final[Mapping[str, int]] = {
    "block_number": 0, "chain_id": 1, "incarnation": 1, "log_index": 0, "reverses_seq": 1, "seq": 1,
}  # fmt: skip


def _require_numbers(body: Mapping[str, Any]) -> None:
    for key, least in _LEAST.items():
        found = body[key]
        if found is not None and found < least:
            raise InvalidParameterError(f"body.{key}", f"write {least} or more")


def _require_reversal(body: Mapping[str, Any]) -> None:
    """A reversal names the same row twice, and nothing else names one."""
    reverses = body["reverses_seq"]
    if reverses is None:
        return
    named = body["payload"].get("reverses_seq")
    if type(named) is not int or named != reverses:
        raise InvalidParameterError("body.reverses_seq", "name the row that the payload names")


def _require_keys(found: Mapping[str, Any], wanted: frozenset[str], place: str) -> None:
    if found.keys() != wanted:
        raise InvalidParameterError(
            min(found.keys() ^ wanted), f"{place} has other keys than a record's"
        )


def _member(kinds: Any, text: str, key: str) -> Any:
    try:
        return kinds(text)
    except ValueError as error:
        raise InvalidParameterError(key, f"one of {', '.join(kinds)}") from error


@lru_cache(maxsize=4_096)  # a ledger has few different amounts
def _amount(text: str, key: str) -> UsdcE6:
    amount = usdc_e6_from_text(text, key)
    if usdc_text(amount) != text:
        raise InvalidParameterError(key, "write six decimals")
    return amount


@lru_cache(maxsize=1_024)  # the rows of a block have one time
def _time(text: str, key: str) -> datetime:
    """Week dates, other zones and digits of other scripts are no times of a record."""
    try:
        return _instant(text)
    except ValueError:
        raise InvalidParameterError(key, "write 2026-02-02T09:00:00.000000Z") from None


@lru_cache(maxsize=TIMES_KEPT)  # rows of one block have one time, and keep one object
def _instant(text: str) -> datetime:
    """Errors: ValueError."""
    if _TIME_TEXT.fullmatch(text):
        at = datetime.fromisoformat(text)
        if exact_instant_text(at) == text:
            return at
    raise ValueError(text)


def _hash_or_none(value: str | None, key: str) -> str | None:
    """Of a block or a transaction, which stands in many rows: each is kept once."""
    return None if value is None else _known_hash(value, key)


@lru_cache(maxsize=1_024)
def _known_hash(value: str, key: str) -> str:
    return intern(_hash(value, key))


def _hash(value: object, key: str) -> str:
    if is_hash(value):
        return value
    raise InvalidParameterError(key, "write 0x and 64 lower-case hex digits")
