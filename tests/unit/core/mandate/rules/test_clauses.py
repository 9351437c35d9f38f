"""The ten clauses as the owner reads them."""

from typing import Any

from core.mandate.rules.clauses import clauses
from core.mandate.rules.targets import Target, parse_targets
from core.mandate.rules.terms import MandateTerms, terms_to_json
from core.targets.known_signatures import signatures_by_selector
from tests.each import each

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


@each(
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
                "without a gain. Deposits are no gain. That is the default share."
            ),
        ),
    ],
)
def test_clause__reads(key: str, text: str) -> None:
    assert by_key()[key]["text_en"] == text


SELLER = "0x3333333333333333333333333333333333333333"


def named(address: str, *functions: tuple[str, bool]) -> dict[str, Any]:
    listed = [{"signature": signature, "exit": is_exit} for signature, is_exit in functions]
    return {"kind": "contract", "address": address, "functions": listed, "unpinned": True}


def test_stop_line__of_a_list_that_lets_money_go_where_no_adapter_values_it__says_that_it_counts_at_cost() -> (
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
        f" Money at {VENUE} counts at cost, unless this mandate has a function there that an "
        "adapter of this service values: a loss there stops nothing before the money comes back."
    )
    assert clause["params"]["unvalued_targets"] == [VENUE]
    assert clause["signed_fields"] == ["stopFloor", "stopFloorBps", "allowedTargetsHash"]


def test_stop_line__of_several_such_targets__names_each() -> None:
    targets = parse_targets([named(one, ("buy(uint256)", False)) for one in (VENUE, SELLER)], CHAIN)
    assert (
        f"Money at {VENUE} or {SELLER} counts at cost, unless"
        in by_key(targets=targets)["stop_line"]["text_en"]
    )


@each("items", [None, [VENUE], [named(VENUE, ("sell(uint256)", True))]])
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


@each("items", [None, [VENUE], [named(VENUE, ("buy(uint256)", False), ("sell(uint256)", True))]])
def test_at_stop__of_adapters_and_targets_with_an_exit__says_that_the_owner_can_unwind(
    items: list[Any] | None,
) -> None:
    clause = by_key(targets=parse_targets(items, CHAIN))["at_stop"]
    assert clause["text_en"].endswith(
        "This is stored; nothing acts on it yet, you can unwind yourself."
    )
    assert clause["params"] == {"on_floor": "keep"}


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
