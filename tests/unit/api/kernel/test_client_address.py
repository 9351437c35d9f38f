"""Whom a call counts for."""

from api.kernel.client_address import client_address
from tests.each import each

PROXIES = ("10.0.0.0/8", "2001:db8:ffff::1", "::ffff:192.0.2.0/120")


@each(
    ("peer", "forwarded_for", "counted"),
    [
        ("203.0.113.9", [], "203.0.113.9"),
        ("203.0.113.9", ["198.51.100.1"], "203.0.113.9"),
        ("10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["6.6.6.6, 198.51.100.1, 10.0.0.2"], "198.51.100.1"),
        ("10.0.0.1", ["6.6.6.6", "198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["198.51.100.1, nonsense"], "10.0.0.1"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", [], "2001:db8:1:2::/64"),
        ("::ffff:203.0.113.9", [], "203.0.113.9"),
        (None, ["198.51.100.1"], "unknown"),
        ("10.0.0.1", ["198.51.100.7:51344"], "198.51.100.7"),
        ("10.0.0.1", ["[2001:db8::7]:443"], "2001:db8::/64"),
        ("10.0.0.1", ["[2001:db8::7]"], "2001:db8::/64"),
        ("10.0.0.1", ["[::ffff:198.51.100.7]:443"], "198.51.100.7"),
        ("10.0.0.1", ["198.51.100.7:51344, 10.0.0.2:80,[2001:db8:ffff::1]:80"], "198.51.100.7"),
        ("10.0.0.1:9000", ["198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["198.51.100.7:port"], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.7:"], "10.0.0.1"),
        ("10.0.0.1", ["[198.51.100.7"], "10.0.0.1"),
        ("10.0.0.1", [""], "10.0.0.1"),
        ("10.0.0.1", ["", "198.51.100.7,, 10.0.0.2,", " , "], "198.51.100.7"),
        ("192.0.2.9", ["198.51.100.7"], "198.51.100.7"),
        ("::ffff:192.0.2.9", ["198.51.100.7, 192.0.2.8"], "198.51.100.7"),
        ("192.0.3.9", ["198.51.100.7"], "192.0.3.9"),
    ],
    ids=[
        "direct", "a stranger's header", "one proxy", "a forged first hop", "two headers",
        "a broken hop", "no header", "IPv6 by /64",
        "IPv4 in IPv6", "no peer",
        "a port", "brackets and a port", "brackets", "brackets around IPv4 in IPv6",
        "trusted hops with ports", "a peer with a port", "a port that is none", "a port left out",
        "a bracket left open", "an empty header", "entries that are empty", "a proxy in IPv4 in IPv6", "the same, twice",
        "beside that network",
    ],
)  # fmt: skip
def test_client_address(peer: str | None, forwarded_for: list[str], counted: str) -> None:
    assert client_address(peer, forwarded_for, PROXIES) == counted
