"""The public record as a file: canonical JSON lines, first the terms, then the rows, last the head.

    {chain_id, factory, format, genesis_hash, guard_targets, mandate_id, market_mode, rules, signature, terms, terms_digest, ...}
    {body, prev_hash, row_hash}                          one a row, from seq 1 on (core.mandate.rules.record)
    {anchor: {block_hash, block_number, epoch, proof, root, root_before, row_hash, seq, tx_hash}}    one an epoch, rising
    {head: {as_of, row_hash, seq, totals}}               and `held` in it while the record is short of facts of the chain

`as_of`: the newest block whose logs the rows contain, and the height up to which reverted calls
were looked up; null on paper.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from core.anchors.rules import EpochPost
from core.errors import InvalidParameterError
from core.mandate.rules.rows import LedgerRow, ReportedBy, RowKind
from core.mandate.rules.state import MandateState
from core.money import UsdcE6, usdc_e6_from_text, usdc_text
from core.quarantine.rules import is_short_json

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
TIME_CHARACTERS: Final = 27
HASH: Final = re.compile(r"0x[0-9a-f]{64}", re.ASCII)


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
    """The row of a record's line.

    Ids are not public: `id` is the seq, `reverses_id` the reversed row's, `mandate_id` 0.

    Errors: InvalidParameterError naming the key that is missing, unknown or has another form.
    """
    _require_keys(line, ROW_KEYS, "the line")
    body = line["body"]
    if not isinstance(body, Mapping):
        raise InvalidParameterError("body", "an object")
    _require_keys(body, BODY_KEYS, "body")
    for key, kinds in _FORMS.items():
        if type(body[key]) not in kinds:
            raise InvalidParameterError(f"body.{key}", "has another form than a record's")
    return LedgerRow(
        kind=_member(RowKind, body["kind"], "body.kind"),
        reported_by=_member(ReportedBy, body["reported_by"], "body.reported_by"),
        occurred_at=_time(body["occurred_at"], "body.occurred_at"),
        base_key=body["base_key"],
        amount_usdc_e6=None
        if body["amount_usdc"] is None
        else _amount(body["amount_usdc"], "body.amount_usdc"),
        cash_delta_usdc_e6=_amount(body["cash_delta_usdc"], "body.cash_delta_usdc"),
        chain_id=body["chain_id"],
        tx_hash=body["tx_hash"],
        log_index=body["log_index"],
        block_number=body["block_number"],
        block_hash=body["block_hash"],
        payload=body["payload"],
        id=body["seq"],
        mandate_id=0,
        seq=body["seq"],
        incarnation=body["incarnation"],
        reverses_id=body["reverses_seq"],
        created_at=_time(body["created_at"], "body.created_at"),
        prev_hash=str(line["prev_hash"]),
        row_hash=str(line["row_hash"]),
    )


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
            if not isinstance(anchor[key], str) or HASH.fullmatch(anchor[key]) is None:
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
        and all(type(as_of[key]) is int and as_of[key] >= 0 for key in heights)
    )


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


def _amount(text: str, key: str) -> UsdcE6:
    amount = usdc_e6_from_text(text, key)
    if usdc_text(amount) != text:
        raise InvalidParameterError(key, "write six decimals")
    return amount


def _time(text: str, key: str) -> datetime:
    try:
        if len(text) == TIME_CHARACTERS and text[-1] == "Z":
            return datetime.fromisoformat(text)
    except ValueError:
        pass
    raise InvalidParameterError(key, "write 2026-02-02T09:00:00.000000Z")
