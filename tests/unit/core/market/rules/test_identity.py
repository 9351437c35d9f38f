"""One asset or several, by contract, whatever order the rows come in."""

import random
from collections import defaultdict
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.market.facts import NetworkStatus
from core.market.rules.identity import (
    ANCHORED_FROM,
    MOST_KEYS_OF_A_COIN,
    MOST_KEYS_OF_A_GROUP,
    MOST_LINKS,
    MOST_LINKS_OF_AN_EXCHANGE,
    Coin,
    ContractKey,
    Identities,
    IdentityVerdict,
    identify,
    key_of,
    normal_address,
    shown_address,
)
from tests.each import each
from tests.unit.core.market.rules.coins import BSC, ETH, SOL, address, says, tickers

MIXED = "0xAbCdEf0123456789aBcDeF0123456789AbCdEf01"
MINT = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"


def verdict(*statuses: NetworkStatus, without: tuple[Coin, ...] = ()) -> IdentityVerdict:
    found = identify(tickers(list(statuses), *without), statuses)
    return found.tickers["XYZ"].verdict


def listing(exchange: str, *contracts: tuple[str, int], base: str = "XYZ") -> list[NetworkStatus]:
    return [says(exchange, base, chain, address(number)) for chain, number in contracts]


@each(
    ("chain", "written", "normal"),
    [
        (ETH, MIXED, MIXED.lower()),
        (ETH, f" {MIXED}\n", MIXED.lower()),
        (ETH, MIXED[:-1], None),
        (ETH, MIXED + "0", None),
        (ETH, "native", None),
        (ETH, None, None),
        (ETH, "", None),
        (SOL, MINT, MINT),
        (SOL, MINT.lower(), MINT.lower()),
        (SOL, "0OIl" * 9, None),
        (
            "tron:mainnet",
            "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t",
            "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t",
        ),
        ("tron:mainnet", MINT, None),
        ("aptos:1", "0x1::aptos_coin::AptosCoin", f"0x{'1'.zfill(64)}::aptos_coin::AptosCoin"),
        ("sui:mainnet", "0xAB::coin::C", f"0x{'ab'.zfill(64)}::coin::C"),
        ("cosmos:osmosis-1", "ibc/27394FB0", "ibc/27394FB0"),
        ("cosmos:osmosis-1", "ibc 27", None),
        ("cosmos:osmosis-1", "x" * 129, None),
        ("cosmos:osmosis-1", "native", None),
    ],
)
def test_an_address__has_one_form_or_none(
    chain: str, written: str | None, normal: str | None
) -> None:
    assert normal_address(chain, written) == normal


def test_the_case_of_base58__tells_two_contracts_apart() -> None:
    other = MINT.replace("E", "e", 1)

    assert verdict(says("a", "XYZ", SOL, MINT), says("b", "XYZ", SOL, other)) == "collision"


def test_a_chain_that_is_not_known__makes_no_key() -> None:
    assert key_of(says("a", "XYZ", "unknown:FOO", address(1))) is None
    assert key_of(says("a", "XYZ", "unknown:FOO", None, is_native=True)) is None


def test_a_chains_own_coin__is_native_whatever_its_contract_says() -> None:
    assert key_of(says("a", "ETH", ETH, address(0), is_native=True)) == ContractKey(ETH, "native")


A, B, BOTH = listing("a", (ETH, 1)), listing("b", (BSC, 2)), listing("c", (ETH, 1), (BSC, 2))


@each(
    ("statuses", "without", "expected"),
    [
        ([says("a", "XYZ", ETH, None), says("b", "XYZ", "unknown:Q", "x")], (), "no_contract_data"),
        ([*A, *listing("b", (ETH, 1))], (), "verified_same"),
        ([*A, *listing("b", (ETH, 1))], (Coin("c", "XYZ"),), "partial"),
        ([*A, *listing("b", (ETH, 2))], (), "collision"),
        ([*A, *B], (), "partial"),
        ([*A, *B, *BOTH], (), "verified_same"),
    ],
)
def test_a_ticker__is_one_asset_as_far_as_contracts_say(
    statuses: list[NetworkStatus], without: tuple[Coin, ...], expected: str
) -> None:
    assert verdict(*statuses, without=without) == expected


def test_one_ticker_for_two_names_of_one_contract__is_one_group() -> None:
    renamed = says("b", "XYZOLD", ETH, address(1))
    found = identify(
        {Coin("a", "XYZ"): "XYZ", Coin("b", "XYZOLD"): "XYZ"}, [*listing("a", (ETH, 1)), renamed]
    )

    assert found.is_same(Coin("a", "XYZ"), Coin("b", "XYZOLD"))
    assert found.tickers["XYZ"].verdict is IdentityVerdict.VERIFIED_SAME


