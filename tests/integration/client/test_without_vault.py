"""Mandates without a vault: signed, cancelled, or signed by nobody; and what the agents of vaults
sent.
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from api.client.verify import verification
from api.client.verify.findings import Report, Verdict
from core.chain.errors import RpcRefusedError
from core.chain.nodes import Nodes
from core.chain.results import Parse
from core.db.embedded import EmbeddedPostgres
from core.mandate.chain import calldata
from core.mandate.chain.typed_data import terms_digest
from core.mandate.rules.new_rows import expired_note
from core.mandate.rules.record import genesis_hash, totals_of
from core.mandate.rules.state import EMPTY_STATE
from core.mandate.rules.terms import terms_from_json, terms_to_json
from tests.integration.chain_fixtures import CHAIN_ID, DeployedChain
from tests.integration.client.conftest import export, following, judged
from tests.integration.client.forging import Forgery
from tests.integration.client.inventions import as_body
from tests.integration.indexer.conftest import DRAFTED_AT
from tests.personas import OWNER


@dataclass(frozen=True)
class Unfunded:
    chain: DeployedChain
    signed: tuple[bytes, ...]
    cancelled: tuple[bytes, ...]


@pytest.fixture(scope="module")
def unfunded(postgres: EmbeddedPostgres, template: str) -> Iterator[Unfunded]:
    with following(postgres, template) as follower:
        chain = follower.deployed
        signed, cancelled = follower.issue(), follower.issue("m_othermand2", nonce=2)
        chain.succeed(OWNER, chain.contracts["factory"], calldata.cancel_terms(cancelled.terms))
        chain.anvil.mine()
        follower.catch_up()
        yield Unfunded(chain, export(follower, signed), export(follower, cancelled))


def names(report: Report) -> list[str]:
    return [finding.name for finding in report.findings]


def test_signed_terms_without_a_vault__are_proven_by_their_signature(unfunded: Unfunded) -> None:
    report = judged(unfunded.chain, unfunded.signed)
    assert (report.verdict, report.claims) == (Verdict.SOUND, [])
    assert report.figures["status"] == "signed"


def test_terms_that_nobody_signed__are_not_shown_as_signed(unfunded: Unfunded) -> None:
    forgery = Forgery.of(unfunded.signed)
    forgery.first["signature"] = None
    report = judged(unfunded.chain, forgery.lines())
    assert names(report) == ["terms.signature"]
    assert (report.claims, report.figures["status"]) == ([1], "draft")


def test_neither_signature_nor_vault__is_never_sound(unfunded: Unfunded) -> None:
    forgery = Forgery.of(unfunded.signed)
    forgery.first["signature"] = None
    forgery.rows = []
    forgery.seal()
    report = judged(unfunded.chain, forgery.lines())
    assert (report.findings, report.unchecked) == (
        [],
        ["terms: there is neither a signature nor a vault"],
    )
    assert forgery.head["totals"] == totals_of(EMPTY_STATE)


def test_a_signature_that_the_rows_leave_out__is_found(unfunded: Unfunded) -> None:
    forgery = Forgery.of(unfunded.signed)
    forgery.rows = []
    forgery.seal()
    assert names(judged(unfunded.chain, forgery.lines())) == ["row.left_out"]


def test_cancelled_terms__are_cancelled_for_the_factory_too(unfunded: Unfunded) -> None:
    report = judged(unfunded.chain, unfunded.cancelled)
    assert (report.verdict, report.figures["status"]) == (Verdict.SOUND, "cancelled")


def test_a_cancellation_that_is_hidden__is_what_the_factory_says(unfunded: Unfunded) -> None:
    """Without a row of the chain no log was looked for before the record's last block."""
    forgery = Forgery.of(unfunded.cancelled)
    forgery.drop(forgery.body("terms_cancelled"))
    forgery.seal()
    assert "terms.cancelled" in names(judged(unfunded.chain, forgery.lines()))


def test_an_end_that_no_block_shows__is_not_believed(unfunded: Unfunded) -> None:
    forgery = Forgery.of(unfunded.signed)
    ends_at = forgery.first["terms"]["endsAt"]
    note = expired_note(DRAFTED_AT.fromtimestamp(int(ends_at), DRAFTED_AT.tzinfo), safe_block=3)
    forgery.insert(as_body(note))
    forgery.seal()
    assert names(judged(unfunded.chain, forgery.lines())) == ["row.unproven"]


