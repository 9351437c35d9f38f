"""What an answer may carry beside its body: a file, or what is sold once with it."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.db.locks import AdvisoryLock


@dataclass(frozen=True, slots=True)
class File:
    """An answer that is no JSON. `name`: what it is saved as, of A-Z a-z 0-9 . _ - alone."""

    media_type: str
    name: str
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class OneSale:
    """What an answer sells once to an account, whichever call it comes with: no free read covers it
    (docs/rules.md#what-is-sold-once).

    `key`: of the account's credit ledger. `lock`: held while it is paid. `is_paid`: asked under that
    lock. `record` writes that it is, in the transaction that pays: by credits or usdc.
    """

    key: str
    lock: AdvisoryLock
    is_paid: Callable[[Session], bool]
    record: Callable[[WriteSession, str], None]
