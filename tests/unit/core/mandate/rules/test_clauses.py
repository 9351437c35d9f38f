"""The ten clauses as the owner reads them."""

from dataclasses import replace
from typing import Any

import pytest

from core.chain.abi import signatures_by_selector
from core.mandate.rules.clauses import (
    CLAUSE_KEYS,
    CLAUSE_NUMBERS,
    VaultAgent,
    agent_wallet,
    card_footer,
    card_header,
    clauses,
    unnamed_agent_notice,
)
from core.mandate.rules.targets import Target, parse_targets
from core.mandate.rules.terms import ZERO_ADDRESS, MandateTerms, terms_to_json

CHAIN = 84_532
OWNER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
AGENT = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
VENUE = "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc"
TERMS = MandateTerms(
    public_id="m_4k2v7c3xqa",
    owner=OWNER,
    agent=AGENT,
    budget_usdc=1_234_500_000,
    per_tx_cap=100_000_000,
    daily_cap=300_000_000,
    stop_floor=987_600_000,
    stop_floor_bps=2_000,
    horizon_days=30,
    ends_at=1_769_817_600,
    agent_fee_bps=1_000,
    approval_above=50_000_000,
    on_floor=0,
    allowed_targets_hash="0x" + "11" * 32,
    guard_targets_hash="0x" + "22" * 32,
    issued_at=1_767_225_600,
    nonce=1,
)
DEFAULT = parse_targets(None, CHAIN)
KNOWN = signatures_by_selector()


def by_key(
    terms: MandateTerms = TERMS, targets: tuple[Target, ...] = DEFAULT, version: int = 2
) -> dict[str, Any]:
    return {
        clause["key"]: clause for clause in clauses(terms, targets, known=KNOWN, version=version)
    }


def test_clauses__stand_in_the_order_of_the_specification() -> None:
    assert [(clause["n"], clause["key"]) for clause in clauses(TERMS, DEFAULT, known=KNOWN)] == [
        (1, "budget"),
        (2, "per_action"),
        (3, "per_day"),
        (4, "stop_line"),
        (5, "markets"),
        (6, "asking"),
        (7, "at_stop"),
        (8, "period"),
        (9, "agent_fee"),
        (10, "your_floors"),
    ]
    assert CLAUSE_NUMBERS["your_floors"] == len(CLAUSE_KEYS) == 10


def test_clause__has_exactly_the_fields_of_the_specification() -> None:
    for clause in clauses(TERMS, DEFAULT, known=KNOWN):
        assert set(clause) == {
            "n",
            "key",
            "text_en",
            "params",
            "enforced_by",
            "source",
            "signed_fields",
            "status",
        }


def test_enforced_by__is_one_of_the_three_names() -> None:
    assert {clause["enforced_by"] for clause in clauses(TERMS, DEFAULT, known=KNOWN)} <= {
        "Contract",
        "Torii guard",
        "Venue",
    }


def test_only_asking_and_at_stop__are_pending_and_their_text_says_so() -> None:
    pending = [
        clause
        for clause in clauses(TERMS, DEFAULT, known=KNOWN)
        if clause["status"] == "stored_pending"
    ]
    assert [clause["key"] for clause in pending] == ["asking", "at_stop"]
    assert all("This is stored" in clause["text_en"] for clause in pending)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (
            "budget",
            (
                "The vault holds a budget of 1,234.5 USDC. The agent can lose no more than what is "
                "in the vault."
            ),
        ),
        ("per_action", "One action may take out at most 100 USDC."),
        (
            "per_day",
            (
                "In any 24 hours at most 300 USDC may leave the vault. What comes back does not "
                "give the day back."
            ),
        ),
        (
            "stop_line",
            (
                "When the mandate is worth 987.6 USDC or less, the vault stops it. That is a "
                "loss of 246.9 USDC, 20.00 % of the budget. A price that jumps can cost more "
                "before the stop."
            ),
        ),
        (
            "markets",
            (
                "The agent may only use: the mandate vault's own adapters; paid reads of this "
                "service."
            ),
        ),
        (
            "period",
            (
                "The agent may act for 30 days, until 2026-01-31 00:00:00 UTC, and not from that "
                "second on."
            ),
        ),
        (
            "agent_fee",
            (
                "The agent gets 10.00 % of the realised gain at the settlement, and nothing "
                "without a gain. Deposits are no gain. That is the share of a draft that sets no "
                "payout_rule."
            ),
        ),
    ],
)
def test_clause__reads(key: str, text: str) -> None:
    assert by_key()[key]["text_en"] == text


