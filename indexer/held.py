"""`python -m indexer.main retry`: what ledgers refused is tried again, beside an indexer that leads
or without one, and told in lines.
"""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from core.db.refused import is_time_out
from core.errors import InvalidParameterError, OutsideError
from core.identity.queries import find_account
from core.mandate.queries import find_mandate, ledger_name
from core.quarantine.queries import ACCOUNT, MANDATE
from core.quarantine.views.held import held_ledgers
from indexer.chain.context import ChainContext
from indexer.chain.quarantine import retry

ID_DIGITS = 18  # any such number is an id that the database can be asked for


@dataclass(frozen=True, slots=True)
class RetryResult:
    """What was done, for a person."""

    lines: tuple[str, ...]
    is_held: bool


def retry_held(chain: ChainContext, named: str | None, now: datetime) -> RetryResult:
    """`ledger`: a mandate's public id or account:ID; None: all.

    Errors: InvalidParameterError, and those of the database before anything was tried.
    """
    with chain.database.read() as session:
        held = (
            held_ledgers(session)
            if named is None
            else held_ledgers(session, *_ledger_of(session, named))
        )
        names = [ledger_name(session, one.ledger, one.ledger_id) for one in held]
    lines, is_held = list[str](), False
    for one, name in zip(held, names, strict=True):
        try:
            done = retry(chain, one.ledger, one.ledger_id, now)
        except (SQLAlchemyError, OutsideError) as error:
            lines.append(
                f"{name}: not tried to its end ({type(error).__name__}); nothing is lost, "
                "run it again"
            )
            if not is_time_out(error):
                return RetryResult(tuple(lines), is_held=True)
            is_held = True
            continue
        line = f"{name}: {done.released} of {one.facts} facts are in the ledger now"
        if done.refusal is not None:
            is_held, line = True, f"{line}, the others are still held. {done.refusal.note}"
        lines.append(line)
    return RetryResult(tuple(lines) or ("Nothing is held.",), is_held)


def _ledger_of(session: Session, named: str) -> tuple[str, list[int]]:
    kind, _, number = named.partition(":")
    if kind == ACCOUNT and number.isascii() and number.isdecimal() and len(number) <= ID_DIGITS:
        if find_account(session, int(number)) is None:
            raise InvalidParameterError("--ledger", f"no account has the id {int(number)}")
        return ACCOUNT, [int(number)]
    mandate = find_mandate(session, named) if named.isprintable() else None
    if mandate is None:
        raise InvalidParameterError(
            "--ledger", "no mandate has this public id; write one, or account:ID"
        )
    return MANDATE, [mandate.id]
