"""The declared form of every row that no log gives: one key, kind, author and payload each.

A row is taken apart into what its writer was given, written again by the same function as the
service's (core.mandate.rules.cash, new_rows), and both must be the same. What no
writer writes is of no declared form.

| key | by | mode |
|---|---|---|
| signed | owner | both |
| paper_deposit, stop | owner (a stop: the agent too) | paper |
| cancelled | owner | both |
| expired | chain | testnet |
| report:{32 hex digits} | agent | both |
| refusal:{transaction, or 32 hex digits}, refusal:guard:{resource}:{hour} | agent | both |
| stop_request:{32 hex digits} | agent | testnet |
| hl_leg_bound:{leg}, hl_leg_unbound:{leg} | owner | testnet |
| hl_order:{seq}, hl_order_result:{seq}:{status}, hl_stop_line:{leg}:{number} | keeper | testnet |
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from api.client.verify.terms_check import RecordSubject
from core.errors import InvalidParameterError
from core.mandate.rules.cash import cancelled_note, signed_rows, stop_row
from core.mandate.rules.new_rows import (
    after_stop_note,
    event_row,
    expired_note,
    guard_refusal_note,
    refusal_note,
    stop_request_note,
)
from core.mandate.rules.record import authored_payload
from core.mandate.rules.rows import TRADES, LedgerRow, NewRow, ReportedBy, refusal_report
from core.money import usdc_e6_from_text, usdc_text
from core.perps.rules.notes import (
    BOUND,
    ORDER,
    ORDER_WORDS,
    RESULT,
    STOP_LINE,
    UNBOUND,
    leg_note,
    order_note,
    result_note,
    stop_line_note,
)

# The service's own flags on a report (api/client/verify/flags_check.py judges them again).
VIOLATION: Final = "violation"
UNSEEN: Final = "unseen"
POSITIONS_VOID: Final = "positions_void"  # what a paper stop gave back (replay.py)
EXPIRED: Final = "expired"
HOUR_S: Final = 3_600
T = TypeVar("T")
_FACT: Final = re.compile("[0-9a-f]{32}")
_COUNT: Final = re.compile("[1-9][0-9]{0,17}")
_RULES: Final[Mapping[type, str]] = {
    dict: "write an object",
    str: "write text",
    bool: "write true or false",
    int: "write a whole number",
}
_GUARD: Final = re.compile("guard:0x[0-9a-f]{64}:([0-9]{1,12})")


def declared(row: LedgerRow, subject: RecordSubject) -> NewRow | None:
    """The row as its writer would have written it; None when no writer writes one of this key in a
    mandate of this mode.

    Errors: InvalidParameterError for what its writer would have refused; other MandateErrors
    likewise.
    """
    prefix, _, fact = row.base_key.partition(":")
    on_paper, on_testnet = _FORMS.get(prefix, (None, None))
    write = on_paper if subject.is_paper else on_testnet
    return None if write is None else write(row, subject, fact)


def safe_block_of(row: LedgerRow) -> int:
    """The block by whose time terms had ended, as the row says; 0 when it names none."""
    expired = row.payload.get("terms_expired")
    number = expired.get("safe_block") if isinstance(expired, Mapping) else None
    return number if type(number) is int and number >= 0 else 0


def is_stated(row: LedgerRow) -> bool:
    """Whether a row is somebody's word: its key names neither a log nor a call that failed."""
    return not row.base_key.startswith(("log:", "revert:")) and row.reverses_id is None


def _of_signature(row: LedgerRow, subject: RecordSubject, fact: str) -> NewRow:
    """What the signature of the terms writes: that they were signed and, on paper, the deposit."""
    rows = signed_rows(
        subject.facts,
        terms_digest=subject.digest,
        version=subject.terms_version,
        now=row.occurred_at,
    )
    word = row.base_key.partition(":")[0]
    return next(one for one in rows if one.base_key == word)


def _stop(row: LedgerRow, subject: RecordSubject, fact: str) -> NewRow:
    by = row.reported_by if row.reported_by is ReportedBy.AGENT else ReportedBy.OWNER
    stop = stop_row(by=by, reason=by.value, now=row.occurred_at)
    void = {key: row.payload[key] for key in (POSITIONS_VOID,) if key in row.payload}
    return replace(stop, payload={**stop.payload, **void})


def _cancelled(row: LedgerRow, subject: RecordSubject, fact: str) -> NewRow:
    return cancelled_note(row.occurred_at)


def _expired(row: LedgerRow, subject: RecordSubject, fact: str) -> NewRow:
    ends_at = datetime.fromtimestamp(subject.terms.ends_at, UTC)
    return expired_note(
        ends_at, safe_block=_height(_said(row.payload, "terms_expired", dict), "safe_block")
    )


def _report(row: LedgerRow, subject: RecordSubject, fact: str) -> NewRow:
    _require_fact(fact)
    wanted = event_row(
        kind=row.kind.value,
        amount_usdc_e6=row.amount_usdc_e6,
        tx_hash=row.tx_hash,
        why=None,
        payload=authored_payload(row.payload),
        violation=None,
        fact=fact,
        now=row.occurred_at,
        chain_id=subject.chain_id,
    )
    flags = {key: row.payload[key] for key in (VIOLATION, UNSEEN) if key in row.payload}
    return replace(wanted, payload={**wanted.payload, **flags})