@pytest.mark.parametrize(
    ("key", "params"),
    [
        ("budget", {"amount": "1234.500000"}),
        ("per_day", {"amount": "300.000000", "hours": 24}),
        ("stop_line", {"amount": "987.600000", "loss": "246.900000", "pct": "20.00"}),
        ("asking", {"amount": "50.000000"}),
        ("period", {"days": 30, "ends_at": "2026-01-31T00:00:00Z"}),
        ("agent_fee", {"pct": "10.00"}),
    ],
)
def test_clause__carries_machine_values(key: str, params: dict[str, object]) -> None:
    assert by_key()[key]["params"] == params


SELLER = "0x3333333333333333333333333333333333333333"


def named(address: str, *functions: tuple[str, bool]) -> dict[str, Any]:
    listed = [{"signature": signature, "exit": is_exit} for signature, is_exit in functions]
    return {"kind": "contract", "address": address, "functions": listed, "unpinned": True}


def test_stop_line__of_a_list_that_lets_money_go_where_no_adapter_values_it__says_who_can_stop_then() -> (
    None
):
    targets = parse_targets(
        [
            named(VENUE, ("buy(uint256)", False), ("sell(uint256)", True)),
            named(SELLER, ("sell(uint256)", True)),
        ],
        CHAIN,
    )
    clause = by_key(targets=targets)["stop_line"]
    assert clause["text_en"].endswith(
        f" While money is at {VENUE}, unless this mandate has a function there that an adapter "
        "of this service values, nobody but the keeper can stop the mandate by its worth. The "
        "keeper counts that money at cost, so a loss there shows only when the money comes back."
    )
    assert clause["params"]["unvalued_targets"] == [VENUE]
    assert clause["signed_fields"] == ["stopFloor", "stopFloorBps", "allowedTargetsHash"]


def test_stop_line__of_several_such_targets__names_each() -> None:
    targets = parse_targets([named(one, ("buy(uint256)", False)) for one in (VENUE, SELLER)], CHAIN)
    assert (
        f"While money is at {VENUE} or {SELLER}, unless"
        in by_key(targets=targets)["stop_line"]["text_en"]
    )


@pytest.mark.parametrize("items", [None, [VENUE], [named(VENUE, ("sell(uint256)", True))]])
def test_stop_line__of_adapters_and_exits_alone__says_nothing_of_it(
    items: list[Any] | None,
) -> None:
    clause = by_key(targets=parse_targets(items, CHAIN))["stop_line"]
    assert clause["text_en"].endswith("A price that jumps can cost more before the stop.")
    assert "unvalued_targets" not in clause["params"]


NO_EXIT = (
    ": no exit is named there, unwinding takes exits alone, and of what the agent opens there "
    "you can take out ERC-20 tokens that the vault itself holds and nothing else."
)


def test_at_stop__of_a_target_without_an_exit__says_that_the_owner_can_not_unwind_there() -> None:
    targets = parse_targets(
        [
            named(VENUE, ("stake(uint256)", False)),
            named(SELLER, ("buy(uint256)", False), ("sell(uint256)", True)),
        ],
        CHAIN,
    )
    clause = by_key(targets=targets)["at_stop"]
    assert clause["text_en"].endswith(
        f"nothing acts on it yet, you can unwind yourself, but not at {VENUE}{NO_EXIT}"
    )
    assert clause["params"] == {"on_floor": "keep", "targets_without_exit": [VENUE]}
    assert clause["signed_fields"] == ["onFloor", "allowedTargetsHash"]


