"""Whose word a payment is: the x402 adapter's alone, whatever else the signed rules let a vault
pay.
"""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from api.client.verify.findings import Report, Verdict
from core.db.embedded import EmbeddedPostgres
from core.mandate.chain import calldata, typed_data
from core.mandate.chain.calldata import VaultCall
from core.mandate.chain.decode import decode_log
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules import events as ev
from core.mandate.rules.new_rows import row_from_event
from core.mandate.rules.terms import UNPINNED, Rule, RuleKind
from core.mandate.venues import x402
from tests.integration.chain_fixtures import CHAIN_ID, USDC, DeployedChain
from tests.integration.client.conftest import export, following, judged, names, settle_reverts
from tests.integration.forger import FORGER, forge_payment, list_forger
from tests.integration.indexer.conftest import Follower, Issued, now_utc
from tests.personas import AGENT, GUARD, KEEPER, OWNER, STRANGER

HASH = "0x" + "44" * 32


class PayingChain(DeployedChain):
    """Its vaults may pay through the x402 adapter."""

    def rules(self) -> tuple[Rule, ...]:
        every = (
            *DeployedChain.rules(self),
            *self.reader.adapter_rules(self.contracts["x402_adapter"]),
            *self.more(),
        )
        return tuple(sorted(every, key=lambda rule: (int(rule.target, 16), rule.selector)))

    def more(self) -> tuple[Rule, ...]:
        return ()


class TrustingChain(PayingChain):
    """Its vaults may pay another listed adapter too, as terms could be drawn up before only the
    x402 adapter was taken for one.
    """

    def more(self) -> tuple[Rule, ...]:
        return (Rule(FORGER, "0x12345678", UNPINNED, RuleKind.COST),)


@dataclass(frozen=True)
class Paid:
    """Records of one honest payment each; in the vault's name another adapter forged a second
    one.
    """

    chain: DeployedChain
    one_named: tuple[bytes, ...]  # the rules name the x402 adapter alone
    two_named: tuple[bytes, ...]  # and the forger
    with_forgery: tuple[bytes, ...]  # and the forged payment stands in the record


@pytest.fixture(scope="module")
def paid(postgres: EmbeddedPostgres, template: str) -> Iterator[Paid]:
    with following(postgres, template) as follower:
        plain = follower.deployed
        list_forger(plain)
        one, _ = _paying(
            follower,
            PayingChain(plain.anvil, plain.contracts, plain.start_block),
            "m_onenamed23",
            2,
        )
        two, vault = _paying(
            follower,
            TrustingChain(plain.anvil, plain.contracts, plain.start_block),
            "m_twonamed23",
            3,
        )
        forged = forge_payment(plain, vault, STRANGER.address, 2 * USDC, HASH)
        follower.catch_up()
        settle_reverts(follower.chain)
        honest = (export(follower, one), export(follower, two))
        header = plain.reader.header(forged.block_hash)
        assert header is not None
        ref = ev.LogRef(
            CHAIN_ID,
            header.number,
            header.hash,
            header.timestamp,
            forged.tx_hash,
            forged.logs[0].log_index,
            FORGER,
        )
        event = decode_log(forged.logs[0])
        assert isinstance(event, ev.X402Paid)
        row = row_from_event(
            event, ref, KEEPER.address, OWNER.address, AGENT.address, usdc=plain.contracts["usdc"]
        )
        assert row is not None
        with follower.database.write() as session:
            mandate_ledger.append(session, two.id, row, now_utc())
        yield Paid(plain, *honest, export(follower, two))


def _paying(
    follower: Follower, chain: DeployedChain, public_id: str, nonce: int
) -> tuple[Issued, str]:
    """A mandate under the chain's rules whose vault has paid 1 USDC through the x402 adapter."""
    follower.deployed = chain
    mandate = follower.issue(public_id, nonce=nonce)
    vault, adapter = chain.create_vault(mandate.terms), chain.contracts["x402_adapter"]
    payment = {
        "pay_to": STRANGER.address,
        "amount": USDC,
        "resource_hash": HASH,
        "nonce": "0x" + secrets.token_hex(32),
    }
    deadline = chain.now + 600
    guard = GUARD.signer.sign_digest(
        typed_data.x402_payment(adapter, CHAIN_ID, vault, **payment, deadline=deadline).digest
    )
    chain.succeed(
        AGENT,
        vault,
        calldata.execute(VaultCall(adapter, USDC, x402.pay(*payment.values(), deadline, guard))),
    )
    return mandate, vault


def remarks_of_payments(report: Report) -> list[str]:
    """Without the one of the owner's other vaults on this chain."""
    return [text for text in report.remarks if "other vaults" not in text]


def test_forged_payment__left_out_of_the_record__is_not_missed(paid: Paid) -> None:
    """Every target of a cost rule was believed: a forged event made an honest record a false
    one.
    """
    report = judged(paid.chain, paid.two_named, x402_adapter=paid.chain.contracts["x402_adapter"])
    assert (report.findings, report.unchecked) == ([], [])
    assert remarks_of_payments(report) == [
        f"{FORGER} may be paid as a cost and is not the x402 adapter: its payments count as none"
    ]


def test_forged_payment__in_the_record__is_found(paid: Paid) -> None:
    assert "row.foreign_log" in names(
        judged(paid.chain, paid.with_forgery, x402_adapter=paid.chain.contracts["x402_adapter"])
    )


def test_two_adapters_in_the_rules__and_none_trusted__is_never_sound(paid: Paid) -> None:
    for lines in (paid.two_named, paid.with_forgery):
        report = judged(paid.chain, lines, x402_adapter=None)
        assert report.verdict is Verdict.UNCHECKED
        assert any("name the deployment's with --x402-adapter" in text for text in report.unchecked)


def test_one_adapter_in_the_rules__is_believed_as_the_one_that_the_owner_signed(paid: Paid) -> None:
    report = judged(paid.chain, paid.one_named, x402_adapter=None)
    assert (report.findings, report.unchecked) == ([], [])
    adapter = paid.chain.contracts["x402_adapter"]
    assert remarks_of_payments(report) == [
        (
            f"payments are those of {adapter}, which the owner signed for; --x402-adapter names "
            "the deployment's"
        )
    ]


def test_one_adapter_in_the_rules__and_trusted__needs_no_remark(paid: Paid) -> None:
    report = judged(
        paid.chain, paid.one_named, x402_adapter=paid.chain.contracts["x402_adapter"].lower()
    )
    assert (report.verdict, remarks_of_payments(report)) == (Verdict.SOUND, [])


def test_payments_of_an_adapter_that_is_not_the_trusted_one__are_found(paid: Paid) -> None:
    assert names(judged(paid.chain, paid.one_named, x402_adapter=FORGER)) == {"row.foreign_log"}
