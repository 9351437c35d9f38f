"""Whom a call counts for."""

from api.kernel.credentials import client_address
from tests.each import each


@each(
    ("peer", "counted"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        (None, "unknown"),
        ("nonsense", "unknown"),
        ("2001:db8::1%" + "z" * 60, "unknown"),
    ],
    ids=["IPv4", "IPv6 by /64", "a zone", "IPv4 in IPv6", "no peer", "no address", "too long"],
)
def test_client_address(peer: str | None, counted: str) -> None:
    assert client_address(peer) == counted