def test_at_stop__of_such_a_target_beside_the_vaults_entry__knows_that_it_may_be_an_adapter() -> (
    None
):
    targets = parse_targets(
        [{"kind": "mandate_vault"}, named(VENUE, ("stake(uint256)", False))], CHAIN
    )
    text = by_key(targets=targets)["at_stop"]["text_en"]
    assert text.endswith(
        f"but not at {VENUE}, unless it is one of the mandate vault's own adapters{NO_EXIT}"
    )


@pytest.mark.parametrize(
    "items", [None, [VENUE], [named(VENUE, ("buy(uint256)", False), ("sell(uint256)", True))]]
)
def test_at_stop__of_adapters_and_targets_with_an_exit__says_that_the_owner_can_unwind(
    items: list[Any] | None,
) -> None:
    clause = by_key(targets=parse_targets(items, CHAIN))["at_stop"]
    assert clause["text_en"].endswith(
        "This is stored; nothing acts on it yet, you can unwind yourself."
    )
    assert clause["params"] == {"on_floor": "keep"}


def test_empty_caps__read_as_the_whole_budget() -> None:
    found = by_key(replace(TERMS, per_tx_cap=TERMS.budget_usdc, daily_cap=TERMS.budget_usdc))
    assert (
        found["per_action"]["text_en"]
        == "One action may take out at most 1,234.5 USDC (the whole budget)."
    )
    assert found["per_day"]["text_en"].startswith(
        "In any 24 hours at most 1,234.5 USDC (the whole budget) may leave"
    )


def test_no_approval_line__reads_as_acting_alone() -> None:
    asking = by_key(replace(TERMS, approval_above=0))["asking"]
    assert asking["params"] == {"amount": None}
    assert "does not ask first" in asking["text_en"]


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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("functions", [[TIED], [OPEN], [{"selector": "0xaabbccdd"}], None])
def test_markets__of_known_functions_and_of_bare_selectors__say_nothing_of_names(
    functions: Any,
) -> None:
    targets = parse_targets([{"address": VENUE, "functions": functions, "unpinned": True}], CHAIN)
    markets = by_key(targets=targets)["markets"]
    assert "proposer" not in markets["text_en"]
    assert "unverified_names" not in markets["params"]


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    "signature", ["f(address)", "f(address,uint256,bool,bytes4)", "f(address,(int8,bytes19)[2])"]
)
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