def test_an_end_that_a_block_shows__is_proven(unfunded: Unfunded) -> None:
    chain, forgery = unfunded.chain, Forgery.of(unfunded.signed)
    ends_at = int(forgery.first["terms"]["endsAt"])
    chain.rpc.call("evm_setNextBlockTimestamp", [ends_at])
    chain.anvil.mine()
    header = chain.reader.header()
    assert header is not None and header.timestamp == ends_at
    note = expired_note(
        DRAFTED_AT.fromtimestamp(ends_at, DRAFTED_AT.tzinfo), safe_block=header.number
    )
    forgery.insert(as_body(note))
    forgery.head["as_of"] = {
        "block_number": header.number, "block_hash": header.hash,
        "reverts_block_number": header.number,
    }  # fmt: skip
    forgery.seal()
    report = judged(unfunded.chain, forgery.lines())
    assert (names(report), report.unchecked, report.claims) == ([], [], [])
    assert report.figures["status"] == "cancelled"


def test_a_cancellation_after_the_records_last_block__leaves_it_unchecked(
    unfunded: Unfunded,
) -> None:
    """A record that ends before the owner cancelled was sound; of the vault alone later logs counted."""
    forgery = Forgery.of(unfunded.cancelled)
    number = forgery.body("terms_cancelled")["block_number"] - 1
    forgery.drop(forgery.body("terms_cancelled"))
    block = unfunded.chain.rpc.call("eth_getBlockByNumber", [hex(number), False])
    forgery.head["as_of"] = {
        "block_number": number, "block_hash": block["hash"], "reverts_block_number": number,
    }  # fmt: skip
    forgery.seal()
    report = judged(unfunded.chain, forgery.lines())
    assert (names(report), report.verdict) == ([], Verdict.UNCHECKED)
    assert "the factory has logs after it" in report.unchecked[0]


def test_caps_that_version_1_of_the_terms_does_not_hold__are_nobodys_word(
    unfunded: Unfunded,
) -> None:
    """They may be any in the record: the owner's signature does not cover them."""
    forgery = Forgery.of(unfunded.signed)
    terms = terms_from_json(forgery.first["terms"])
    digest = terms_digest(terms, unfunded.chain.contracts["factory"], CHAIN_ID, 1)
    forgery.first |= {
        "terms_version": 1,
        "terms_digest": digest,
        "vault": None,
        "signature": OWNER.signer.sign_digest(digest),
    }
    forgery.first["terms"]["dailyCap"] = str(10 * terms.daily_cap)
    forgery.body("signed")["payload"] |= {"terms_digest": digest, "version": 1}
    forgery.seal()
    report = judged(unfunded.chain, forgery.lines())
    assert (names(report), report.verdict) == ([], Verdict.UNCHECKED)
    assert "dailyCap" in report.unchecked[0]


# Other terms of the same owner


def as_paper(lines: tuple[bytes, ...]) -> list[bytes]:
    """The same terms, shown as a paper mandate's with a profit that only its rows tell of."""
    forgery = Forgery.of(lines)
    forgery.first |= {"market_mode": "paper", "vault": None}
    deposit = copy.deepcopy(forgery.body("signed")) | {
        "kind": "deposit", "base_key": "paper_deposit", "payload": {"paper": True},
        "amount_usdc": "1000.000000", "cash_delta_usdc": "1000.000000",
    }  # fmt: skip
    forgery.insert(deposit)
    forgery.head["as_of"] = None
    forgery.seal()
    return forgery.lines()


def test_terms_shown_as_paper__are_claims_only(unfunded: Unfunded) -> None:
    """What the owner signed does not say whether a mandate is paper: its rows were called sound."""
    report = judged(unfunded.chain, as_paper(unfunded.signed))
    assert (report.findings, report.unchecked) == ([], [])
    assert report.verdict is Verdict.CLAIMS_ONLY
    assert [report.verdict.exit_code(strict=strict) for strict in (False, True)] == [0, 3]


