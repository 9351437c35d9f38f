"""The service's ledger of warnings, checked from its lines alone (docs/verify.md).

    line --form, canonical bytes--> row --number, hash--> chain --issued, cleared, reopened--> head

Laws
- Nothing is asked of the service. What no file can show, that a row was there at its time, only a
  head that somebody kept shows.
- The first difference of the chain ends the check: what follows a broken link proves nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Final

import msgspec

from core.canonical import canonical_json, chain_hash
from core.errors import InvalidParameterError

FORMAT: Final = "warnings"
GENESIS: Final = sha256(b"warnings:v1:1").digest()
SAME_WITHIN: Final = timedelta(hours=24)
MOST_LINE_BYTES: Final = 1_000_000
_BODY: Final = {
    "seq": int,
    "action": str,
    "clears_seq": int | None,
    "reopens_seq": int | None,
    "exchange": str,
    "asset_id": int,
    "token": str,
    "listing_id": int | None,
    "type": str,
    "severity": str,
    "is_predictive": bool,
    "at": str,
    "evidence": dict,
    "rule_version": str,
    "source_event": str | None,
    "is_imported": bool,
}


class WarningsDifferError(Exception):
    """`name`: of what differs, as in docs/verify.md. `seq`: of its row; None: of none."""

    def __init__(self, name: str, seq: int | None, said: str) -> None:
        super().__init__(said)
        self.name, self.seq = name, seq


@dataclass(slots=True)
class WarningsChecked:
    """`rows`: proven so far. `is_whole`: up to the newest head that the file has."""

    rows: int = 0
    row_hash: bytes = GENESIS
    imported: int = 0
    open: int = 0
    is_whole: bool = False
    head_seq: int = 0


@dataclass(slots=True)
class _Warnings:
    """What the rows so far come to. `open`: the row that issued, by key; `ended`: when what that
    row issued was cleared.
    """

    done: WarningsChecked = field(default_factory=WarningsChecked)
    open: dict[tuple[str, int, str], int] = field(default_factory=dict)
    ended: dict[int, tuple[tuple[str, int, str], datetime]] = field(default_factory=dict)
    last_at: datetime | None = None
    has_begun: bool = False


def check_warnings(lines: Iterable[bytes], kept: Sequence[tuple[int, bytes]]) -> WarningsChecked:
    """`lines`: of one answer, or of several, each behind the one before. `kept`: heads that were
    written down.

    Errors: WarningsDifferError.
    """
    state, wanted = _Warnings(), dict[int, set[bytes]]()
    for seq, row_hash in kept:
        wanted.setdefault(seq, set()).add(row_hash)
    _require_kept(wanted, 0, GENESIS)
    for line in lines:
        found = _read(line, state.done.rows)
        if "format" in found:
            _begin(found, state)
        elif not state.has_begun:
            raise WarningsDifferError("warnings.form", None, "the file does not say what it is")
        elif "head" in found:
            _end(found, state.done)
        else:
            _row(found, state)
            _require_kept(wanted, state.done.rows, state.done.row_hash)
    missing = [seq for seq in wanted if seq > state.done.rows]
    if state.done.is_whole and missing:
        said = f"a head of row {min(missing)} was kept, and the ledger ends at {state.done.rows}"
        raise WarningsDifferError("warnings.shorter", None, said)
    state.done.is_whole &= not missing
    state.done.open = len(state.open)
    return state.done


def _require_kept(wanted: Mapping[int, set[bytes]], seq: int, row_hash: bytes) -> None:
    if wanted.get(seq, {row_hash}) != {row_hash}:
        said = "a head of this row that was kept has another hash: the past was rewritten"
        raise WarningsDifferError("warnings.rewritten", seq, said)


def _read(line: bytes, rows: int) -> Mapping[str, Any]:
    content = line.rstrip(b"\n")
    if len(content) > MOST_LINE_BYTES:
        raise WarningsDifferError("warnings.form", rows + 1, "a line is too long")
    try:
        found = msgspec.json.decode(content)
        is_same = isinstance(found, dict) and canonical_json(found) == content
    except (msgspec.DecodeError, InvalidParameterError, RecursionError):
        is_same = False
    if not is_same:
        raise WarningsDifferError("warnings.form", rows + 1, "a line is not canonical JSON")
    return found  # type: ignore[no-any-return]  # an object, as was seen


def _begin(found: Mapping[str, Any], state: _Warnings) -> None:
    expected = {"format": FORMAT, "version": 1, "genesis_hash": GENESIS.hex()}
    if {name: found.get(name) for name in expected} != expected:
        raise WarningsDifferError("warnings.form", None, "this is no ledger of warnings, version 1")
    if found.get("after") != state.done.rows:
        said = f"an answer begins behind row {found.get('after')}, the file has {state.done.rows}"
        raise WarningsDifferError("warnings.gap", None, said)
    state.has_begun = True


def _end(found: Mapping[str, Any], done: WarningsChecked) -> None:
    head = found["head"]
    seq = head.get("seq") if isinstance(head, dict) else None
    if not isinstance(seq, int) or seq < done.rows or seq < done.head_seq:
        raise WarningsDifferError("warnings.head", None, "the head is before the last row")
    done.head_seq, done.is_whole = seq, seq == done.rows
    if done.is_whole and head.get("row_hash") != done.row_hash.hex():
        raise WarningsDifferError("warnings.head", seq, "the head has another hash than the row")


def _row(found: Mapping[str, Any], state: _Warnings) -> None:
    done, body = state.done, found.get("body")
    seq = done.rows + 1
    if set(found) != {"body", "prev_hash", "row_hash"} or not _has_form(body):
        raise WarningsDifferError("warnings.form", seq, "a row has another form")
    assert isinstance(body, dict), "its form was seen"
    if body["seq"] != seq:
        raise WarningsDifferError("warnings.gap", seq, f"row {body['seq']} is where {seq} belongs")
    row_hash = chain_hash(done.row_hash, canonical_json(body))
    if found["prev_hash"] != done.row_hash.hex() or found["row_hash"] != row_hash.hex():
        raise WarningsDifferError("warnings.chain", seq, "the hash is not that of the row")
    _happened(body, state)
    done.rows, done.row_hash, done.is_whole = seq, row_hash, False
    done.imported += body["is_imported"]


def _has_form(body: object) -> bool:
    if not isinstance(body, dict) or body.keys() != _BODY.keys():
        return False
    return all(
        isinstance(body[name], kind) and (kind is bool or not isinstance(body[name], bool))
        for name, kind in _BODY.items()
    )


def _happened(body: Mapping[str, Any], state: _Warnings) -> None:
    """Its time and what it does to the warning fit what was before."""
    seq, key = body["seq"], (body["exchange"], body["asset_id"], body["type"])
    try:
        at = datetime.fromisoformat(body["at"])
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise WarningsDifferError("warnings.form", seq, "its time is none")
    is_late_import = body["is_imported"] and state.done.imported != state.done.rows
    if is_late_import or (state.last_at is not None and at < state.last_at):
        raise WarningsDifferError("warnings.time", seq, "it is older than the row before it")
    state.last_at = at
    clears, reopens = body["clears_seq"], body["reopens_seq"]
    match body["action"], clears, reopens:
        case "issued", None, None:
            fits = key not in state.open
            state.open[key] = seq
        case "cleared", int(), None:
            fits = state.open.pop(key, None) == clears
            state.ended[clears] = (key, at)
        case "reopened", None, int():
            ended_key, ended_at = state.ended.pop(reopens, (None, at))
            fits = ended_key == key and key not in state.open and at - ended_at < SAME_WITHIN
            state.open[key] = reopens
        case _:
            fits = False
    if not fits:
        said = f"{body['action']} does not follow from the rows before it"
        raise WarningsDifferError("warnings.state", seq, said)
