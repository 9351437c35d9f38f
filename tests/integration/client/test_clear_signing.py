"""What a wallet that knows our descriptors shows, by the console's own renderer in Node."""

import copy
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from core.chain.abi import Parameter, function
from core.mandate.chain import calldata
from core.mandate.chain.typed_data import terms_typed_data
from core.mandate.rules.clauses import clauses
from core.mandate.rules.shown import Shown
from core.mandate.rules.targets import parse_targets
from core.mandate.rules.term_words import TERMS
from core.mandate.rules.terms import ZERO_ADDRESS, MandateTerms, Rule, RuleKind
from scripts.make_vectors import AGENT, BASE_SEPOLIA, FACTORY, OTHER_FACTORY, OWNER, PLAIN, USDC
from tests.integration.client.test_node_clients import run
from tests.unit.core.mandate.rules.worked import table

PLACE = {"chainId": BASE_SEPOLIA, "factory": FACTORY, "usdc": USDC}
KNOWS_USDC = {"tokens": {f"{BASE_SEPOLIA}:{USDC.lower()}": {"ticker": "USDC", "decimals": 6}}}
VAULT = "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc"
SIGNED = replace(
    PLAIN, budget_usdc=1_234_500_000, stop_floor_bps=1_250, approval_above=50_000_001, on_floor=1
)
Rows = list[list[str]]


def screens(*jobs: dict[str, Any]) -> list[dict[str, Any]]:
    bound = [{"place": PLACE, "wallet": KNOWS_USDC} | job for job in jobs]
    return list(run("clear_signing.mjs", jobs=bound)["screens"])


def document_job(terms: MandateTerms = SIGNED, **changes: Any) -> dict[str, Any]:
    document = terms_typed_data(terms, FACTORY, BASE_SEPOLIA)
    return {"descriptor": "terms", "typed_data": document} | changes


def rows(terms: MandateTerms = SIGNED) -> Rows:
    (screen,) = screens(document_job(terms))
    return list(screen["rows"])


def named(parameters: tuple[Parameter, ...], values: tuple[Any, ...]) -> dict[str, Any]:
    """Decoded arguments by name, integers as text, as the console's decoder has them."""
    return {one.name: _value(one, value) for one, value in zip(parameters, values, strict=True)}


def _value(parameter: Parameter, value: Any) -> Any:
    if parameter.type.endswith("[]"):
        return [named(parameter.components, item) for item in value]
    if parameter.components:
        return named(parameter.components, value)
    return str(value)


def call_job(contract: str, name: str, data: str, **changes: Any) -> dict[str, Any]:
    called = function(contract, name)
    call = {
        "chainId": BASE_SEPOLIA,
        "to": FACTORY if contract == "MandateVaultFactory" else VAULT,
        "createdBy": FACTORY,
        "signature": called.signature,
        "args": named(called.inputs, called.decode_input(data)),
    }
    descriptor = "factory" if contract == "MandateVaultFactory" else "vault"
    return {"descriptor": descriptor, "call": call | changes}


# The terms


def test_the_terms__are_shown_in_plain_words() -> None:
    (screen,) = screens(document_job())
    assert screen == {
        "intent": "Sign a mandate for an agent",
        "rows": [
            ["Mandate", "m_4k2v7c3xqa"],
            ["Owner", OWNER],
            ["Agent", AGENT],
            ["Budget", "1,234.5 USDC"],
            ["At most per action", "200 USDC"],
            ["At most in 24 hours", "450 USDC"],
            ["Stop line", "950 USDC"],
            ["Loss, of the budget", "12.5%"],
            ["Agent may act until", "2027-02-14 08:00:00 UTC"],
            ["Agent may act for", "30d"],
            ["Agent gets of the gain", "10%"],
            ["Agent asks above (stored)", "50.000001 USDC"],
            ["Positions at stop (stored)", "to be closed"],
            ["Agent may only use (hash)", SIGNED.allowed_targets_hash],
            ["Paid reads (hash)", SIGNED.guard_targets_hash],
        ],
    }


def test_the_page_s_example__is_what_is_shown() -> None:
    assert rows(PLAIN) == table("erc7730.md", "screen")


def test_a_wallet__shows_each_label_of_the_table_once_and_in_its_order() -> None:
    assert [label for label, _ in rows()] == [
        term.form.label for term in TERMS if isinstance(term.form, Shown)
    ]