def _refusal(row: LedgerRow, subject: RecordSubject, fact: str) -> NewRow:
    refusal = _said(row.payload, "refusal", dict)
    if guard := _GUARD.fullmatch(fact):
        if int(guard[1]) != int(row.occurred_at.timestamp()) // HOUR_S:
            raise InvalidParameterError("base_key", "name the hour that it was refused in")
        return guard_refusal_note(
            detail=_said(refusal, "detail", str), fact=fact, now=row.occurred_at
        )
    if fact != row.tx_hash:
        _require_fact(fact)
    if "code" in refusal:
        return _after_stop(row, subject, fact, refusal)
    report = refusal_report(_said(refusal, "reason", str), row.tx_hash, _attempted(refusal))
    return refusal_note(report, fact=fact, now=row.occurred_at)


def _after_stop(
    row: LedgerRow, subject: RecordSubject, fact: str, refusal: Mapping[str, Any]
) -> NewRow:
    """The service refuses a trade after a stop itself on paper alone."""
    kind = next(
        (one for one in TRADES if one.value == _said(refusal, "attempted", dict).get("kind")), None
    )
    if kind is None or not subject.is_paper:
        raise InvalidParameterError("refusal", "it is none that the service writes")
    return after_stop_note(
        kind=kind,
        amount_usdc_e6=_attempted(refusal),
        tx_hash=row.tx_hash,
        why=_said_or_none(row.payload, "why", str),
        fact=fact,
        now=row.occurred_at,
    )


def _stop_request(row: LedgerRow, subject: RecordSubject, fact: str) -> NewRow:
    _require_fact(fact)
    return stop_request_note(
        why=_said_or_none(row.payload, "why", str), fact=fact, now=row.occurred_at
    )


def _leg(row: LedgerRow, subject: RecordSubject, fact: str) -> NewRow:
    leg_id = _count(fact)
    word = row.base_key.partition(":")[0]
    leg = _said(row.payload, word, dict)
    parties = {name: _said(leg, name, str) for name in ("agent_address", "dex")}
    parties["owner_address"] = subject.terms.owner
    return leg_note(word, leg_id, parties, row.occurred_at)


def _order(row: LedgerRow, subject: RecordSubject, fact: str) -> NewRow:
    order = _said(row.payload, ORDER, dict)
    return order_note(
        _count(fact),
        {name: _said(order, name, str) for name in ORDER_WORDS},
        reduce_only=_said(order, "reduce_only", bool),
        why=_said_or_none(order, "why", str),
        now=row.occurred_at,
    )


def _result(row: LedgerRow, subject: RecordSubject, fact: str) -> NewRow:
    result = _said(row.payload, RESULT, dict)
    return result_note(
        _count(fact.partition(":")[0]),
        status=_said(result, "status", str),
        cloid=_said(result, "cloid", str),
        avg_px=_said_or_none(result, "avg_px", str),
        total_sz=_said_or_none(result, "total_sz", str),
        oid=_height(result, "oid") if "oid" in result else None,
        venue_words=_said_or_none(result, "venue_words", str),
        now=row.occurred_at,
    )


def _stop_line(row: LedgerRow, subject: RecordSubject, fact: str) -> NewRow:
    leg, _, number = fact.partition(":")
    stop_line = _said(row.payload, STOP_LINE, dict)
    return stop_line_note(
        _count(leg),
        _count(number),
        status=_said(stop_line, "status", str),
        transient=bool(_said_or_none(stop_line, "transient", bool)),
        key_lost=bool(_said_or_none(stop_line, "key_lost", bool)),
        why=_said_or_none(stop_line, "why", str),
        now=row.occurred_at,
    )


_Write = Callable[[LedgerRow, RecordSubject, str], NewRow]
# By key up to the colon: (on paper, on testnet).
_FORMS: Final[Mapping[str, tuple[_Write | None, _Write | None]]] = {
    "signed": (_of_signature, _of_signature),
    "paper_deposit": (_of_signature, None),
    "stop": (_stop, None),
    "cancelled": (_cancelled, _cancelled),
    EXPIRED: (None, _expired),
    "report": (_report, _report),
    "refusal": (_refusal, _refusal),
    "stop_request": (None, _stop_request),
    BOUND: (None, _leg),
    UNBOUND: (None, _leg),
    ORDER: (None, _order),
    RESULT: (None, _result),
    STOP_LINE: (None, _stop_line),
}


def _said(of: Mapping[str, Any], key: str, kind: type[T]) -> T:
    found = of.get(key)
    if type(found) is not kind:
        raise InvalidParameterError(key, _RULES[kind])
    return found


def _said_or_none(of: Mapping[str, Any], key: str, kind: type[T]) -> T | None:
    return _said(of, key, kind) if key in of else None


def _height(of: Mapping[str, Any], key: str) -> int:
    found = _said(of, key, int)
    if found < 0:
        raise InvalidParameterError(key, "write a height")
    return found


def _count(text: str) -> int:
    if not _COUNT.fullmatch(text):
        raise InvalidParameterError("base_key", "number legs and orders from 1")
    return int(text)


def _attempted(refusal: Mapping[str, Any]) -> Any:
    attempted = refusal.get("attempted")
    text = attempted.get("amount_usdc") if isinstance(attempted, Mapping) else None
    if text is None:
        return None
    amount = usdc_e6_from_text(str(text))
    if usdc_text(amount) != text:
        raise InvalidParameterError("amount_usdc", "write six decimals")
    return amount


def _require_fact(fact: str) -> None:
    if not _FACT.fullmatch(fact):
        raise InvalidParameterError("base_key", "end it with 32 lower-case hex digits")
