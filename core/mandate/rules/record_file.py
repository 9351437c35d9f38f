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
from sys import intern
from typing import Annotated, Any, Final, Literal, TypeGuard, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

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
MOST_SHARED: Final = 66  # characters: an address or a hash
TIMES_KEPT: Final = 512  # newest ones
# {facts, from_block}: what the chain said and the rows do not say yet (core.quarantine.rules)
HELD_KEY: Final = "held"
HASH_FORM: Final = re.compile("0x[0-9a-f]{64}")
_TIME_TEXT: Final = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}Z")

Height = Annotated[int, Meta(ge=0)]
Number = Annotated[int, Meta(ge=1)]
Hash = Annotated[str, Meta(pattern=r"^0x[0-9a-f]{64}\Z")]


class RecordForm(msgspec.Struct, forbid_unknown_fields=True):
    """An object of a record: these keys and no others."""


class FirstForm(RecordForm):
    format: Literal["mandate-record"]
    version: Literal[2]
    mandate_id: str
    market_mode: str
    chain_id: int
    factory: str
    vault: str | None
    terms_version: int
    terms: dict[str, Any]
    terms_digest: str
    rules: list[Any]
    guard_targets: list[Any]
    signature: str | None
    genesis_hash: str


class AuthorForm(RecordForm):
    signer: Annotated[str, Meta(pattern=r"^0x[0-9a-fA-F]{40}\Z")]
    sequence: Annotated[int, Meta(ge=1, le=2**53 - 1)]
    prev: Hash
    signature: Annotated[str, Meta(pattern=r"^0x([0-9a-f]{2}){0,8191}\Z")]


class BodyForm(RecordForm):
    seq: Number
    kind: RowKind
    reported_by: ReportedBy
    base_key: str
    incarnation: Number
    reverses_seq: Number | None
    amount_usdc: str | None
    cash_delta_usdc: str
    chain_id: Number | None
    tx_hash: Hash | None
    log_index: Height | None
    block_number: Height | None
    block_hash: Hash | None
    payload: dict[str, Any]
    occurred_at: str
    created_at: str
    author: AuthorForm | UnsetType = UNSET


class RowForm(RecordForm):
    body: BodyForm
    prev_hash: Hash
    row_hash: Hash


class AnchorForm(RecordForm):
    epoch: Height
    root: Hash
    root_before: Hash
    block_number: Height
    block_hash: Hash
    tx_hash: Hash
    seq: Height
    row_hash: Hash
    proof: str


class AnchorLineForm(RecordForm):
    anchor: AnchorForm


class AsOfForm(RecordForm):
    block_number: Height
    block_hash: Hash
    reverts_block_number: Height


class HeadForm(RecordForm):
    as_of: AsOfForm | None
    row_hash: Any
    seq: Any
    totals: dict[str, Any]
    held: Any = UNSET


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
    found = _read(line, RowForm)
    body = found.body
    # a reversal names the same row twice, and nothing else names one
    if body.reverses_seq is not None:
        named = body.payload.get("reverses_seq")
        if type(named) is not int or named != body.reverses_seq:
            raise InvalidParameterError("body.reverses_seq", "name the row that the payload names")
    return LedgerRow(
        kind=body.kind,
        reported_by=body.reported_by,
        occurred_at=_time(body.occurred_at, "body.occurred_at"),
        base_key=body.base_key,
        amount_usdc_e6=None
        if body.amount_usdc is None
        else _amount(body.amount_usdc, "body.amount_usdc"),
        cash_delta_usdc_e6=_amount(body.cash_delta_usdc, "body.cash_delta_usdc"),
        chain_id=body.chain_id,
        tx_hash=body.tx_hash and intern(body.tx_hash),
        log_index=body.log_index,
        block_number=body.block_number,
        block_hash=body.block_hash and intern(body.block_hash),
        payload=_shared(body.payload),
        author=None if isinstance(body.author, UnsetType) else _author(body.author),
        id=body.seq,
        mandate_id=0,
        seq=body.seq,
        incarnation=body.incarnation,
        reverses_id=body.reverses_seq,
        created_at=_time(body.created_at, "body.created_at"),
        prev_hash=found.prev_hash,
        row_hash=found.row_hash,
    )


def _shared(payload: dict[str, Any]) -> dict[str, Any]:
    """The same texts (a target, a selector, no money) stand in many rows: each is kept once."""
    for part in (payload, *payload.values()):
        if type(part) is dict:
            for key, value in part.items():
                if type(value) is str and len(value) <= MOST_SHARED:
                    part[key] = intern(value)
    return payload


def _author(form: AuthorForm) -> RowAuthor:
    if checksum_address(form.signer) != form.signer:
        raise InvalidParameterError("body.author.signer", "write a checksum address")
    return RowAuthor(**msgspec.structs.asdict(form))


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
        form = msgspec.structs.asdict(_read(line, AnchorLineForm).anchor)
        own = {key: form.pop(key) for key in ("seq", "row_hash", "proof")}
        return cls(EpochPost(**form), **own)


def is_first_line(line: Mapping[str, Any]) -> bool:
    """Whether a line has the form of a record's first one; what it says may still be false."""
    return _has_form(line, FirstForm)


def is_head(head: object) -> bool:
    """Whether a value has the form of a record's head."""
    if not isinstance(head, Mapping) or not _has_form(head, HeadForm):
        return False
    return HELD_KEY not in head or is_short_json(head[HELD_KEY])


def is_hash(value: object) -> TypeGuard[str]:
    """Whether a value is 0x and 64 lower-case hex digits."""
    return isinstance(value, str) and HASH_FORM.fullmatch(value) is not None


Form = TypeVar("Form", bound=RecordForm)


def _read(value: Mapping[str, Any], form: type[Form]) -> Form:
    """Errors: InvalidParameterError naming the place."""
    try:
        return msgspec.convert(value, form)
    except msgspec.ValidationError as error:
        rule, _, place = str(error).partition(" - at `$.")
        raise InvalidParameterError(place.rstrip("`") or "line", rule) from error


def _has_form(value: Mapping[str, Any], form: type[RecordForm]) -> bool:
    try:
        _read(value, form)
    except InvalidParameterError:
        return False
    return True


@lru_cache(maxsize=4_096)  # a ledger has few different amounts
def _amount(text: str, key: str) -> UsdcE6:
    amount = usdc_e6_from_text(text, key)
    if usdc_text(amount) != text:
        raise InvalidParameterError(key, "write six decimals")
    return amount


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
