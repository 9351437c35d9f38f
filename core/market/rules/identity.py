"""Whether listings of one ticker are one asset, by contract addresses (docs/market.md#identity).

    venue's coin ── lists ──> key (chain, address) <── lists ── another venue's coin
    a coin listed on two chains links two keys

Laws
- Names and tickers join nothing; only a shared key does, or a link between keys.
- A link that two exchanges make is strong. One exchange's alone is weak: it
  never joins two groups that two other exchanges each stand behind. The order of rows is no matter.
- Weak links alone make no group of more than 256 keys: those that would are refused, all of them.
- An exchange makes 50,000 links at most: its coins with the fewest keys are believed first.
- `unknown:<raw>` chains and addresses that cannot be ones of their chain make no key.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from core.hexes import checksum_address
from core.market.facts import NetworkStatus

NATIVE: Final = "native"
MOST_KEYS_OF_A_COIN: Final = 64
MOST_LINKS_OF_AN_EXCHANGE: Final = 50_000  # 64 keys of a coin are 2,016
MOST_KEYS_OF_A_GROUP: Final = 256  # that weak links are believed to make
MOST_LINKS: Final = 128  # of a ticker
ANCHORED_FROM: Final = 3  # exchanges, with the one that makes the weak link
_EVM = re.compile("0x[0-9a-fA-F]{40}")
_BASE58 = re.compile("[1-9A-HJ-NP-Za-km-z]{32,44}")
_TRON = re.compile("T[1-9A-HJ-NP-Za-km-z]{33}")
_MOVE = re.compile("0x([0-9a-fA-F]{1,64})((?:::[A-Za-z_][A-Za-z0-9_]*(?:<.{1,120}>)?)*)")
_OTHER = re.compile(r"[!-~]{1,128}")
_MOVE_CHAINS: Final = ("aptos", "sui", "movement")


class IdentityVerdict(StrEnum):
    """Of a ticker."""

    VERIFIED_SAME = "verified_same"
    PARTIAL = "partial"
    COLLISION = "collision"
    NO_CONTRACT_DATA = "no_contract_data"


class Coin(NamedTuple):
    """A currency as one exchange lists it."""

    exchange: str
    native_base: str


class ContractKey(NamedTuple):
    """`address`: normalised, or `native` for the chain's own coin."""

    chain: str
    address: str


@dataclass(frozen=True, slots=True)
class KeyLink:
    """That two keys are one asset. `exchanges`: who lists both. `is_refused`: a weak
    link that would have joined groups which others stand behind.
    """

    one: ContractKey
    other: ContractKey
    exchanges: tuple[str, ...]
    is_weak: bool
    is_refused: bool


@dataclass(frozen=True, slots=True)
class IdentityGroup:
    """What is one asset. `id`: its smallest key, so it is the same whoever asks. `exchanges`: that
    list a coin of it.
    """

    id: ContractKey
    keys: tuple[ContractKey, ...]
    coins: tuple[Coin, ...]
    exchanges: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TickerIdentity:
    ticker: str
    verdict: IdentityVerdict
    groups: tuple[IdentityGroup, ...]
    links: tuple[KeyLink, ...]


@dataclass(frozen=True, slots=True)
class Identities:
    """`group_of`, `strong_group_of`: a coin whose keys stand in two groups has none."""

    tickers: Mapping[str, TickerIdentity]
    groups: Mapping[ContractKey, IdentityGroup]
    group_of: Mapping[Coin, ContractKey]
    strong_group_of: Mapping[Coin, ContractKey]

    def is_same(self, one: Coin, other: Coin) -> bool:
        group = self.group_of.get(one)
        return group is not None and group == self.group_of.get(other)

    def is_strongly_same(self, one: Coin, other: Coin) -> bool:
        group = self.strong_group_of.get(one)
        return group is not None and group == self.strong_group_of.get(other)


def key_of(status: NetworkStatus) -> ContractKey | None:
    if status.chain.startswith("unknown:"):
        return None
    if status.is_native:
        return ContractKey(status.chain, NATIVE)
    address = normal_address(status.chain, status.contract)
    return None if address is None else ContractKey(status.chain, address)