def poisoned(*extra: NetworkStatus) -> Identities:
    """A real token at a and b, another at c and d, and one venue that says they are the same."""
    rows = [
        *listing("a", (ETH, 1)),
        *listing("b", (ETH, 1)),
        *listing("c", (BSC, 2), base="FAKE"),
        *listing("d", (BSC, 2), base="FAKE"),
        *listing("p", (ETH, 1), (BSC, 2)),
        *extra,
    ]
    return identify(tickers(rows), rows)


def test_one_venue__joins_no_two_groups_that_others_stand_behind() -> None:
    found = poisoned()

    assert not found.is_same(Coin("a", "XYZ"), Coin("c", "FAKE"))
    assert found.is_same(Coin("a", "XYZ"), Coin("b", "XYZ"))
    assert Coin("p", "XYZ") not in found.group_of
    (link,) = found.tickers["FAKE"].links
    assert (link.is_weak, link.is_refused, link.exchanges) == (True, True, ("p",))


def test_two_venues_that_say_so__join_them() -> None:
    found = poisoned(*listing("q", (ETH, 1), (BSC, 2)))

    assert found.is_same(Coin("a", "XYZ"), Coin("c", "FAKE"))
    assert found.is_strongly_same(Coin("a", "XYZ"), Coin("c", "FAKE"))


def test_a_weak_link__joins_a_group_that_one_other_stands_behind() -> None:
    rows = [*listing("a", (ETH, 1)), *listing("b", (ETH, 1)), *listing("c", (BSC, 2))]
    rows += listing("p", (ETH, 1), (BSC, 2))
    found = identify(tickers(rows), rows)

    assert found.is_same(Coin("a", "XYZ"), Coin("c", "XYZ"))
    assert not found.is_strongly_same(Coin("a", "XYZ"), Coin("c", "XYZ"))


def test_what_a_coin_lists_beyond_64_keys__is_ignored() -> None:
    rows = [says("a", "XYZ", f"eip155:{n}", address(1)) for n in range(MOST_KEYS_OF_A_COIN + 5)]
    found = identify(tickers(rows), rows)

    assert sum(len(group.keys) for group in found.groups.values()) == MOST_KEYS_OF_A_COIN


def test_a_status_of_a_coin_that_is_not_listed__is_ignored() -> None:
    found = identify({Coin("a", "XYZ"): "XYZ"}, [*listing("a", (ETH, 1)), *listing("b", (ETH, 2))])

    assert found.tickers["XYZ"].verdict is IdentityVerdict.VERIFIED_SAME


coins = st.lists(
    st.tuples(
        st.sampled_from("abcdefg"),
        st.sampled_from(("XYZ", "ABC")),
        st.sampled_from((ETH, BSC, "eip155:10", "unknown:Q")),
        st.integers(1, 3),
    ),
    max_size=24,
)


def rows_of(drawn: list[tuple[str, str, str, int]]) -> list[NetworkStatus]:
    return [says(exchange, base, chain, address(n)) for exchange, base, chain, n in drawn]


def partition(found: Identities) -> set[frozenset[ContractKey]]:
    return {frozenset(group.keys) for group in found.groups.values()}


def closure(
    keys: set[ContractKey], pairs: set[frozenset[ContractKey]]
) -> set[frozenset[ContractKey]]:
    """The groups that the pairs make, by joining until nothing changes."""
    groups = {frozenset({key}) for key in keys}
    while True:
        for pair in pairs:
            touched = {group for group in groups if group & pair}
            if len(touched) > 1:
                groups = (groups - touched) | {frozenset().union(*touched)}
                break
        else:
            return groups


def slow_groups(rows: list[NetworkStatus]) -> set[frozenset[ContractKey]]:
    """The laws of the page, group by group, with sets alone."""
    listed: defaultdict[Coin, set[ContractKey]] = defaultdict(set)
    for row in rows:
        key = key_of(row)
        if key is not None:
            listed[Coin(row.exchange, row.native_base)].add(key)
    keys = {key for of in listed.values() for key in of}
    by: defaultdict[frozenset[ContractKey], set[str]] = defaultdict(set)
    for coin, of in listed.items():
        for pair in combinations(sorted(of), 2):
            by[frozenset(pair)].add(coin.exchange)
    strong = closure(keys, {pair for pair, exchanges in by.items() if len(exchanges) > 1})

    def behind(group: frozenset[ContractKey]) -> int:
        return len({coin.exchange for coin, of in listed.items() if of & group})

    large = {group for group in strong if behind(group) >= ANCHORED_FROM}
    weak = {
        (one, other)
        for pair, exchanges in by.items()
        if len(exchanges) == 1
        for one in strong
        for other in strong
        if one != other and one & pair and other & pair
    }
    small = strong - large
    regions = [{group} for group in small]
    for one, other in weak:
        if one in small and other in small:
            touched = [region for region in regions if one in region or other in region]
            regions = [r for r in regions if r not in touched] + [set().union(*touched)]
    answer = set()
    taken: defaultdict[frozenset[ContractKey], set[ContractKey]] = defaultdict(set)
    for region in regions:
        reach = {b for a, b in weak if a in region and b in large}
        whole = frozenset().union(*region)
        if len(reach) == 1:
            taken[reach.pop()] |= whole
        else:
            answer.add(whole)
    return answer | {group | frozenset(taken[group]) for group in large}


