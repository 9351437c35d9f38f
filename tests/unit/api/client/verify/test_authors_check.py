"""Who may sign for whom, and what is said of a signature that no key explains."""

import json
from dataclasses import replace
from typing import Any, cast

import pytest
from eth_account import Account

from api.client.verify.authors_check import check_authors
from api.client.verify.findings import Report
from api.client.verify.node import Node
from api.client.verify.terms_check import RecordSubject
from core.chain.errors import RpcError, RpcUnreachableError
from core.mandate.chain.typed_data import record_row
from core.mandate.rules.cash import stop_row
from core.mandate.rules.events import AgentSet
from core.mandate.rules.new_rows import guard_refusal_note, stop_request_note
from core.mandate.rules.record import next_signature, record_line, row_of_line
from core.mandate.rules.rows import LedgerRow, NewRow, ReportedBy, RowAuthor
from tests.personas import AGENT, KEEPER, OWNER, STRANGER, Persona
from tests.unit.core.mandate.rules.ledgers import PUBLIC_ID, START, TESTNET, SampleLedger, terms

FACTORY = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
WALLET = "0x00000000000000000000000000000000000000D1"
NOBODY = "0x0000000000000000000000000000000000000000"
SAFE_SIGNATURE = "0x" + "ab" * 130
OLD_SIGNATURE = "0x" + "cd" * 130
BLOCK_BEFORE, NEWEST = 7, 9


class Reader:
    """A factory with a keeper, and one contract wallet that knows one signature."""

    def __init__(self, trouble: RpcError | None = None) -> None:
        self.trouble = trouble

    def keeper(self) -> str:
        return KEEPER.address

    def code_at(self, address: str, at: object = "latest") -> bytes:
        if self.trouble is not None:
            raise self.trouble
        return b"\x01" if address == WALLET else b""

    def is_erc1271_signature(
        self, wallet: str, digest: str, signature: str, at: object = "latest"
    ) -> bool:
        known = OLD_SIGNATURE if at == BLOCK_BEFORE else SAFE_SIGNATURE
        return (wallet, signature) == (WALLET, known)


def subject(agent: str = AGENT.address, owner: str = OWNER.address) -> RecordSubject:
    signed = terms(agent=agent, owner=owner)
    return RecordSubject(84532, FACTORY, None, signed, (), "0x", TESTNET, 2)


class NoRpc:
    """A node that only its reader stands for."""

    names = ("node",)

    def stats(self) -> tuple[()]:
        return ()


