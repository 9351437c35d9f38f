"""The id of an event of an owner's stream: where the stream is in the ledgers of all of the
owner's mandates.

    settled = 90, sent = {mandate 12: seq 7, mandate 30: seq 2}

says: of every mandate all rows with ids up to 90 were sent, of mandate 12 those up to its seq 7, of
mandate 30 those up to its seq 2, and no others.

Laws
- A stream lists a mandate only while its newest row is not settled (api/areas/mandates/views/new_rows.py), so
  that the list is short however many mandates the owner has; MOST_LISTED is its end.
- Callers take the text as it is: it carries a MAC over the owner and all that it says.
"""

import base64
import hmac
from binascii import Error as NotBase64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from core.errors import InvalidParameterError

MOST_LISTED: Final = 128
MAC_BYTES: Final = 10
VERSION: Final = 1
RULE: Final = "send the id of the last event of this stream unchanged, or leave it out"


@dataclass(frozen=True, slots=True)
class EventCursor:
    """`sent`: by mandate the seq of the last row that was sent. `ends_since`: from when on ends of
    mandates may not have been sent, in whole seconds.
    """

    settled: int
    ends_since: datetime
    sent: Mapping[int, int]

    def text(self, secret: bytes, owner_id: int) -> str:
        numbers = [VERSION, self.settled, int(self.ends_since.timestamp()), len(self.sent)]
        for mandate_id in sorted(self.sent):
            numbers += [mandate_id, self.sent[mandate_id]]
        raw = b"".join(map(_varint, numbers))
        return _text(_mac(secret, owner_id, raw) + raw)


def cursor_of(text: str, secret: bytes, owner_id: int) -> EventCursor:
    """Errors: InvalidParameterError for what this service did not give this owner."""
    try:
        whole = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
    except (NotBase64, ValueError):  # ValueError: not ASCII
        raise invalid() from None
    if _text(whole) != text:  # the same bytes, written another way
        raise invalid()
    mac, raw = whole[:MAC_BYTES], whole[MAC_BYTES:]
    if not hmac.compare_digest(mac, _mac(secret, owner_id, raw)):
        raise invalid()
    version, settled, ends_since, listed, *places = _numbers(raw)
    if version != VERSION or len(places) != 2 * listed:
        raise invalid()
    sent = dict(zip(places[::2], places[1::2], strict=True))
    return EventCursor(settled, datetime.fromtimestamp(ends_since, UTC), sent)


def invalid() -> InvalidParameterError:
    return InvalidParameterError("last_event_id", RULE)


def _text(whole: bytes) -> str:
    return base64.urlsafe_b64encode(whole).decode().rstrip("=")


def _mac(secret: bytes, owner_id: int, raw: bytes) -> bytes:
    return hmac.digest(secret, b"events:%d:" % owner_id + raw, "sha256")[:MAC_BYTES]


def _varint(number: int) -> bytes:
    """Seven bits a byte, low ones first; the high bit says that more follow."""
    out = bytearray()
    while number > 0x7F:
        out.append(0x80 | number & 0x7F)
        number >>= 7
    out.append(number)
    return bytes(out)


def _numbers(raw: bytes) -> Iterator[int]:
    number = shift = 0
    for byte in raw:
        number |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            yield number
            number = shift = 0
