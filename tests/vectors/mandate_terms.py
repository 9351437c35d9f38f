"""Write tests/vectors/mandate_terms.json: the golden vectors of what a wallet signs.

`python -m tests.vectors.mandate_terms`

The file is deterministic. Python, Solidity and a JavaScript wallet library each compute the same
digests from it (docs/testing.md), so a change here has to be meant in all three.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from eth_account import Account
from eth_account.messages import encode_typed_data

from core.mandate.chain.typed_data import (
    guard_targets_hash,
    receive_authorization,
    rules_hash,
    terms_digest,
    terms_typed_data,
)
from core.mandate.rules.terms import (
    UNPINNED,
    ZERO_ADDRESS,
    MandateTerms,
    Rule,
    RuleKind,
    rules_to_json,
)

FILE = Path(__file__).resolve().with_suffix(".json")
# anvil's second account: everybody knows this key.
OWNER_KEY = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
OWNER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
AGENT = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
FACTORY = "0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512"
OTHER_FACTORY = "0x00000000000000000000000000000000DeaDBeef"
USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
BASE_SEPOLIA = 84532
LARGEST = 2**53 - 1


def rules(count: int) -> tuple[Rule, ...]:
    """Sorted rules at made-up targets, of every kind and with and without a pin."""
    return tuple(
        Rule(
            "0x" + f"{n + 1:040x}",
            "0x" + f"{n * 7 + 1:08x}",
            n % 5 if n % 2 else UNPINNED,
            RuleKind(n % 4),
        )
        for n in range(count)
    )


GUARD: list[Any] = [{"hosts": ["api.example"], "kind": "x402", "payees": [AGENT]}]
PLAIN = MandateTerms(
    public_id="m_4k2v7c3xqa",
    owner=OWNER,
    agent=AGENT,
    budget_usdc=1_000_000_000,
    per_tx_cap=200_000_000,
    daily_cap=450_000_000,
    stop_floor=950_000_000,
    stop_floor_bps=500,
    horizon_days=30,
    ends_at=1_802_592_000,
    agent_fee_bps=1_000,
    approval_above=0,
    on_floor=0,
    allowed_targets_hash=rules_hash(rules(3)),
    guard_targets_hash=guard_targets_hash([]),
    issued_at=1_800_000_000,
    nonce=1,
)


def cases() -> list[tuple[str, MandateTerms, tuple[Rule, ...], list[Any], str, int, int]]:
    """(name, terms, rules, guard targets, factory, chain, version)"""
    one, many = rules(1), rules(32)
    board = replace(
        PLAIN,
        agent=ZERO_ADDRESS,
        allowed_targets_hash=rules_hash(one),
        guard_targets_hash=guard_targets_hash(GUARD),
    )
    largest = replace(
        PLAIN,
        budget_usdc=LARGEST,
        per_tx_cap=LARGEST,
        daily_cap=LARGEST,
        stop_floor=0,
        stop_floor_bps=10_000,
        horizon_days=3_650,
        ends_at=2**32 - 1,
        agent_fee_bps=10_000,
        approval_above=2**256 - 1,
        on_floor=1,
        allowed_targets_hash=rules_hash(many),
        nonce=2**256 - 1,
    )
    words = replace(PLAIN, public_id="m_" + "größer als ein Wort, 字 und 🙂 " * 4)
    return [
        ("plain", PLAIN, rules(3), [], FACTORY, BASE_SEPOLIA, 2),
        ("open board, one rule, guarded hosts", board, one, GUARD, FACTORY, BASE_SEPOLIA, 2),
        ("largest values, 32 rules", largest, many, [], FACTORY, BASE_SEPOLIA, 2),
        ("long public id outside ASCII", words, rules(3), [], FACTORY, BASE_SEPOLIA, 2),
        ("another factory", PLAIN, rules(3), [], OTHER_FACTORY, BASE_SEPOLIA, 2),
        ("another chain", PLAIN, rules(3), [], FACTORY, 8453, 2),
        ("version 1, verified and never issued", PLAIN, rules(3), [], FACTORY, BASE_SEPOLIA, 1),
    ]


def signed(document: dict[str, Any]) -> str:
    return str(
        Account.from_key(OWNER_KEY)
        .sign_message(encode_typed_data(full_message=document))
        .signature.to_0x_hex()
    )


def main() -> None:
    vectors = [
        {
            "name": name,
            "version": version,
            "chain_id": chain_id,
            "factory": factory,
            "typed_data": terms_typed_data(terms, factory, chain_id, version),
            "rules": rules_to_json(listed),
            "guard_targets": guards,
            "digest": terms_digest(terms, factory, chain_id, version),
            "signature": signed(terms_typed_data(terms, factory, chain_id, version)),
        }
        for name, terms, listed, guards, factory, chain_id, version in cases()
    ]
    digest = vectors[0]["digest"]
    funding = receive_authorization(
        USDC, BASE_SEPOLIA, OWNER, OTHER_FACTORY, PLAIN.budget_usdc, 0, PLAIN.ends_at, str(digest)
    ).typed_data
    document = {
        "signer": OWNER,
        "terms": vectors,
        "funding": {"typed_data": funding, "signature": signed(funding)},
    }
    FILE.write_text(json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    print(f"{len(vectors)} vectors of terms and one of funding in {FILE.name}")


if __name__ == "__main__":
    main()