@given(coins)
def test_the_groups__are_what_the_laws_say(drawn: list[tuple[str, str, str, int]]) -> None:
    rows = rows_of(drawn)

    assert partition(identify(tickers(rows), rows)) == slow_groups(rows)


@given(coins, st.randoms(use_true_random=False))
def test_the_order_of_rows__is_no_matter(
    drawn: list[tuple[str, str, str, int]], chance: random.Random
) -> None:
    rows = rows_of(drawn)
    mixed = list(rows)
    chance.shuffle(mixed)

    assert identify(tickers(mixed), mixed) == identify(tickers(rows), rows)


HONEST = [
    *listing("a", (ETH, 1)),
    *listing("b", (ETH, 1)),
    *listing("c", (BSC, 2), base="FAKE"),
    *listing("d", (BSC, 2), base="FAKE"),
]
claims = st.tuples(
    st.sampled_from(("LIE1", "LIE2", "LIE3")),
    st.sampled_from((ETH, BSC, "eip155:10")),
    st.integers(1, 3),
)


@given(st.lists(claims, max_size=12))
def test_one_exchange__joins_no_two_groups_that_others_stand_behind_whatever_it_lists(
    drawn: list[tuple[str, str, int]],
) -> None:
    rows = [*HONEST, *(says("liar", base, chain, address(n)) for base, chain, n in drawn)]
    found = identify(tickers(rows), rows)

    assert not found.is_same(Coin("a", "XYZ"), Coin("c", "FAKE"))
    assert found.is_same(Coin("a", "XYZ"), Coin("b", "XYZ"))
    assert found.is_same(Coin("c", "FAKE"), Coin("d", "FAKE"))


@pytest.mark.parametrize(
    ("coins_listed", "is_one"), [(MOST_KEYS_OF_A_GROUP - 1, True), (MOST_KEYS_OF_A_GROUP, False)]
)
def test_one_exchange_that_chains_all_its_coins__makes_no_group_of_them(
    coins_listed: int, is_one: bool
) -> None:
    rows = [says("liar", f"C{i}", ETH, address(n)) for i in range(coins_listed) for n in (i, i + 1)]
    found = identify(tickers(rows), rows)

    assert (len(found.groups) == 1) is is_one
    assert found.is_same(Coin("liar", "C0"), Coin("liar", "C1")) is is_one
    assert all(len(one.links) <= MOST_LINKS for one in found.tickers.values())


def test_such_a_chain__leaves_what_two_exchanges_say() -> None:
    rows = [says("liar", f"C{i}", ETH, address(n)) for i in range(400) for n in (i, i + 1)]
    rows += [*listing("a", (ETH, 7), (BSC, 7)), *listing("b", (ETH, 7), (BSC, 7))]
    found = identify(tickers(rows), rows)

    assert found.is_same(Coin("a", "XYZ"), Coin("b", "XYZ"))
    assert not found.is_same(Coin("liar", "C6"), Coin("liar", "C7"))


@pytest.mark.slow
def test_an_exchange_that_names_sixty_four_keys_of_each_coin__makes_no_more_links_than_there_are() -> (
    None
):
    """Forty thousand networks, which is all that an exchange may tell."""
    sound = [status for at in ("a", "b") for status in listing(at, (ETH, 1), (BSC, 2))]
    flood = [
        says("flood", f"C{coin}", ETH, address(10_000 + coin * 64 + key))
        for coin in range(625)
        for key in range(64)
    ]
    own = listing("flood", (ETH, 1), (BSC, 2))
    statuses = [*flood, *sound, *own]

    found = identify(tickers(statuses), statuses)

    assert found.is_strongly_same(Coin("a", "XYZ"), Coin("b", "XYZ"))
    assert found.is_strongly_same(Coin("a", "XYZ"), Coin("flood", "XYZ"))
    joined = {coin for coin in found.group_of if coin.exchange == "flood"}
    assert len(joined) == 1 + MOST_LINKS_OF_AN_EXCHANGE // (64 * 63 // 2)


@each(
    ("chain", "address", "shown"),
    [
        ("eip155:1", "0x" + "ab" * 20, "0xABaBaBaBABabABabAbAbABAbABabababaBaBABaB"),
        ("eip155:1", "native", "native"),
        ("sui:mainnet", "0x" + "ab" * 32, "0x" + "ab" * 32),
        ("aptos:1", "0x" + "ab" * 20, "0x" + "ab" * 20),
    ],
)
def test_an_evm_address__is_shown_with_its_checksum(chain: str, address: str, shown: str) -> None:
    """Notes and tokens showed lower case, which a reader cannot check."""
    assert shown_address(chain, address) == shown