@pytest.mark.parametrize(
    ("field", "clause"),
    [
        ("budgetUsdc", "budget"),
        ("perTxCap", "per_action"),
        ("dailyCap", "per_day"),
        ("stopFloor", "stop_line"),
        ("endsAt", "period"),
        ("approvalAbove", "asking"),
        ("onFloor", "at_stop"),
    ],
)
def test_a_figure_of_the_wallet__stands_in_its_clause_word_for_word(
    field: str, clause: str
) -> None:
    assert of_wallet()[field] in of_clauses()[clause]["text_en"]


@pytest.mark.parametrize(
    ("field", "unit", "clause", "figure"),
    [
        ("stopFloorBps", "%", "stop_line", "pct"),
        ("agentFeeBps", "%", "agent_fee", "pct"),
        ("horizonDays", "d", "period", "days"),
    ],
)
def test_a_figure_with_a_unit__equals_the_clause_s(
    field: str, unit: str, clause: str, figure: str
) -> None:
    """The ERC writes `12.5%` and `30d`, the clauses `12.50 %` and `30 days`."""
    text = of_wallet()[field]
    assert text.endswith(unit)
    assert Decimal(text.removesuffix(unit)) == Decimal(of_clauses()[clause]["params"][figure])


def test_the_owner__is_the_clause_s() -> None:
    assert of_wallet()["owner"] == of_clauses()["your_floors"]["params"]["owner"]


def of_wallet() -> dict[str, str]:
    by_label: dict[str, str] = dict(map(tuple, rows()))
    return {term.name: by_label[term.form.label] for term in TERMS if isinstance(term.form, Shown)}


def of_clauses() -> dict[str, dict[str, Any]]:
    made = clauses(SIGNED, parse_targets(None, BASE_SEPOLIA), known={})
    return {one["key"]: one for one in made}


def test_an_approval_line_of_0__is_not_shown_as_one() -> None:
    assert "Agent asks above (stored)" not in dict(rows(replace(SIGNED, approval_above=0)))


def test_the_largest_amount__is_written_out() -> None:
    shown = dict(rows(replace(SIGNED, budget_usdc=2**256 - 1)))
    assert shown["Budget"] == (
        "115,792,089,237,316,195,423,570,985,008,687,907,853,269,984,665,640,564,039,457,584,"
        "007,913,129.639935 USDC"
    )


def test_the_open_board__shows_the_zero_address() -> None:
    assert dict(rows(replace(SIGNED, agent=ZERO_ADDRESS)))["Agent"] == ZERO_ADDRESS


def test_a_name_that_the_wallet_knows__stands_for_the_address() -> None:
    (screen,) = screens(document_job(wallet=KNOWS_USDC | {"names": {AGENT.lower(): "my agent"}}))
    assert dict(screen["rows"])["Agent"] == "my agent"


def test_a_token_that_the_wallet_does_not_know__is_said_to_be_unknown() -> None:
    (screen,) = screens(document_job(wallet={}))
    assert dict(screen["rows"])["Stop line"] == f"950000000 base units of an unknown token {USDC}"


def test_the_signing_page__shows_the_same_on_a_network_without_published_contracts() -> None:
    service = {"chain_id": BASE_SEPOLIA, "contracts": {"factory": FACTORY, "usdc": USDC}}
    (screen,) = screens(document_job(service=service))
    assert screen == {"rows": rows()}


# What a wallet must refuse


