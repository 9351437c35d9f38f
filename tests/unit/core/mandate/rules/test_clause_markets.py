"""The clause of the markets: each target, its functions and who confirms their names."""

from typing import Any

from core.mandate.rules.targets import parse_targets
from tests.each import each
from tests.unit.core.mandate.rules.test_clauses import CHAIN, OWNER, VENUE, by_key


def test_markets__show_each_target_and_who_enforces_it() -> None:
    items = [
        {
            "address": VENUE,
            "functions": [{"signature": "buy(uint256)"}, {"selector": "0xaabbccdd"}],
            "unpinned": True,
        },
        {"kind": "x402", "hosts": ["a.example", "b.example"], "payees": [OWNER]},
    ]
    shown = by_key(targets=parse_targets(items, CHAIN))["markets"]["params"]["items"]
    assert [(item["enforced_by"], item["text_en"]) for item in shown] == [
        (
            "Contract",
            f"buy(uint256) and 0xaabbccdd of {VENUE}, whose receiver is not tied to your vault",
        ),
        ("Torii guard", f"paid reads at a.example and b.example, paid to {OWNER}"),
    ]
    assert shown[1]["hosts"] == ["a.example", "b.example"]


UNTIED = "whose receiver is not tied to your vault"
TIED = {"signature": "deposit(uint256,address)", "recipient_word": 1}
OPEN = {"signature": "buy(uint256)"}


@each(
    ("functions", "unpinned", "words"),
    [
        ([TIED], False, f"deposit(uint256,address) of {VENUE}"),
        ([TIED], True, f"deposit(uint256,address) of {VENUE}"),
        ([OPEN], True, f"buy(uint256) of {VENUE}, {UNTIED}"),
        # Pins that were stored before they were checked; the owner said nothing of them.
        (
            [{"selector": "0x6e553f65", "recipient_word": 1}],
            False,
            f"0x6e553f65 of {VENUE}, {UNTIED}",
        ),
        (
            [{"signature": "bridge(bytes32)", "recipient_word": 0}],
            False,
            f"bridge(bytes32) of {VENUE}, {UNTIED}",
        ),
        (
            [{"signature": "f(address[])", "recipient_word": 0}],
            False,
            f"f(address[]) of {VENUE}, {UNTIED}",
        ),
        (
            [{"signature": "f(address)", "recipient_word": 1}],
            False,
            f"f(address) of {VENUE}, {UNTIED}",
        ),
        (
            [TIED, OPEN],
            True,
            (
                f"deposit(uint256,address) and buy(uint256) of {VENUE}, but the receiver is not "
                "tied to your vault in buy(uint256)"
            ),
        ),
        (
            [{"selector": "0xaabbccdd", "recipient_word": 0}, TIED],
            False,
            (
                f"0xaabbccdd and deposit(uint256,address) of {VENUE}, but the receiver is not "
                "tied to your vault in 0xaabbccdd"
            ),
        ),
        # Functions of a listed adapter, which are neither pinned nor declared: the adapter pays its
        # caller.
        ([OPEN], False, f"buy(uint256) of {VENUE}"),
        (None, False, f"the published functions of {VENUE}"),
    ],
)
def test_markets__say_of_each_function_whether_its_receiver_is_tied(
    functions: Any, unpinned: bool, words: str
) -> None:
    targets = parse_targets(
        [{"address": VENUE, "functions": functions, "unpinned": unpinned}], CHAIN
    )
    markets = by_key(targets=targets)["markets"]
    assert [item["text_en"] for item in markets["params"]["items"]] == [words]
    assert markets["text_en"].startswith(f"The agent may only use: {words}.")


def markets_of(*signatures: str) -> dict[str, Any]:
    functions = [{"signature": signature, "recipient_word": 0} for signature in signatures]
    found = by_key(targets=parse_targets([{"address": VENUE, "functions": functions}], CHAIN))[
        "markets"
    ]
    return dict(found)


def test_markets__of_a_name_that_nobody_here_knows__say_that_it_is_the_proposers_word() -> None:
    clause = markets_of("stake(address)", "transfer(address,uint256)")
    assert clause["text_en"].endswith(
        " The name stake(address) is the proposer's word alone: this service does not know the "
        "function, and what is said of its receiver holds only if the name is true."
    )
    assert clause["params"]["unverified_names"] == ["stake(address)"]


