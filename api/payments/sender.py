"""Who sent a payment, so that it serves nobody else.

A payment is public once it is in a transaction: whoever reads it there can send it too. So its row
keeps what the first call came with and the chain does not show, and a call that sends it again must
come with the same.

    an agent's key                            the account (column account_id)
    an owner's session                        the account
    no credential, a key of 22 or more        the Idempotency-Key, from whatever address
    no credential, a shorter key or none      the network address, as limits count it

Law: the database has HMACs under the pepper alone, so that no copy of it leaks an address or a key.
"""

import hmac
import re

from api.kernel.caller import AgentCaller, Nobody
from api.kernel.idempotency import STRONG_KEY_PATTERN
from api.kernel.sale import MeteredRead
from core.payments.tables import X402Payment


def sent_by(read: MeteredRead) -> bytes | None:
    """What a new payment's row keeps of its sender; None: an agent, whose account the row names."""
    known = _known_of(read)
    return known[0] if known else None


def is_sent_by(read: MeteredRead, row: X402Payment) -> bool:
    """Whether the call comes from whoever sent the payment first.

    A row from before the column is anybody's who has its signature.
    """
    return row.sent_by is None or row.sent_by in _known_of(read)


def _known_of(read: MeteredRead) -> list[bytes]:
    """What the call proves of its sender, the strongest first."""
    if isinstance(read.caller, AgentCaller):
        return []
    if not isinstance(read.caller, Nobody):
        return [_digest(read, "account", str(read.caller.account_id))]
    address = _digest(read, "address", read.client)
    key = read.idempotency_key
    if key is None or not re.fullmatch(STRONG_KEY_PATTERN, key):
        return [address]
    return [_digest(read, "key", key), address]


def _digest(read: MeteredRead, kind: str, value: str) -> bytes:
    return hmac.digest(read.deps.pepper, f"sender of a payment\n{kind}\n{value}".encode(), "sha256")
