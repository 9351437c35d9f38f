"""Which offices a deployment takes, what it refuses before anything is sent, and where test
contracts may go.
"""

from collections.abc import Callable

import pytest

from core.public_accounts import PUBLIC_ACCOUNTS
from scripts._deployments import BASE_SEPOLIA_USDC, OpenCall, closing_text
from scripts._offices import (
    BASE_SEPOLIA_CHAIN_ID,
    DEAD,
    Offices,
    OfficesRefusedError,
    belongs_on,
    is_devnet,
    offices_of,
)
from tests.each import each

DEPLOYER = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
BASE = 8453
ANVIL = "anvil/v1.2.3"
APART = (
    "ADMIN_ADDRESS",
    "PAUSER_ADDRESS",
    "KEEPER_ADMIN_ADDRESS",
    "OPERATOR_ADDRESS",
    "TREASURY_ADDRESS",
)


def account(n: int) -> str:
    return f"0x{n:040x}"


WHOLE = {
    name: account(n)
    for n, name in enumerate((*APART, "KEEPER_ADDRESS", "GUARD_ADDRESS", "RELAY_ADDRESS"), start=1)
}


def refusal(environment: dict[str, str], *, on_devnet: bool = False) -> list[str]:
    with pytest.raises(OfficesRefusedError) as refused:
        offices_of(environment, DEPLOYER, on_devnet=on_devnet)
    return str(refused.value).splitlines()


def test_offices__all_named__are_taken() -> None:
    expected = Offices(
        admin=account(1),
        pauser=account(2),
        keeper_admin=account(3),
        operator=account(4),
        treasury=account(5),
        keeper=account(6),
        guard=account(7),
        relay=account(8),
    )
    assert offices_of(WHOLE, DEPLOYER, on_devnet=False) == expected


@each("variable", [*APART, "KEEPER_ADDRESS", "GUARD_ADDRESS"])
@each("value", [None, "", "  "], ids=["unset", "empty", "blank"])
def test_off_the_devnet__an_office_that_is_not_named__is_refused(
    variable: str, value: str | None
) -> None:
    """Five of them went to the deployer before."""
    environment = {key: one for key, one in WHOLE.items() if key != variable} | (
        {} if value is None else {variable: value}
    )
    (sentence,) = refusal(environment)
    assert sentence.startswith(f"{variable} is not set: set it to the address of the ")


@each("variable", WHOLE)
@each("deployer", [DEPLOYER, DEPLOYER.lower()], ids=["checksum", "lower case"])
def test_off_the_devnet__the_deployer_in_an_office__is_refused(
    variable: str, deployer: str
) -> None:
    (sentence,) = refusal(WHOLE | {variable: deployer})
    assert sentence.startswith(
        f"{variable} is the deployer {DEPLOYER}, which must not hold an office outside the devnet: name "
        "another"
    )


def test_off_the_devnet__the_deployer_as_keeper__is_said_once_though_the_relay_is_the_keeper() -> (
    None
):
    environment = {key: one for key, one in WHOLE.items() if key != "RELAY_ADDRESS"} | {
        "KEEPER_ADDRESS": DEPLOYER
    }
    (sentence,) = refusal(environment)
    assert sentence.startswith("KEEPER_ADDRESS is the deployer")


def test_on_the_devnet__the_deployer_may_hold_every_office() -> None:
    assert offices_of(dict.fromkeys(WHOLE, DEPLOYER), DEPLOYER, on_devnet=True).guard == DEPLOYER


@each("variable", WHOLE)
@each("spelled", [str, str.lower], ids=["checksum", "lower case"])
def test_off_the_devnet__an_account_whose_key_everybody_has__is_refused(
    variable: str, spelled: Callable[[str], str]
) -> None:
    for public in PUBLIC_ACCOUNTS:
        (sentence,) = refusal(WHOLE | {variable: spelled(public)})
        assert sentence.startswith(
            f"{variable} is {spelled(public)}, a public test account whose key everybody knows: "
            "name another "
        )


def test_off_the_devnet__a_deployer_whose_key_everybody_has__is_refused() -> None:
    public = min(PUBLIC_ACCOUNTS)
    with pytest.raises(
        OfficesRefusedError,
        match=f"^the deployer is {public}, a public test account whose key everybody knows: sign with",
    ):
        offices_of(WHOLE, public, on_devnet=False)


def test_on_the_devnet__public_accounts_hold_offices() -> None:
    public = min(PUBLIC_ACCOUNTS)
    assert offices_of(dict.fromkeys(WHOLE, public), public, on_devnet=True).admin == public