def changed(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    document = copy.deepcopy(terms_typed_data(SIGNED, FACTORY, BASE_SEPOLIA))
    inside: Any = document
    for name in path[:-1]:
        inside = inside[name]
    inside[path[-1]] = value
    return document_job(typed_data=document)


@pytest.mark.parametrize(
    ("path", "value", "error"),
    [
        (("domain", "name"), "Mandate Wa11et", "the domain's name is Mandate Wa11et, not"),
        (("domain", "version"), "1", "the domain's version is 1, not 2"),
        (("domain", "chainId"), 8453, f"{FACTORY} on chain 8453 is none of the descriptor's"),
        (("domain", "verifyingContract"), OTHER_FACTORY, f"{OTHER_FACTORY} on chain 84532 is none"),
        (("primaryType",), "Mandate", "the document has no type Mandate"),
        (("message", "budgetUsdc"), "1.5", "1.5 is not a whole number"),
        (("message", "budgetUsdc"), 1.5, "1.5 is not a whole number"),
        (("message", "budgetUsdc"), None, "no value at budgetUsdc"),
        (("message", "owner"), [OWNER], "a struct or list has no text"),
    ],
)
def test_a_document_that_the_descriptor_does_not_fit__is_refused(
    path: tuple[str, ...], value: Any, error: str
) -> None:
    (screen,) = screens(changed(path, value))
    assert screen["error"].startswith(error)


def test_a_member_added_to_the_type_without_a_label__is_refused() -> None:
    job = document_job()
    job["typed_data"]["types"]["MandateTerms"].append({"name": "leverage", "type": "uint8"})
    job["typed_data"]["message"]["leverage"] = "10"
    (screen,) = screens(job)
    assert screen["error"].startswith("no format for MandateTerms(string publicId,")
    assert screen["error"].endswith(",uint8 leverage)")


def test_a_descriptor_of_another_major_version__is_refused() -> None:
    foreign = {"$schema": "https://eips.ethereum.org/assets/eip-7730/erc7730-v3.schema.json"}
    (screen,) = screens(document_job(descriptor=foreign, place=None))
    assert screen["error"].endswith("erc7730-v3.schema.json, not of version 2")


def test_the_published_descriptor__fits_no_unpublished_contract() -> None:
    (screen,) = screens(document_job(place=None))
    assert screen["error"] == f"{FACTORY} on chain 84532 is none of the descriptor's"


# The calls


LISTED = (
    Rule(VAULT, "0x0000000a", 1, RuleKind.VALUED),
    Rule(VAULT, "0x0000000b", 255, RuleKind.EXIT),
)


def test_the_creation__shows_the_terms_the_rules_in_clear_and_the_money() -> None:
    data = calldata.create_vault(SIGNED, LISTED, "0x1234", calldata.Funding(1_234_500_000, 0, 5))
    (screen,) = screens(call_job("MandateVaultFactory", "createVault", data))
    assert screen["intent"] == "Create the vault of a mandate"
    assert screen["rows"][:15] == rows()
    assert screen["rows"][15:] == [
        ["Agent may use", "1 of 2"],
        ["Contract", VAULT],
        ["Function", "0x0000000a"],
        ["Argument word tied to the vault (255: none)", "1"],
        ["Money", "may spend, position valued"],
        ["Agent may use", "2 of 2"],
        ["Contract", VAULT],
        ["Function", "0x0000000b"],
        ["Argument word tied to the vault (255: none)", "255"],
        ["Money", "brings money back"],
        ["Paid in", "1,234.5 USDC"],
    ]


def test_a_creation_without_rules__says_so() -> None:
    data = calldata.create_vault(SIGNED, ())
    (screen,) = screens(call_job("MandateVaultFactory", "createVault", data))
    assert screen["rows"][15:] == [["Agent may use", "none"], ["Paid in", "0 USDC"]]


@pytest.mark.parametrize(
    ("name", "data", "intent", "shown"),
    [
        ("deposit", calldata.deposit(5_000_000), "Pay into the vault", [["Paid in", "5 USDC"]]),
        (
            "withdraw",
            calldata.withdraw(USDC, OWNER, 940_000_001),
            "Withdraw from the vault",
            [["Amount", "940.000001 USDC"], ["To", OWNER], ["Token", USDC]],
        ),
        ("setAgent", calldata.set_agent(AGENT), "Set who may act as agent", [["Agent", AGENT]]),
        ("removeAgent", calldata.remove_agent(), "Pause: remove the agent", []),
        ("stop", calldata.stop("owner"), "Stop the mandate for good", []),
        ("settle", calldata.settle(), "Pay the agent's fee", []),
        (
            "unwind",
            calldata.unwind([calldata.VaultCall(AGENT, 0, "0xabcd")]),
            "Bring positions home",
            [["Exit", "1 of 1"], ["Contract", AGENT], ["Call data", "0xabcd"]],
        ),
    ],
)
def test_a_call_at_the_vault__is_shown_in_plain_words(
    name: str, data: str, intent: str, shown: Rows
) -> None:
    (screen,) = screens(call_job("MandateVault", name, data))
    assert screen == {"intent": intent, "rows": shown}


def test_the_end_of_signed_terms__shows_all_of_them() -> None:
    data = calldata.cancel_terms(SIGNED)
    (screen,) = screens(call_job("MandateVaultFactory", "cancelTerms", data))
    assert screen == {"intent": "Cancel signed terms for good", "rows": rows()}


def test_an_exit_that_would_spend__is_refused() -> None:
    data = calldata.unwind([calldata.VaultCall(AGENT, 1, "0x")])
    (screen,) = screens(call_job("MandateVault", "unwind", data))
    assert screen == {"error": "maxSpend is 1, which it must not be"}


def test_a_token_of_a_stranger__is_said_to_be_unknown() -> None:
    data = calldata.withdraw(AGENT, OWNER, 7)
    (screen,) = screens(call_job("MandateVault", "withdraw", data))
    assert screen["rows"][0] == ["Amount", f"7 base units of an unknown token {AGENT}"]


@pytest.mark.parametrize("made_by", [OTHER_FACTORY, ""])
def test_a_vault_that_our_factory_did_not_make__is_refused(made_by: str) -> None:
    job = call_job("MandateVault", "settle", calldata.settle())
    job["call"]["createdBy"] = made_by
    (screen,) = screens(job)
    assert screen["error"] == (
        f"{made_by or 'the contract'} on chain 84532 is none of the descriptor's"
    )


def test_a_call_that_no_owner_signs__is_refused() -> None:
    data = calldata.enforce_stop_line()
    (screen,) = screens(call_job("MandateVault", "enforceStopLine", data))
    assert screen == {"error": "0 formats for enforceStopLine()"}


# Forms of the ERC that our own descriptors do not use


def made_up(field: dict[str, Any], value: Any = "8250") -> dict[str, Any]:
    descriptor = {
        "$schema": "https://eips.ethereum.org/assets/eip-7730/erc7730-v2.schema.json",
        "context": {"contract": {"deployments": [{"chainId": 1, "address": VAULT}]}},
        "metadata": {"constants": {"native": ZERO_ADDRESS}, "enums": {"mode": {"1": "stable"}}},
        "display": {"formats": {"f(uint256 x)": {"fields": [{"path": "x", "label": "X"} | field]}}},
    }
    call = {"chainId": 1, "to": VAULT, "signature": "f(uint256)", "args": {"x": value}}
    (screen,) = screens({"descriptor": descriptor, "call": call, "place": None})
    return dict(screen)


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ({"format": "duration"}, 8_250, "02:17:30"),
        ({"format": "amount"}, "0x2c1c986f1c48000", "0.19866144 ETH"),
        ({"format": "amount"}, "-1", "-0.000000000000000001 ETH"),
        ({"format": "unit", "params": {"base": "d", "decimals": 1}}, 15, "1.5d"),
        ({"format": "unit", "params": {"base": "h"}}, 10, "10h"),
        (
            {"format": "date", "params": {"encoding": "timestamp"}},
            1_709_191_632,
            "2024-02-29 07:27:12 UTC",
        ),
        ({"format": "date", "params": {"encoding": "timestamp"}}, str(2**64), f"second {2**64}"),
        ({"format": "enum", "params": {"$ref": "$.metadata.enums.mode"}}, 1, "stable"),
        ({"format": "enum", "params": {"$ref": "$.metadata.enums.mode"}}, 7, "7"),
        ({"format": "raw", "visible": "optional"}, 1_000, "1000"),
        (
            {
                "format": "tokenAmount",
                "params": {
                    "token": "$.metadata.constants.native",
                    "nativeCurrencyAddress": [ZERO_ADDRESS],
                },
            },
            2_000_000_000_000_000,
            "0.002 ETH",
        ),
    ],
)
def test_a_format__is_written_as_the_erc_s_examples(
    field: dict[str, Any], value: Any, text: str
) -> None:
    assert made_up(field, value)["rows"] == [["X", text]]


@pytest.mark.parametrize(
    "field",
    [
        {"format": "nftName"},
        {"format": "unit", "params": {"base": "s", "prefix": True}},
        {"format": "date", "params": {"encoding": "blockheight"}},
        {"format": "raw", "path": "x.[0:20]"},
        {"format": "raw", "path": "@.nothing"},
        {"format": "raw", "path": "constructor"},
        {"format": "raw", "label": ""},
    ],
)
def test_a_form_that_is_not_read__is_refused_and_never_passed_over(field: dict[str, Any]) -> None:
    assert list(made_up(field)) == ["error"]
