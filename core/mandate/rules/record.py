"""The record: its signed rows, its hash chain and its file.

What an author signs of a row, and where the next signed row of an author goes.

    agent's rows      1 (unsigned)   2 signed   3 signed            5 signed
    author.sequence                  1          2                   3
    author.prev                      0x00..     row_hash of 2       row_hash of 3

Laws
- Owner, agent and keeper each have one sequence in a mandate's ledger, whoever signs for them.
- `prev` is the hash of a ledger row, and that hashes all rows before it: a signature vouches for the
  whole ledger up to the author's row before.
- Who has signed a row signs every later row of their own. The service's own words in an agent's name
  (`is_own_word` is false) are never signed.
- The service's flags on a report are no part of what its author signed.
Source: docs/record.md#signed-rows.

The record's hash chain: how a row becomes bytes, and how anyone can check that no row was
changed.

    hash(0) = SHA-256("mandate-ledger:v1:" + public_id)                         genesis, one a mandate
    hash(n) = SHA-256(hash(n - 1) || RFC 8785 JSON of body(n))                  n = 1, 2, 3 ... without a gap

`body` is what `row_body` returns: every public fact of the row. Ids of the database stay out,
because they are not facts of the record; a reversal names the reversed row by its seq. Hashes are
written as 0x and 64 lower-case hex digits. docs/record.md shows the check step by step.

The public record as a file: canonical JSON lines, first the terms, then the rows, last the head.

    {chain_id, factory, format, genesis_hash, guard_targets, mandate_id, market_mode, rules, signature, terms, terms_digest, ...}
    {body, prev_hash, row_hash}                          one a row, from seq 1 on (core.mandate.rules.record); `author` in its
                                                         body where somebody signed it (core.mandate.rules.record)
    {anchor: {block_hash, block_number, epoch, proof, root, root_before, row_hash, seq, tx_hash}}    one an epoch, rising
    {head: {as_of, row_hash, seq, totals}}               and `held` in it while the record is short of facts of the chain

`as_of`: the newest block whose logs the rows contain, and the height up to which reverted calls
were looked up; null on paper.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import lru_cache
from sys import intern
from typing import Annotated, Any, Final, Literal, TypeGuard, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from core.anchors.rules import EpochPost
from core.canonical import canonical_json, chain_hash
from core.errors import InvalidParameterError
from core.hexes import checksum_address
from core.mandate.rules.rows import LedgerRow, NewRow, ReportedBy, RowAuthor, RowKind
from core.mandate.rules.state import MandateState
from core.money import UsdcE6, usdc_e6_from_text, usdc_text, usdc_text_or_none
from core.quarantine.rules import is_short_json
from core.times import exact_instant_text

AUTHORS: Final = frozenset({ReportedBy.OWNER, ReportedBy.AGENT, ReportedBy.KEEPER})
FIRST_SEQUENCE: Final = 1
NO_ROW_BEFORE: Final = "0x" + "00" * 32
# what the service writes beside an agent's report: a rule that it broke; no such transaction
SERVICE_KEYS: Final = frozenset({"unseen", "violation"})
# rows that the owner's signature of the terms covers
OF_SIGNED_TERMS: Final = frozenset({"paper_deposit", "signed"})


@dataclass(frozen=True, slots=True)
class NextSignature:
    """Where the next signed row of an author goes."""

    sequence: int
    prev: str


def next_signature(newest: LedgerRow | None) -> NextSignature:
    """`newest`: the author's last signed row; None when there is none yet."""
    if newest is None or newest.author is None:
        return NextSignature(FIRST_SEQUENCE, NO_ROW_BEFORE)
    return NextSignature(newest.author.sequence + 1, newest.row_hash)


def authored_payload(payload: Mapping[str, Any]) -> dict[str, Any]:
    """What its author said of a row's payload: all but the service's flags."""
    return {key: value for key, value in payload.items() if key not in SERVICE_KEYS}


def is_own_word(row: NewRow) -> bool:
    """Whether only its author can have said this: no log shows it, nor do the signed terms, and it
    is no refusal that the service itself gave.
    """
    if row.reported_by not in AUTHORS or row.block_hash is not None:
        return False
    refusal = row.payload.get("refusal")
    is_of_service = isinstance(refusal, Mapping) and refusal.get("reason_source") == "server"
    return row.base_key not in OF_SIGNED_TERMS and not is_of_service


