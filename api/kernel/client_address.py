"""Which network address a call counts for (docs/rules.md#client-address).

uvicorn has put the client in the place of a trusted proxy by then. IPv4 in IPv6 is IPv4, and IPv6
counts by /64, since one subscriber has at least that.
"""

from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network, ip_address

UNKNOWN = "unknown"
LONGEST = 64  # letters of an address with its zone; a longer text is none


def client_address(peer: str | None) -> str:
    return UNKNOWN if peer is None or len(peer) > LONGEST else _counted(peer)


@lru_cache(maxsize=4_096)  # the same few call again and again
def _counted(peer: str) -> str:
    try:
        address = ip_address(peer)
    except ValueError:
        return UNKNOWN
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(IPv6Network((int(address) >> 64 << 64, 64)))
