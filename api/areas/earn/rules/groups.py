"""Who counts as one person where one of a person counts for all (docs/payouts.md#groups).

    key                     an account has it when
    owner:<id>, agent:<id>  it is that owner's agent, or without an owner itself
    address:<address>       it registered from there, or its owner signed up from there (IPv6 by /56,
                            since one subscriber has that many /64)
    wallet:<0x>             it is its own or its owner's wallet, or the one that first sent it 1 USDC
    funding:<tx>            its first deposit came with that transaction

Laws
- Accounts are one group if they share a key, or each shares one with somebody who came before: it is
  decided among those who took part in one work, in their order, and nobody else.
- No evidence: a loopback, private or unknown address, a wallet or transaction that funded more than
  FUNDED_MOST accounts, and a wallet that the operators know to fund strangers.
- What others can do to an account binds it in no debt: a debt follows only what an account did
  itself, sign up and register (`own_keys`). Anybody may send a stranger 1 USDC.
"""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Network, ip_network
from typing import Final

FUNDED_MOST: Final = 20  # what funded more is an exchange or a faucet
SUBSCRIBERS_PREFIX: Final = 56  # of IPv6 (RFC 6177)
_NOBODYS_OWN: Final = tuple(
    ip_network(one)
    for one in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "::/64",
        "fc00::/7",
        "fe80::/10",
    )
)


def own_keys(person: str, addresses: Iterable[str | None]) -> frozenset[str]:
    """What an account and its owner did themselves. `addresses`: network addresses, IPv6 by /64; None:
    unknown.
    """
    places = (subscriber_of(one) for one in addresses if one is not None)
    return frozenset((person, *(f"address:{one}" for one in places if one is not None)))


def funding_keys(wallets: Iterable[str | None], funding_tx: str | None) -> frozenset[str]:
    """What moved money. `wallets`: its own, its owner's and its funder's; None: there is none."""
    held = frozenset(f"wallet:{one}" for one in wallets if one is not None)
    return held if funding_tx is None else held | {f"funding:{funding_tx}"}


@lru_cache(maxsize=4_096)
def subscriber_of(address: str) -> str | None:
    """Whose network address it is, as far as that says who is behind it; None: it says nothing."""
    try:
        network = ip_network(address, strict=False)
    except ValueError:
        return None  # no address: unknown, or of an account that the service made itself
    if any(network.version == one.version and network.overlaps(one) for one in _NOBODYS_OWN):
        return None
    if isinstance(network, IPv4Network):
        return address
    return str(network.supernet(new_prefix=min(network.prefixlen, SUBSCRIBERS_PREFIX)))


class People:
    """Persons as accounts are met one after the other: who comes later joins those before it, and
    changes nothing that was said of them.
    """

    def __init__(self) -> None:
        self._person_of = dict[str, int]()  # by key
        self._joined = list[int]()  # by person the one that it was found to be
        self._marks = list[set[str]]()
        self._newest = -1

    def meet(self, keys: Iterable[str]) -> frozenset[str]:
        """The marks of the person that the account with these keys is."""
        some = list(keys)
        persons = sorted(
            {self._root(self._person_of[key]) for key in some if key in self._person_of}
        )
        if not persons:
            persons = [len(self._joined)]
            self._joined.append(persons[0])
            self._marks.append(set())
        first, *others = persons
        for other in others:
            self._joined[other] = first
            self._marks[first] |= self._marks[other]
        self._person_of.update(dict.fromkeys(some, first))
        self._newest = first
        return frozenset(self._marks[first])

    def mark(self, mark: str) -> None:
        """Of the person that was met last."""
        self._marks[self._newest].add(mark)

    def _root(self, person: int) -> int:
        while self._joined[person] != person:
            person = self._joined[person]
        return person