@pytest.mark.parametrize(
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


def test_signed_fields__are_names_of_the_typed_data_and_source_is_the_first() -> None:
    names = set(terms_to_json(TERMS))
    for clause in clauses(TERMS, DEFAULT, known=KNOWN):
        assert set(clause["signed_fields"]) <= names
        assert clause["source"] == f"terms.{clause['signed_fields'][0]}"


def test_version_1__backs_no_caps() -> None:
    found = by_key(version=1)
    assert (
        found["per_day"]["source"],
        found["per_day"]["signed_fields"],
        found["per_day"]["status"],
    ) == (None, [], "stored_pending")
    assert found["markets"]["signed_fields"] == ["allowedTargetsHash"]
    assert found["budget"]["status"] == "enforced"


def test_clauses__of_the_same_terms__are_the_same() -> None:
    assert clauses(TERMS, DEFAULT, known=KNOWN) == clauses(
        replace(TERMS), parse_targets(None, CHAIN), known=KNOWN
    )


# Header and footer


@pytest.mark.parametrize(
    ("candidates", "wallet"),
    [
        ((AGENT, OWNER), AGENT),
        ((ZERO_ADDRESS, OWNER), OWNER),
        ((None, ZERO_ADDRESS), None),
    ],
)
def test_header__names_the_first_wallet_that_is_somebody(
    candidates: tuple[str | None, ...], wallet: str | None
) -> None:
    assert agent_wallet(*candidates) == wallet


def header(**changes: Any) -> dict[str, Any]:
    known: dict[str, Any] = {
        "public_id": TERMS.public_id,
        "chain_id": CHAIN,
        "agent_id": "12",
        "agent_name": "Rex",
        "terms_agent": AGENT,
        "wallet_on_file": None,
        "of_vault": None,
        "strategy": None,
    }
    return card_header(**{**known, **changes})


def test_header__has_identity_who_and_strategy() -> None:
    assert header() == {
        "identity": {
            "text_en": "Mandate m_4k2v7c3xqa on chain 84532",
            "params": {"id": "m_4k2v7c3xqa", "chain_id": 84532},
        },
        "who": {
            "text_en": f"Rex acts with {AGENT}",
            "params": {"agent_id": "12", "name": "Rex", "wallet": AGENT},
        },
        "strategy": None,
    }


def test_header__without_an_agent__says_so() -> None:
    assert header(agent_id=None, agent_name=None, terms_agent=ZERO_ADDRESS)["who"] == {
        "text_en": "No agent is named yet",
        "params": {"agent_id": None, "name": None, "wallet": None},
    }


@pytest.mark.parametrize(
    ("of_vault", "on_file", "wallet", "says"),
    [
        (VaultAgent(OWNER), None, OWNER, f"Rex acts with {OWNER}"),
        (
            VaultAgent(OWNER),
            AGENT,
            OWNER,
            (
                f"Rex acts with {OWNER}; the vault does not obey {AGENT}, the wallet that Rex has "
                "linked"
            ),
        ),
        (VaultAgent(None), AGENT, None, "Rex cannot act: the vault obeys nobody"),
        (
            VaultAgent(None, is_known=False),
            AGENT,
            None,
            "Rex acts with the wallet that the vault obeys, which is not known now",
        ),
    ],
)
def test_header__with_a_vault__names_whom_it_obeys(
    of_vault: VaultAgent, on_file: str | None, wallet: str | None, says: str
) -> None:
    """It named the signed terms' agent, also after the owner had set another one."""
    who = header(of_vault=of_vault, wallet_on_file=on_file)["who"]
    assert (who["params"]["wallet"], who["text_en"]) == (wallet, says)


def test_header__of_terms_that_name_no_wallet__does_not_say_that_the_linked_one_acts() -> None:
    who = header(terms_agent=ZERO_ADDRESS, wallet_on_file=OWNER)["who"]
    assert who["params"]["wallet"] == OWNER
    assert who["text_en"] == (
        f"Rex has the wallet {OWNER}, and the terms name none: a vault made of them obeys "
        "nobody until its owner sets the agent"
    )


@pytest.mark.parametrize(
    ("name", "of_terms", "on_file", "begins"),
    [
        ("Rex", AGENT, None, None),
        (None, ZERO_ADDRESS, None, None),
        ("Rex", ZERO_ADDRESS, None, "These terms name no agent: Rex has no linked wallet."),
        (
            "Rex",
            ZERO_ADDRESS,
            OWNER,
            f"These terms name no agent: Rex linked {OWNER} after the terms were written.",
        ),
    ],
)
def test_notice__warns_of_terms_that_name_no_wallet_of_their_agent(
    name: str | None, of_terms: str, on_file: str | None, begins: str | None
) -> None:
    notice = unnamed_agent_notice(name, of_terms, on_file)
    assert notice is None if begins is None else str(notice).startswith(begins)


def test_header__of_a_strategy__says_that_it_is_not_signed() -> None:
    row = header(strategy={"listing_id": "l1", "name": "Trend"})["strategy"]
    assert row["text_en"] == "Strategy: Trend. It describes; it is not part of the signed terms."
    assert row["params"] == {"listing_id": "l1", "name": "Trend"}


def test_footer__has_standing_sentences_with_keys() -> None:
    keys = [row["key"] for row in card_footer()]
    assert keys == ["off_switch", "no_keys", "net_of_fees", "past_results", "testnet"]