@pytest.fixture(scope="module")
def second(postgres: EmbeddedPostgres, template: str) -> Iterator[Unfunded]:
    """The owner signed for three mandates; of the first a vault was made."""
    with following(postgres, template) as follower:
        chain = follower.deployed
        chain.create_vault(follower.issue("m_firstofall2", nonce=2).terms)
        signed, third = follower.issue(), follower.issue("m_thirdofall2", nonce=3)
        chain.anvil.mine()
        follower.catch_up()
        yield Unfunded(chain, export(follower, signed), export(follower, third))


@pytest.mark.parametrize("shown", [list, as_paper], ids=["unfunded", "paper"])
def test_terms_without_a_vault_whose_owner_has_one__are_never_sound_until_a_mandate_is_named(
    second: Unfunded, shown: Callable[[tuple[bytes, ...]], Sequence[bytes]]
) -> None:
    lines = shown(second.signed)
    report = judged(second.chain, lines)
    assert (names(report), report.verdict) == ([], Verdict.UNCHECKED)
    assert "of m_firstofall2; name the mandate that you mean" in report.unchecked[0]
    named = judged(second.chain, lines, mandate="m_4k2v7c3xqa")
    assert (names(named), named.unchecked) == ([], [])
    assert "other vaults, of which this record says nothing: 0x" in named.remarks[0]


def of_the_first(second: Unfunded, factory: str) -> Sequence[bytes]:
    """A record of other terms of the mandate that has a vault, signed for this factory."""
    forgery = Forgery.of(second.signed)
    terms = replace(terms_from_json(forgery.first["terms"]), public_id="m_firstofall2")
    digest = terms_digest(terms, factory, CHAIN_ID)
    forgery.first |= {
        "mandate_id": terms.public_id, "genesis_hash": genesis_hash(terms.public_id),
        "terms": terms_to_json(terms), "terms_digest": digest, "vault": None, "factory": factory,
        "signature": OWNER.signer.sign_digest(digest),
    }  # fmt: skip
    forgery.body("signed")["payload"]["terms_digest"] = digest
    forgery.seal()
    return forgery.lines()


def test_a_vault_of_another_trusted_factory__is_not_left_unsaid(
    second: Unfunded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Contracts were deployed again, and the owner signed the same mandate for both factories."""
    factory, other = second.chain.contracts["factory"], "0x" + "77" * 20
    code = second.chain.rpc.call("eth_getCode", [factory, "latest"])
    second.chain.rpc.call("anvil_setCode", [other, code])
    monkeypatch.setattr(
        verification, "pinned", lambda name, _: (factory,) if name == "factory" else ()
    )
    report = judged(
        second.chain, of_the_first(second, other), factory=other, mandate="m_firstofall2"
    )
    assert (names(report), report.verdict) == ([], Verdict.UNCHECKED)
    assert "signed others for m_firstofall2 too" in report.unchecked[0]


def test_other_terms_of_the_same_mandate_with_a_vault__are_never_sound_whatever_is_named(
    second: Unfunded,
) -> None:
    lines = of_the_first(second, second.chain.contracts["factory"])
    report = judged(second.chain, lines, mandate="m_firstofall2")
    assert (names(report), report.verdict) == ([], Verdict.UNCHECKED)
    assert (
        "signed others for m_firstofall2 too, and the factory made of them" in report.unchecked[0]
    )


class NoPastCode(Nodes):
    """Has the state of the newest block alone, and takes no range of more than five blocks."""

    def call(self, method: str, params: Sequence[Any] = (), parse: Parse[Any] | None = None) -> Any:
        if method == "eth_getCode" and params[1] != "latest":
            raise RpcRefusedError(method, -32000, "missing trie node")
        if method == "eth_getLogs" and _width(params[0]) > 5:
            raise RpcRefusedError(method, -32000, "query exceeds max block range")
        return super().call(method, params, parse)


def _width(wanted: Mapping[str, str]) -> int:
    return int(wanted["toBlock"], 16) - int(wanted["fromBlock"], 16) + 1


def test_other_terms__are_found_by_a_node_with_short_ranges_and_no_past_state(
    second: Unfunded,
) -> None:
    rpc = NoPastCode([second.chain.anvil.url])
    report = judged(second.chain, second.signed, rpc)
    rpc.close()
    assert any("of m_firstofall2; name the mandate" in text for text in report.unchecked)