GENESIS_PREFIX = "mandate-ledger:v1:"


def genesis_hash(public_id: str) -> str:
    """What the first row of a mandate is chained to. 0x lower-case hex."""
    return "0x" + hashlib.sha256((GENESIS_PREFIX + public_id).encode()).hexdigest()


def row_hash(prev_hash: str, canonical: bytes) -> str:
    """The hash of a row: `prev_hash` is the row's before it (0x hex), `canonical` its own
    `canonical_row`.
    """
    return "0x" + chain_hash(bytes.fromhex(prev_hash.removeprefix("0x")), canonical).hex()


def canonical_row(row: LedgerRow) -> bytes:
    """The bytes of a row that are hashed.

    Reads neither ids nor hashes of the row, so they may still be unset.

    Errors: InvalidParameterError for a payload with a float; ValueError for a reversal that names
    no `reverses_seq`.
    """
    return canonical_json(row_body(row))


def row_body(row: LedgerRow) -> dict[str, Any]:
    """Every public fact of a row: money as text with six decimals, times as UTC text with six
    decimals, no ids. `author` only where somebody signed the row.
    """
    return {
        "seq": row.seq,
        "kind": row.kind.value,
        "reported_by": row.reported_by.value,
        "base_key": row.base_key,
        "incarnation": row.incarnation,
        "reverses_seq": _reverses_seq(row),
        "amount_usdc": usdc_text_or_none(row.amount_usdc_e6),
        "cash_delta_usdc": usdc_text(row.cash_delta_usdc_e6),
        "chain_id": row.chain_id,
        "tx_hash": row.tx_hash,
        "log_index": row.log_index,
        "block_number": row.block_number,
        "block_hash": row.block_hash,
        "payload": row.payload,
        "occurred_at": exact_instant_text(row.occurred_at),
        "created_at": exact_instant_text(row.created_at),
    } | ({} if row.author is None else {"author": asdict(row.author)})


def record_line(row: LedgerRow) -> bytes:
    """One line of the public record: canonical JSON of {body, prev_hash, row_hash}, without a line
    end.
    """
    return canonical_json(
        {"body": row_body(row), "prev_hash": row.prev_hash, "row_hash": row.row_hash}
    )


def chain_faults(rows: Iterable[LedgerRow], public_id: str) -> list[str]:
    """What is wrong with a ledger read from its first row on; empty means sound.

    Finds: a gap or a doubled seq, a row that is not chained to the one before, a row whose content
    does not give its hash or can't be hashed (a float), a reversal that points at another row than
    its payload says, or at a later one.
    """
    faults: list[str] = []
    expected_prev, seq_by_id = genesis_hash(public_id), dict[int, int]()
    for expected_seq, row in enumerate(rows, start=1):
        faults += _row_faults(row, expected_seq, expected_prev, seq_by_id)
        expected_prev, seq_by_id[row.id] = row.row_hash, row.seq
    return faults


def _row_faults(
    row: LedgerRow, expected_seq: int, expected_prev: str, seq_by_id: dict[int, int]
) -> list[str]:
    faults = []
    if row.seq != expected_seq:
        faults.append(f"seq {row.seq}: expected seq {expected_seq}")
    if row.prev_hash != expected_prev:
        faults.append(
            f"seq {row.seq}: prev_hash is {row.prev_hash}, the row before has {expected_prev}"
        )
    if row.reverses_id is not None and seq_by_id.get(row.reverses_id) != row.payload.get(
        "reverses_seq"
    ):
        faults.append(
            f"seq {row.seq}: reverses seq {seq_by_id.get(row.reverses_id)}, its payload says "
            f"{row.payload.get('reverses_seq')}"
        )
        return faults
    try:
        computed = row_hash(row.prev_hash, canonical_row(row))
    except (InvalidParameterError, ValueError) as error:
        return [*faults, f"seq {row.seq}: its content can't be hashed: {error}"]
    if row.row_hash != computed:
        faults.append(f"seq {row.seq}: row_hash is {row.row_hash}, its content gives {computed}")
    return faults


def _reverses_seq(row: LedgerRow) -> int | None:
    if row.reverses_id is None:
        return None
    seq = row.payload.get("reverses_seq")
    if not isinstance(seq, int):
        raise ValueError(
            f"a reversal names the reversed row in payload.reverses_seq (seq {row.seq})"
        )
    return seq


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