def normal_address(chain: str, written: str | None) -> str | None:
    """One form per address; None: it cannot be an address of the chain.

    EVM addresses lose their case and Move addresses gain their zeros; base58 and denominations
    keep their case, which matters.
    """
    if written is None:
        return None
    text = written.strip()
    family = chain.partition(":")[0]
    if family == "eip155":
        return text.lower() if _EVM.fullmatch(text) else None
    if family == "solana":
        return text if _BASE58.fullmatch(text) else None
    if family == "tron":
        return text if _TRON.fullmatch(text) else None
    if family in _MOVE_CHAINS:
        found = _MOVE.fullmatch(text)
        return f"0x{found[1].lower().zfill(64)}{found[2]}" if found else None
    return text if _OTHER.fullmatch(text) and text != NATIVE else None


def shown_address(chain: str, address: str) -> str:
    """As readers copy it: of an EVM chain with its checksum (EIP-55), else as `normal_address` has
    it. Ids of contracts stay normal.
    """
    is_evm = chain.startswith("eip155:") and _EVM.fullmatch(address)
    return checksum_address(address.lower()) if is_evm else address


def identify(
    tickers: Mapping[Coin, str],
    statuses: Iterable[NetworkStatus],
) -> Identities:
    """`tickers`: every coin that is listed, with the ticker that the service uses for it.
    `statuses`: of coins not in it are ignored; an approved mined contract is one more status.
    """
    keys_of = _keys_of(tickers, statuses)
    coins_of: defaultdict[ContractKey, set[Coin]] = defaultdict(set)
    for coin, keys in keys_of.items():
        for key in keys:
            coins_of[key].add(coin)
    makers = _links(keys_of)
    strong = _Sets(coins_of)
    for pair, exchanges in sorted(makers.items()):
        if len(exchanges) > 1:
            strong.join(*pair)
    merged = _joined(strong, makers, coins_of)
    groups = {root: _group(root, keys, coins_of) for root, keys in merged.groups().items()}
    links = [
        KeyLink(
            one,
            other,
            tuple(sorted(exchanges)),
            is_weak=len(exchanges) == 1,
            is_refused=merged.root(one) != merged.root(other),
        )
        for (one, other), exchanges in sorted(makers.items())
    ]
    return Identities(
        tickers=_verdicts(tickers, keys_of, groups, merged, links),
        groups=groups,
        group_of=_one_root(keys_of, merged),
        strong_group_of=_one_root(keys_of, strong),
    )


def _group(
    root: ContractKey, keys: tuple[ContractKey, ...], coins_of: Mapping[ContractKey, set[Coin]]
) -> IdentityGroup:
    coins = tuple(sorted({coin for key in keys for coin in coins_of[key]}))
    return IdentityGroup(root, keys, coins, tuple(sorted({coin.exchange for coin in coins})))


class _Sets:
    """Disjoint sets of keys; a set's root is its smallest key."""

    def __init__(self, keys: Iterable[ContractKey]) -> None:
        self._parent = {key: key for key in keys}

    def root(self, key: ContractKey) -> ContractKey:
        self._parent.setdefault(key, key)
        while self._parent[key] != key:
            self._parent[key] = self._parent[self._parent[key]]
            key = self._parent[key]
        return key

    def join(self, one: ContractKey, other: ContractKey) -> None:
        low, high = sorted((self.root(one), self.root(other)))
        self._parent[high] = low

    def groups(self) -> dict[ContractKey, tuple[ContractKey, ...]]:
        found: defaultdict[ContractKey, list[ContractKey]] = defaultdict(list)
        for key in sorted(self._parent):
            found[self.root(key)].append(key)
        return {root: tuple(keys) for root, keys in found.items()}


def _keys_of(
    tickers: Mapping[Coin, str], statuses: Iterable[NetworkStatus]
) -> dict[Coin, tuple[ContractKey, ...]]:
    found: defaultdict[Coin, set[ContractKey]] = defaultdict(set)
    for status in statuses:
        coin, key = Coin(status.exchange, status.native_base), key_of(status)
        if key is not None and coin in tickers:
            found[coin].add(key)
    return {coin: tuple(sorted(keys)[:MOST_KEYS_OF_A_COIN]) for coin, keys in found.items()}


def _links(
    keys_of: Mapping[Coin, tuple[ContractKey, ...]],
) -> dict[tuple[ContractKey, ContractKey], set[str]]:
    """The exchanges that list both keys under one coin, per pair of keys."""
    makers: defaultdict[tuple[ContractKey, ContractKey], set[str]] = defaultdict(set)
    made = Counter[str]()
    for coin, keys in sorted(keys_of.items(), key=lambda one: (len(one[1]), one[0])):
        made[coin.exchange] += len(keys) * (len(keys) - 1) // 2
        if made[coin.exchange] > MOST_LINKS_OF_AN_EXCHANGE:
            continue
        for place, one in enumerate(keys):
            for other in keys[place + 1 :]:
                makers[one, other].add(coin.exchange)
    return dict(makers)


