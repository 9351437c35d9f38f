"""The declared venues: one file each, and what they say is what their contracts have."""

import pkgutil

import pytest

import core.mandate.venues
from core.chain.abi import call_by_signature, functions
from core.mandate.rules.close_plan import ClosedBy
from core.mandate.venues import erc4626, relay, test_venue, uniswap_v3, x402
from core.mandate.venues.registry import Exit, Venue, Venues, venue_name, venues
from core.targets.known_signatures import signatures_by_selector
from scripts._deployments import ADAPTERS

DECLARED = venues().declared
ONE, TWO, NAMELESS = (f"0x{number:040x}" for number in (1, 2, 3))
DEAR = Venue(
    name="dear",
    contract="DearAdapter",
    exit=Exit("leave(uint256,bool)", lambda units: (units, True)),
    spread_bps=50,
)
BOTH = Venues((test_venue.VENUE, DEAR))
CONTRACTS = {"test_venue_adapter": ONE, "dear_adapter": TWO}


def test_declared__are_the_files_of_the_folder() -> None:
    files = {one.name for one in pkgutil.iter_modules(core.mandate.venues.__path__)} - {"registry"}
    assert {venue.name for venue in DECLARED} == files


def test_declared__are_the_adapters_that_are_deployed() -> None:
    assert ADAPTERS == (
        "erc4626_adapter",
        "relay_adapter",
        "test_venue_adapter",
        "uniswap_v3_adapter",
        "x402_adapter",
    )


@pytest.mark.parametrize("venue", DECLARED, ids=lambda venue: venue.name)
def test_declared__has_an_abi_with_the_views_of_every_adapter(venue: Venue) -> None:
    assert set(functions("IAdapter")) <= set(functions(venue.contract))


@pytest.mark.parametrize(
    "venue", [venue for venue in DECLARED if venue.exit is not None], ids=lambda venue: venue.name
)
def test_declared__an_exit_is_a_function_of_its_contract(venue: Venue) -> None:
    assert venue.exit is not None
    assert venue.exit.signature in functions(venue.contract)
    assert signatures_by_selector()[venue.exit.selector] == venue.exit.signature


def test_declared__one_takes_payments_and_one_is_closed_by_the_relay() -> None:
    assert [venue for venue in DECLARED if venue.takes_payments] == [x402.VENUE]
    assert [venue for venue in DECLARED if venue.closed_by is ClosedBy.RELAY] == [relay.VENUE]


def test_exit__of_the_test_venue__is_its_sale_of_all_units() -> None:
    assert test_venue.VENUE.exit is not None
    assert test_venue.VENUE.exit.data(5) == test_venue.sell(5)


def test_pool__of_two_tokens_and_a_fee__is_where_uniswap_has_it() -> None:
    """USDC and WETH at 0.05 % on Ethereum."""
    at = {
        "uniswap_v3_factory": "0x1F98431c8aD98523631AE4a59f267346ea31F984",
        "usdc": "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
        "test_weth": "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2",
    }
    assert uniswap_v3.pool_address(at) == "0x88e6A0c2dDD26FEEb64F039a2c41296FcB3f5640"
    assert uniswap_v3.is_usdc_token0(at) == 1


def test_named__an_adapter_that_an_operator_chose__is_of_its_venue() -> None:
    assert venues().named("cellar_erc4626_adapter") is erc4626.VENUE
    assert venues().of({"weth_uniswap_v3_adapter": ONE}, ONE) is uniswap_v3.VENUE
    assert venues().named("my_relay_adapter") is None


def test_exit__with_a_minimum__has_it_after_the_units() -> None:
    assert erc4626.VENUE.exit is not None
    assert erc4626.VENUE.exit.data(5, 4) == call_by_signature("redeem(uint256,uint256)", [5, 4])


def test_exit_of__prefers_the_venues_own() -> None:
    selectors = {exit_.selector for venue in BOTH.declared if (exit_ := venue.exit) is not None}
    assert BOTH.exit_of(DEAR, selectors) is DEAR.exit


def test_exit_of__an_undeclared_adapter__is_any_known_exit_that_its_rules_allow() -> None:
    assert BOTH.exit_of(None, {Exit("sell(uint256)").selector}) is test_venue.VENUE.exit
    assert BOTH.exit_of(None, {"0x0badc0de"}) is None


def test_spread__is_the_dearest_of_them() -> None:
    assert BOTH.spread_bps(CONTRACTS, [ONE, TWO]) == 50
    assert BOTH.spread_bps(CONTRACTS, [ONE]) == 0
    assert BOTH.spread_bps(CONTRACTS, []) == 0


def test_spread__with_an_adapter_of_no_declared_venue__is_unknown() -> None:
    assert BOTH.spread_bps(CONTRACTS, [ONE, NAMELESS]) is None


def test_payment_adapter__is_the_deployed_one_or_none() -> None:
    assert venues().payment_adapter({"x402_adapter": ONE}) == ONE
    assert venues().payment_adapter(CONTRACTS) is None


def test_venue_name__of_an_adapter_that_no_file_declares__is_the_deployments() -> None:
    assert venue_name({"other_adapter": NAMELESS}, NAMELESS) == "other"
    assert venue_name({}, NAMELESS) is None
