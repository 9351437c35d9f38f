"""Where a call comes from, as limits count it.

X-Forwarded-For is believed from configured proxies only, right to left: the first address that is
no trusted proxy is the client, with a port and brackets or without; entries that are empty are none
(RFC 9110 5.6.1.2). IPv4 in IPv6 is IPv4, of proxies and networks too. IPv6 counts by /64, since one
subscriber has at least that (docs/rules.md#client-address).
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

UNKNOWN = "unknown"
LONGEST = 64  # letters of an address, its zone and port included; a longer text is none
_MAPPED = IPv6Network("::ffff:0:0/96")
_WITH_PORT = re.compile(r"\[([^\[\]]+)\](?::\d{1,5})?|([\d.]+):\d{1,5}", re.ASCII)


def client_address(
    peer: str | None, forwarded_for: Sequence[str], trusted_proxies: Sequence[str]
) -> str:
    """`peer` is the connection's address, `forwarded_for` the header's values in order; trusted are
    addresses or networks.
    """
    trusted = _networks(tuple(trusted_proxies))
    written = (hop.strip() for value in forwarded_for for hop in value.split(","))
    hops = [hop for hop in written if hop]
    client = _parsed(peer)
    while client is not None and any(client in network for network in trusted) and hops:
        further = _parsed(hops.pop())
        if further is None:
            break
        client = further
    return UNKNOWN if client is None else _counted(client)


@lru_cache(maxsize=16)
def _networks(proxies: tuple[str, ...]) -> tuple[IPv4Network | IPv6Network, ...]:
    return tuple(_unmapped(ip_network(proxy, strict=False)) for proxy in proxies)


def _unmapped(network: IPv4Network | IPv6Network) -> IPv4Network | IPv6Network:
    if isinstance(network, IPv4Network) or not network.subnet_of(_MAPPED):
        return network
    first = network.network_address.ipv4_mapped
    assert first is not None, "it is within the addresses that are"
    return IPv4Network((first, network.prefixlen - _MAPPED.prefixlen))


def _parsed(text: str | None) -> IPv4Address | IPv6Address | None:
    if text is None or len(text) > LONGEST:
        return None
    found = _WITH_PORT.fullmatch(text)
    return _address(text if found is None else found[1] or found[2])


@lru_cache(maxsize=4_096)  # the same few call again and again
def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


@lru_cache(maxsize=4_096)
def _counted(address: IPv4Address | IPv6Address) -> str:
    if isinstance(address, IPv4Address):
        return str(address)
    return str(IPv6Network((int(address) >> 64 << 64, 64)))
