"""Which custodial wallets the keys of this process do not open: logged at the start of each
process, and before anything is sealed again.

A restored backup may hold seals of a key that was dropped since; such a wallet cannot sign until
the key is back.
"""

from collections.abc import Collection

import structlog
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from core.custody import queries as custody
from core.custody.keys import CustodySigner, version_of
from core.db.engine import Database, WriteSession
from core.errors import InvalidParameterError

log = structlog.get_logger("custody")


def log_unknown(session: Session, keys: Collection[bytes]) -> int:
    """Log an error for each key version that none of `keys` has, with its wallets; how many wallets
    there are in all.
    """
    known = [version_of(key) for key in keys]
    found = custody.unknown_seals(session, known)
    for one in found:
        log.error(
            "found wallets sealed with a key that is not set",
            key_version=one.key_version,
            wallets=one.wallets,
            accounts=_named(one),
            known_versions=known,
            fix="add the key of this version to CUSTODY_OLD_KEYS (or CUSTODY_KEY_FILE) of API "
            "and keeper, and restart them",
        )
    return sum(one.wallets for one in found)


def log_unknown_at_start(database: Database, keys: Collection[bytes]) -> None:
    """Once, at the start of a process: what waits until its key is back is named; a database that is
    away keeps nothing from starting.
    """
    try:
        with database.read() as session:
            log_unknown(session, keys)
    except SQLAlchemyError as error:
        log.warning("could not check custodial seals", error=type(error).__name__)


def reseal_all(session: WriteSession, signer: CustodySigner, keys: Collection[bytes]) -> int:
    """Seal every custodial key again under the signer's; how many.

    Errors: InvalidParameterError when `keys` do not open all of them (the log names the wallets).
    """
    unknown = log_unknown(session, keys)
    if unknown:
        raise InvalidParameterError(
            "CUSTODY_OLD_KEYS",
            f"{unknown} wallets are sealed with keys that it lacks; add them, then seal again",
        )
    return custody.reseal(session, signer.version, signer.resealed)


def _named(seals: custody.UnknownSeals) -> str:
    """`1001 0x..., 1002 0x...`, and how many more."""
    named = ", ".join(f"{account_id} {address}" for account_id, address in seals.first)
    more = seals.wallets - len(seals.first)
    return f"{named} and {more} more" if more else named