class NodeOf(Node):
    """All that it says, a reader in memory says."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(
            [cast("Any", NoRpc())], FACTORY, lambda part, done, of: None, Report(), 1_000
        )
        self._reader = reader

    @property
    def reader(self) -> Any:
        return self._reader

    def newest(self) -> int:
        return NEWEST

    def first_after(self, second: int, last: int) -> int:
        return BLOCK_BEFORE + 1


def checked(ledger: SampleLedger, about: RecordSubject, reader: Reader | None = None) -> Report:
    node = NodeOf(reader or Reader())
    report = Report()
    rows = [row_of_line(json.loads(record_line(row))) for row in ledger.rows]
    check_authors(about, rows, node, report)
    return report


def sign(ledger: SampleLedger, row: NewRow, persona: Persona, **said: Any) -> LedgerRow:
    """Add the row, signed by somebody as the next of its author."""
    before = [one for one in ledger.rows if one.author and one.reported_by is row.reported_by]
    place = next_signature(before[-1] if before else None)
    author = RowAuthor(
        signer=persona.address, sequence=place.sequence, prev=place.prev, signature="0x"
    )
    digest = record_row(PUBLIC_ID, row, author, FACTORY, 84532).digest
    signature = Account.unsafe_sign_hash(digest, persona.private_key).signature.to_0x_hex()
    return ledger.add(replace(row, author=replace(author, **({"signature": signature} | said))))


def request(number: int = 1) -> NewRow:
    return stop_request_note(why=None, fact=f"{number:032x}", now=START)


def stop() -> NewRow:
    return stop_row(by=ReportedBy.OWNER, reason="owner", now=START)


@pytest.mark.parametrize(("row", "persona"), [(request(), AGENT), (stop(), OWNER)])
def test_who_wrote_the_row__may_sign_it(row: NewRow, persona: Persona) -> None:
    ledger = SampleLedger()
    sign(ledger, row, persona)
    report = checked(ledger, subject())
    assert (report.findings, report.unchecked, report.remarks) == ([], [], [])


@pytest.mark.parametrize("row", [request(), stop()])
def test_somebody_else__may_not(row: NewRow) -> None:
    ledger = SampleLedger()
    sign(ledger, row, STRANGER)
    assert [one.name for one in checked(ledger, subject()).findings] == ["author.signer"]


def test_authors__have_a_sequence_each() -> None:
    ledger = SampleLedger()
    for row, persona in ((request(1), AGENT), (stop(), OWNER), (request(2), AGENT)):
        sign(ledger, row, persona)
    assert checked(ledger, subject()).findings == []
    assert [row.author.sequence for row in ledger.rows if row.author] == [1, 1, 2]


def test_an_agent_that_the_vault_was_given_since__may_sign() -> None:
    ledger = SampleLedger()
    ledger.chain(AgentSet(STRANGER.address))
    sign(ledger, request(), STRANGER)
    assert checked(ledger, subject()).findings == []


def test_an_agent_whose_row_was_taken_back__may_not_sign() -> None:
    ledger = SampleLedger()
    ledger.reverse(ledger.chain(AgentSet(STRANGER.address)))
    sign(ledger, request(), STRANGER)
    assert [one.name for one in checked(ledger, subject()).findings] == ["author.signer"]


def test_terms_that_name_no_agent__take_any_key_and_say_that_nothing_vouches_for_it() -> None:
    ledger = SampleLedger()
    sign(ledger, request(), STRANGER)
    report = checked(ledger, subject(agent=NOBODY))
    assert (report.findings, report.vouched) == ([], set())
    assert report.remarks == [
        f"rows are signed by {STRANGER.address}, and nothing in the record says whose key that is"
    ]


def test_a_contract_wallet__is_asked() -> None:
    ledger = SampleLedger()
    sign(ledger, stop(), OWNER, signer=WALLET, signature=SAFE_SIGNATURE)
    assert checked(ledger, subject(owner=WALLET)).findings == []


def test_a_contract_wallet_that_changed__is_asked_as_it_was_when_it_signed() -> None:
    """An honest row was called false once its owner had changed a key of the wallet."""
    ledger = SampleLedger()
    sign(ledger, stop(), OWNER, signer=WALLET, signature=OLD_SIGNATURE)
    report = checked(ledger, subject(owner=WALLET))
    assert (report.findings, report.unchecked) == ([], [])


def test_a_contract_wallet_that_said_no_then_too__is_a_finding() -> None:
    ledger = SampleLedger()
    sign(ledger, stop(), OWNER, signer=WALLET, signature="0x" + "ef" * 130)
    found = checked(ledger, subject(owner=WALLET)).findings
    assert [one.name for one in found] == ["author.signature"]


def test_a_contract_wallet_that_no_node_answers_for__is_unchecked_and_ends_nothing() -> None:
    ledger = SampleLedger()
    sign(ledger, stop(), OWNER, signer=WALLET, signature=SAFE_SIGNATURE)
    sign(ledger, request(), STRANGER)
    reader = Reader(RpcUnreachableError("eth_getCode", ["connection refused"]))
    report = checked(ledger, subject(owner=WALLET), reader)
    assert [text.partition(":")[0] for text in report.unchecked] == ["a row's signature"]
    assert [one.name for one in report.findings] == ["author.signer"]


def test_a_refusal_of_the_service_in_the_agents_name__need_not_be_signed() -> None:

    ledger = SampleLedger()
    sign(ledger, request(), AGENT)
    ledger.add(guard_refusal_note(detail="no", fact="f", now=START))
    assert checked(ledger, subject()).findings == []
    ledger.add(request(2))
    assert [one.name for one in checked(ledger, subject()).findings] == ["author.unsigned"]