def _joined(
    strong: _Sets,
    makers: Mapping[tuple[ContractKey, ContractKey], set[str]],
    coins_of: Mapping[ContractKey, set[Coin]],
) -> _Sets:
    """The strong groups, joined by the weak links that are taken.

    A group is anchored from three exchanges on: two besides the one that makes a weak link to it.
    Groups that are not are joined with one another, and the whole with the anchored group that it
    is linked to, if that is one alone.
    """
    exchanges: defaultdict[ContractKey, set[str]] = defaultdict(set)
    for key, coins in coins_of.items():
        exchanges[strong.root(key)] |= {coin.exchange for coin in coins}
    anchored = {root for root, of in exchanges.items() if len(of) >= ANCHORED_FROM}
    merged = _Sets(coins_of)
    for root, keys in strong.groups().items():
        for key in keys:
            merged.join(root, key)
    weak = [
        (strong.root(one), strong.root(other))
        for (one, other), by in makers.items()
        if len(by) == 1
    ]
    for one, other in weak:
        if one not in anchored and other not in anchored:
            merged.join(one, other)
    reached: defaultdict[ContractKey, set[ContractKey]] = defaultdict(set)
    for one, other in weak:
        if (one in anchored) != (other in anchored):
            small, large = (other, one) if one in anchored else (one, other)
            reached[merged.root(small)].add(large)
    for region, anchors in sorted(reached.items()):
        if len(anchors) == 1:
            merged.join(region, *anchors)
    return _without_sprawl(strong, merged)


def _without_sprawl(strong: _Sets, merged: _Sets) -> _Sets:
    """The same; where weak links made a group of more keys than an asset has, they join nothing."""
    kept = _Sets(())
    for root, keys in merged.groups().items():
        for key in keys:
            kept.join(root if len(keys) <= MOST_KEYS_OF_A_GROUP else strong.root(key), key)
    return kept


def _one_root(
    keys_of: Mapping[Coin, tuple[ContractKey, ...]], sets: _Sets
) -> dict[Coin, ContractKey]:
    roots = {coin: {sets.root(key) for key in keys} for coin, keys in keys_of.items()}
    return {coin: next(iter(found)) for coin, found in roots.items() if len(found) == 1}


def _verdicts(
    tickers: Mapping[Coin, str],
    keys_of: Mapping[Coin, tuple[ContractKey, ...]],
    groups: Mapping[ContractKey, IdentityGroup],
    merged: _Sets,
    links: Iterable[KeyLink],
) -> dict[str, TickerIdentity]:
    coins: defaultdict[str, list[Coin]] = defaultdict(list)
    for coin, ticker in tickers.items():
        coins[ticker].append(coin)
    links_of: defaultdict[ContractKey, list[KeyLink]] = defaultdict(list)
    for link in links:
        for root in {merged.root(link.one), merged.root(link.other)}:
            links_of[root].append(link)
    first_links = {root: found[:MOST_LINKS] for root, found in links_of.items()}  # in their order
    answers = {}
    for ticker, listed in sorted(coins.items()):
        keys = {key for coin in listed for key in keys_of.get(coin, ())}
        roots = sorted({merged.root(key) for key in keys})
        is_one_without = any(coin not in keys_of for coin in listed)
        answers[ticker] = TickerIdentity(
            ticker,
            _verdict(keys, merged, is_one_without),
            tuple(groups[root] for root in roots),
            tuple(
                sorted(
                    {link for root in roots for link in first_links.get(root, ())},
                    key=lambda link: (link.one, link.other),
                )[:MOST_LINKS]
            ),
        )
    return answers


def _verdict(keys: set[ContractKey], merged: _Sets, is_one_without: bool) -> IdentityVerdict:
    if not keys:
        return IdentityVerdict.NO_CONTRACT_DATA
    roots_on: defaultdict[str, set[ContractKey]] = defaultdict(set)
    for key in keys:
        roots_on[key.chain].add(merged.root(key))
    if any(len(roots) > 1 for roots in roots_on.values()):
        return IdentityVerdict.COLLISION
    is_one = len({merged.root(key) for key in keys}) == 1
    return (
        IdentityVerdict.VERIFIED_SAME if is_one and not is_one_without else IdentityVerdict.PARTIAL
    )