@each("on_devnet", [True, False])
@each("variable", WHOLE)
@each(
    "nobody", ["0x" + "00" * 20, DEAD, BASE_SEPOLIA_USDC], ids=["zero", "the burn address", "USDC"]
)
def test_offices__an_address_that_can_sign_nothing__is_refused(
    nobody: str, variable: str, on_devnet: bool
) -> None:
    """The reserve token refuses the last two as treasury, and did so after the factory had been
    paid for.
    """
    (sentence,) = refusal(WHOLE | {variable: nobody}, on_devnet=on_devnet)
    assert sentence.startswith(f"{variable} is {nobody}, so nobody could act as ")


@each("value", ["0x12", "vitalik.eth", "00" * 20, DEPLOYER.replace("5aA", "5Aa")])
def test_offices__what_is_no_address__is_refused(value: str) -> None:
    (sentence,) = refusal(WHOLE | {"PAUSER_ADDRESS": value})
    assert sentence.startswith(f"PAUSER_ADDRESS is {value}, which is not an address: ")


def test_off_the_devnet__everything_that_is_wrong__is_said_at_once() -> None:
    assert [sentence.split()[0] for sentence in refusal({})] == [
        "ADMIN_ADDRESS",
        "PAUSER_ADDRESS",
        "KEEPER_ADMIN_ADDRESS",
        "KEEPER_ADDRESS",
        "GUARD_ADDRESS",
        "OPERATOR_ADDRESS",
        "TREASURY_ADDRESS",
    ]


def test_on_the_devnet__the_deployer_holds_what_is_not_named() -> None:
    found = offices_of(
        {"KEEPER_ADDRESS": account(6), "GUARD_ADDRESS": account(7)}, DEPLOYER, on_devnet=True
    )
    assert {found.admin, found.pauser, found.keeper_admin, found.operator, found.treasury} == {
        DEPLOYER
    }


def test_on_the_devnet__keeper_and_guard_are_still_to_be_named() -> None:
    assert [sentence.split()[0] for sentence in refusal({}, on_devnet=True)] == [
        "KEEPER_ADDRESS",
        "GUARD_ADDRESS",
    ]


def test_relay__that_is_not_named__is_the_keeper() -> None:
    environment = {key: one for key, one in WHOLE.items() if key != "RELAY_ADDRESS"}
    assert offices_of(environment, DEPLOYER, on_devnet=False).relay == WHOLE["KEEPER_ADDRESS"]


# The devnet


def test_devnet__is_network_chain_and_anvil_together() -> None:
    assert is_devnet("devnet", BASE_SEPOLIA_CHAIN_ID, ANVIL)


@each(
    ("network", "chain_id", "client"),
    [
        ("sepolia", BASE_SEPOLIA_CHAIN_ID, ANVIL),
        ("devnet", BASE, ANVIL),
        ("devnet", BASE_SEPOLIA_CHAIN_ID, "Geth/v1.16.0"),
        ("custom", 31337, ANVIL),
    ],
    ids=[
        "a node that says anvil on another network",
        "another chain",
        "another client",
        "no network of ours",
    ],
)
def test_devnet__is_not_what_a_node_says_of_itself(
    network: str, chain_id: int, client: str
) -> None:
    assert not is_devnet(network, chain_id, client)


@pytest.mark.parametrize("name", ["test_venue", "test_venue_adapter"])
def test_test_contracts__go_to_base_sepolia_only(name: str) -> None:
    assert [
        chain_id
        for chain_id in (1, BASE, 10, 31337, BASE_SEPOLIA_CHAIN_ID)
        if belongs_on(name, chain_id)
    ] == [BASE_SEPOLIA_CHAIN_ID]


def test_everything_else__goes_anywhere() -> None:
    assert all(
        belongs_on(name, BASE)
        for name in ("factory", "x402_adapter", "relay_adapter", "reserve_token", "usdc")
    )


# What is left to do


def test_closing__names_each_call_with_who_where_and_data() -> None:
    left = [
        OpenCall(
            "the test venue's operator",
            account(4),
            "test_venue",
            account(9),
            f"setAdapter({account(10)})",
            "0xaa",
        ),
        OpenCall(
            "the admin",
            account(1),
            "factory",
            account(11),
            f"listAdapter({account(10)})",
            "0xbb",
            "lists test_venue_adapter",
        ),
    ]
    assert closing_text(left).splitlines() == [
        "left to do, in this order, before the deployment can be used:",
        f"  1. the test venue's operator {account(4)} calls setAdapter({account(10)})",
        f"     to   {account(9)} (test_venue), value 0",
        "     data 0xaa",
        f"  2. the admin {account(1)} calls listAdapter({account(10)}) (lists test_venue_adapter)",
        f"     to   {account(11)} (factory), value 0",
        "     data 0xbb",
        "then check it with `make verify`, which finds what is missing",
    ]


def test_closing__nothing_left__says_so() -> None:
    assert closing_text([]) == "nothing is left to do; check it with `make verify`"
