"""The seals of custodial wallets: looked at when the keeper starts, and made again under another
key.
"""

from collections.abc import Collection, Sequence

import structlog
from sqlalchemy.exc import SQLAlchemyError

from core.custody import queries as rows
from core.custody.keys import CustodySigner, KeyRing
from core.custody.seals import tell_unknown
from core.db.engine import Bounds, Database
from core.errors import InvalidParameterError

AT_START = Bounds(pool_size=1, overflow=1, pool_wait_s=2, connect_s=2, statement_s=3, lock_s=1)

log = structlog.get_logger("keeper")


def custody_signer_of(keys: Sequence[bytes]) -> CustodySigner | None:
    """What signs for custodial wallets; None without a key."""
    return CustodySigner(KeyRing(keys)) if keys else None


def tell_at_start(database_url: str, keys: Collection[bytes]) -> None:
    """Log the wallets that none of `keys` opens; a database that is away keeps nothing from
    starting.
    """
    database = Database(database_url, application_name="keeper seals", bounds=AT_START)
    try:
        with database.read() as session:
            tell_unknown(session, keys)
    except SQLAlchemyError as error:
        log.warning("custodial seals not looked at", error=type(error).__name__)
    finally:
        database.close()


def reseal(database_url: str, signer: CustodySigner, keys: Collection[bytes]) -> int:
    """Seal every custodial key again under the signer's; how many.

    Errors: InvalidParameterError when `keys` do not open all of them (the log names the wallets);
    the database's. Then none is sealed again.
    """
    database = Database(database_url, application_name="keeper reseal")
    try:
        with database.write() as session:
            unknown = tell_unknown(session, keys)
            if unknown:
                raise InvalidParameterError(
                    "CUSTODY_OLD_KEYS",
                    f"{unknown} wallets are sealed with keys that it lacks; set them, and "
                    "seal again",
                )
            return rows.reseal(session, signer.version, signer.resealed)
    finally:
        database.close()