def test_markets__of_several_such_names__say_so_once() -> None:
    clause = markets_of("stake(address)", "zap(address)")
    assert clause["text_en"].endswith(
        " The names stake(address) and zap(address) are the proposer's word alone: this service "
        "does not know the functions, and what is said of their receivers holds only if the "
        "names are true."
    )


def test_markets__of_a_stored_name_that_contradicts_the_known_one__say_that_it_is_the_proposers_word() -> (
    None
):
    """A draft of before; today it would be refused."""
    assert markets_of("passphrase_calculate_transfer(uint64,address)")["params"]["unverified_names"]


@each("functions", [[TIED], [OPEN], [{"selector": "0xaabbccdd"}], None])
def test_markets__of_known_functions_and_of_bare_selectors__say_nothing_of_names(
    functions: Any,
) -> None:
    targets = parse_targets([{"address": VENUE, "functions": functions, "unpinned": True}], CHAIN)
    markets = by_key(targets=targets)["markets"]
    assert "proposer" not in markets["text_en"]
    assert "unverified_names" not in markets["params"]


@each(
    ("signature", "word", "tied", "argument"),
    [
        # ERC-4626: the owner is pinned and the receiver is free
        ("withdraw(uint256,address,address)", 2, "argument 3", 3),
        ("withdraw(uint256,address,address)", 1, "argument 2", 2),
        ("transferFrom(address,address,uint256)", 0, "argument 1", 1),
        ("f(address,bytes)", 0, "argument 1", 1),
        ("f(uint8[3],address,string)", 3, "argument 2", 2),
        ("f(address,(bytes,bool))", 0, "argument 1", 1),
        ("f(address,bytes32)", 0, "argument 1", 1),
        ("f(address,bytes20)", 0, "argument 1", 1),
        ("f(address,function)", 0, "argument 1", 1),
        ("f(bool,(address,uint8)[2])", 3, "one address in argument 2", 2),
    ],
)
def test_markets__of_a_pin_beside_which_the_agent_may_name_a_receiver__say_which_argument_is_tied(
    signature: str, word: int, tied: str, argument: int
) -> None:
    targets = parse_targets(
        [{"address": VENUE, "functions": [{"signature": signature, "recipient_word": word}]}], CHAIN
    )
    (item,) = by_key(targets=targets)["markets"]["params"]["items"]
    assert item["text_en"] == (
        f"{signature} of {VENUE}, but of {signature} only {tied} is tied to your vault and "
        "the others are the agent's choice"
    )
    assert item["partly_tied"] == [{"function": signature, "argument": argument}]


@each("signature", ["f(address)", "f(address,uint256,bool,bytes4)", "f(address,(int8,bytes19)[2])"])
def test_markets__of_a_pin_on_the_only_word_that_may_be_a_receiver__say_nothing_of_others(
    signature: str,
) -> None:
    targets = parse_targets(
        [{"address": VENUE, "functions": [{"signature": signature, "recipient_word": 0}]}], CHAIN
    )
    (item,) = by_key(targets=targets)["markets"]["params"]["items"]
    assert item["text_en"] == f"{signature} of {VENUE}"
    assert "partly_tied" not in item


def test_markets__of_pins_of_every_worth__tell_each_apart() -> None:
    move = {"signature": "transferFrom(address,address,uint256)", "recipient_word": 1}
    targets = parse_targets(
        [{"address": VENUE, "functions": [TIED, OPEN, move], "unpinned": True}], CHAIN
    )
    (item,) = by_key(targets=targets)["markets"]["params"]["items"]
    assert item["text_en"] == (
        "deposit(uint256,address), buy(uint256) and transferFrom(address,address,uint256) of "
        f"{VENUE}, but the receiver is not tied to your vault in buy(uint256), and of "
        "transferFrom(address,address,uint256) only argument 2 is tied to your vault and the "
        "others are the agent's choice"
    )


@each(
    ("hosts", "payees", "words"),
    [
        ([], [], "paid reads of this service"),
        (["a.example"], [], "paid reads at a.example, paid to this service"),
        ([], [OWNER], f"paid reads of this service, paid to {OWNER}"),
    ],
)
def test_markets__an_empty_list_of_hosts_or_payees__is_this_service_alone(
    hosts: list[str], payees: list[str], words: str
) -> None:
    targets = parse_targets([{"kind": "x402", "hosts": hosts, "payees": payees}], CHAIN)
    assert [item["text_en"] for item in by_key(targets=targets)["markets"]["params"]["items"]] == [
        words
    ]
