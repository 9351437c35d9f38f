"""What an index holds, and why a member is not in it (docs/fund.md#indices)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.fund.indices import kept
from core.fund.rules.indices import (
    Category,
    IndexDefinition,
    IndexRow,
    MemberExclusion,
    MemberFacts,
    MemberMarket,
    definition_of,
    exclusion_of,
    rows_of,
    universe_of,
    weights_e4,
)
from core.market.facts import NetworkStatus
from core.market.rules.identity import Coin, identify
from tests.each import each
from tests.unit.core.fund.made import USD

DEPTHS = st.dictionaries(
    st.text("ABCDEFG", min_size=1, max_size=6), st.integers(1, 10**15), min_size=1, max_size=30
)


ETHEREUM_UNI, BSC_UNI = "eip155:1:0x1f98", "eip155:56:0xbf51"


def market(exchange: str = "binance", **changes: Any) -> MemberMarket:
    plain: dict[str, Any] = {
        "market": f"{exchange}_uni_usdt",
        "exchange": exchange,
        "contract_groups": (ETHEREUM_UNI,),
        "grade": "B",
        "depth_usdc_e6": 100 * USD,
    }
    return MemberMarket(**(plain | changes))


def silent(exchange: str, **changes: Any) -> MemberMarket:
    """Of an exchange that gives no contracts."""
    return market(exchange, contract_groups=(), **changes)


def unrelated(exchange: str, **changes: Any) -> MemberMarket:
    return market(exchange, contract_groups=(BSC_UNI,), **changes)


def in_both(exchange: str) -> MemberMarket:
    """Of a coin whose two contracts nobody else links."""
    return market(exchange, contract_groups=(ETHEREUM_UNI, BSC_UNI))


def member(**changes: Any) -> MemberFacts:
    """Listed on two exchanges, of grade B on both, which give one contract."""
    plain: dict[str, Any] = {
        "ticker": "UNI",
        "markets": (market(), market("okx")),
        "is_deliverable": True,
    }
    return MemberFacts(**(plain | changes))


def test_a_member_that_passes__is_a_constituent() -> None:
    assert exclusion_of(member()) is None


@each(
    ("changes", "reason"),
    [
        ({"markets": ()}, MemberExclusion.NOT_LISTED),
        ({"markets": (silent("binance"), silent("okx"))}, MemberExclusion.IDENTITY_UNVERIFIED),
        ({"markets": (market(), unrelated("okx"))}, MemberExclusion.IDENTITY_UNVERIFIED),
        (
            {"markets": (market(), market("okx"), unrelated("mexc", grade=None))},
            MemberExclusion.IDENTITY_UNVERIFIED,
        ),
        ({"markets": (market(), in_both("okx"))}, MemberExclusion.IDENTITY_UNVERIFIED),
        ({"markets": (market(), silent("upbit"))}, MemberExclusion.TOO_FEW_VENUES),
        ({"markets": (market(),)}, MemberExclusion.TOO_FEW_VENUES),
        ({"markets": (market(), market())}, MemberExclusion.TOO_FEW_VENUES),
        ({"markets": (market(), market("okx", grade="D"))}, MemberExclusion.TOO_FEW_VENUES),
        ({"markets": (market(), market("okx", grade=None))}, MemberExclusion.TOO_FEW_VENUES),
        (
            {"markets": (market(depth_usdc_e6=None), market("okx", depth_usdc_e6=0))},
            MemberExclusion.DEPTH_UNKNOWN,
        ),
    ],
)
def test_a_member_that_does_not__has_its_first_reason(
    changes: dict[str, Any], reason: MemberExclusion
) -> None:
    assert exclusion_of(member(**changes)) is reason


def test_grade_c_on_two_exchanges__is_enough() -> None:
    markets = (market(grade="C"), market("okx", grade="C"))
    assert exclusion_of(member(markets=markets)) is None


def test_an_exchange_without_contracts__neither_helps_nor_excludes() -> None:
    deepest = silent("upbit", depth_usdc_e6=900 * USD)
    markets = (market(), market("okx"), deepest, silent("kraken", grade="F"))
    index = IndexDefinition("x", "X", "eip155:1", {"UNI": ()})
    (uni,) = rows_of(index, {"UNI": member(markets=markets)})
    assert (uni.market, uni.depth_usdc_e6, uni.venues) == ("binance_uni_usdt", 100 * USD, 2)


BITCOIN, ETHEREUM, OPTIMISM = "bip122:000000000019d6689c085ae165831e93", "eip155:1", "eip155:10"


@each(
    ("listed", "reason"),
    [
        ({"binance": (BITCOIN,), "okx": (BITCOIN,)}, None),
        ({"binance": (ETHEREUM, OPTIMISM), "okx": (ETHEREUM, OPTIMISM)}, None),
        ({"binance": (ETHEREUM, OPTIMISM), "okx": (ETHEREUM,)}, None),
        (
            {"binance": (ETHEREUM,), "okx": (OPTIMISM,), "mexc": (ETHEREUM, OPTIMISM)},
            None,
        ),
        (
            {"binance": (ETHEREUM,), "okx": (OPTIMISM,)},
            MemberExclusion.IDENTITY_UNVERIFIED,
        ),
        ({"binance": (BITCOIN,), "upbit": ()}, MemberExclusion.TOO_FEW_VENUES),
    ],
)
def test_a_chains_own_coin__is_a_contract_group_of_its_own_and_of_the_chains_it_is_linked_to(
    listed: dict[str, tuple[str, ...]], reason: MemberExclusion | None
) -> None:
    coins = {exchange: Coin(exchange, "UNI") for exchange in listed}
    found = identify(
        dict.fromkeys(coins.values(), "UNI"),
        [
            NetworkStatus(
                exchange=exchange, native_base="UNI", chain=chain, can_deposit=True,
                can_withdraw=True, contract=None, is_native=True, withdraw_fee=None,
            )
            for exchange, chains in listed.items()
            for chain in chains
        ],
    )  # fmt: skip
    groups = found.tickers["UNI"].groups
    markets = tuple(
        market(
            exchange,
            contract_groups=tuple(":".join(one.id) for one in groups if coin in one.coins),
        )
        for exchange, coin in coins.items()
    )
    assert exclusion_of(member(markets=markets)) is reason


def test_weights__go_by_the_root_and_none_is_above_a_quarter() -> None:
    depths = {"A": 1_600, "B": 400, "C": 400, "D": 100, "E": 100, "F": 100}
    # roots 40, 20, 20, 10, 10, 10 of 110: A is cut to a quarter, the others share the rest by root
    assert weights_e4(depths) == {
        "A": 2_500,
        "B": 2_143,
        "C": 2_143,
        "D": 1_072,
        "E": 1_071,
        "F": 1_071,
    }


@each(
    ("count", "weights"),
    [(0, []), (1, [10_000]), (2, [5_000, 5_000]), (3, [3_334, 3_333, 3_333]), (4, [2_500] * 4)],
)
def test_fewer_than_five__are_of_equal_parts(count: int, weights: list[int]) -> None:
    depths = {name: 10**number for number, name in enumerate("ABCD"[:count], 3)}
    assert sorted(weights_e4(depths).values(), reverse=True) == weights


@given(DEPTHS)
def test_weights__sum_to_one_and_keep_the_cap(depths: dict[str, int]) -> None:
    weights = weights_e4(depths)
    assert sum(weights.values()) == 10_000
    assert weights.keys() == depths.keys()
    assert max(weights.values()) <= max(2_500, -(-10_000 // len(depths)))


@given(DEPTHS)
def test_a_deeper_constituent__never_weighs_less(depths: dict[str, int]) -> None:
    weights = weights_e4(depths)
    for one in depths:
        for other in depths:
            assert depths[one] <= depths[other] or weights[one] >= weights[other] - 1


@given(DEPTHS, st.randoms())
def test_weights__do_not_depend_on_the_order(depths: dict[str, int], random: Any) -> None:
    names = list(depths)
    random.shuffle(names)
    assert weights_e4({name: depths[name] for name in names}) == weights_e4(depths)


def row(ticker: str, *categories: Category, weight: int | None = 100) -> IndexRow:
    return IndexRow(
        ticker=ticker,
        categories=categories,
        exclusion=MemberExclusion.NOT_LISTED if weight is None else None,
        market=None if weight is None else f"binance_{ticker.lower()}_usdt",
        weight_e4=weight,
        depth_usdc_e6=None,
        venues=2,
        is_deliverable=None,
    )


def test_a_universe__has_the_constituents_of_its_categories() -> None:
    ai, defi = Category.AI, Category.DEFI
    rows = [row("A", ai), row("B", defi, weight=200), row("C", ai, weight=None), row("D")]
    assert [one.ticker for one in universe_of(rows, ())] == ["B", "A", "D"]
    assert [one.ticker for one in universe_of(rows, ("ai", "l2"))] == ["A"]
    assert universe_of(rows, ("rwa",)) == []


def test_rows__are_of_every_member_also_of_one_that_nobody_lists() -> None:
    index = IndexDefinition("x", "X", "eip155:1", {"UNI": (Category.DEFI,), "GONE": ()})
    gone, uni = rows_of(index, {"UNI": member(), "STRANGE": member(ticker="STRANGE")})
    assert (gone.ticker, gone.exclusion, gone.weight_e4) == (
        "GONE",
        MemberExclusion.NOT_LISTED,
        None,
    )
    assert (uni.ticker, uni.market, uni.weight_e4) == ("UNI", "binance_uni_usdt", 10_000)


def test_the_deepest_market__is_the_constituents() -> None:
    index = IndexDefinition("x", "X", "eip155:1", {"UNI": ()})
    markets = (market(), market("okx", depth_usdc_e6=101 * USD), market("kraken", grade="F"))
    (uni,) = rows_of(index, {"UNI": member(markets=markets)})
    assert (uni.market, uni.depth_usdc_e6, uni.venues) == ("okx_uni_usdt", 101 * USD, 2)


def test_every_file_of_an_index__can_be_read() -> None:
    assert {one.name for one in kept().values()} == {"Large coins", "Sectors on Ethereum"}
    assert kept()["sectors"].categories == tuple(Category)


@pytest.mark.parametrize("members", ["", 'X = ["money"]'])
def test_a_file_without_members_or_of_unknown_categories__is_refused(members: str) -> None:
    with pytest.raises(ValueError, match=r"members|Category"):
        definition_of("x", f'name = "X"\ndelivery_chain = "eip155:1"\n[members]\n{members}\n')
