"""More kinds of tampering, by whoever has service, database and hashes: rows that nobody wrote,
claims that look proven, and other spellings of the same thing.
"""

import copy
from datetime import datetime, timedelta
from typing import Any

from core.mandate.chain.typed_data import terms_digest
from core.mandate.rules.cash import cancelled_note, signed_rows, stop_row
from core.mandate.rules.lifecycle import MarketMode
from core.mandate.rules.record import row_body
from core.mandate.rules.rows import LedgerRow, NewRow, ReportedBy
from core.mandate.rules.state import MandateFacts, PositionRules
from core.mandate.rules.terms import terms_from_json
from core.times import exact_instant_text
from tests.integration.chain_fixtures import CHAIN_ID
from tests.integration.client.conftest import Exported
from tests.integration.client.forging import Forgery, Line
from tests.integration.client.tampering import WRONG_HASH, Change, Kind
from tests.personas import OWNER, STRANGER

FACT = "ab" * 16


def _appended(forgery: Forgery, like: Line, **changes: Any) -> Line:
    """Another row at the end, written just after the last one."""
    at = forgery.bodies[-1]["created_at"]
    body = copy.deepcopy(like) | {"occurred_at": at, "created_at": at} | changes
    forgery.insert(body)
    return body


def as_body(row: NewRow) -> Line:
    values = {name: getattr(row, name) for name in NewRow.__dataclass_fields__}
    place: dict[str, Any] = dict.fromkeys(("id", "mandate_id", "seq"), 0)
    place |= {"incarnation": 1, "reverses_id": None, "prev_hash": "", "row_hash": ""}
    return row_body(LedgerRow(**values, **place, created_at=row.occurred_at))


def _owner_row(row_of: Any) -> Change:
    def change(forgery: Forgery, exported: Exported) -> None:
        now = exported.follower.mandate(exported.mandate).created_at
        _appended(forgery, as_body(row_of(now)))

    return change


def _paper_deposit(forgery: Forgery, _: Exported) -> None:
    changes = {"kind": "deposit", "base_key": "paper_deposit", "payload": {"paper": True}}
    _appended(forgery, forgery.body("signed"), **changes, amount_usdc="1000.000000")


def _expired(forgery: Forgery, _: Exported) -> None:
    expired = {"ends_at": "2026-11-02T00:00:00Z", "safe_block": 20}
    payload = {"terms_expired": expired, "note": "The signed terms expired without a vault"}
    changes = {"kind": "note", "reported_by": "chain", "base_key": "expired", "payload": payload}
    _appended(forgery, forgery.body("signed"), **changes)


def _report(**changes: Any) -> Change:
    """One more report of the agent, of a transaction that the logs prove."""

    def change(forgery: Forgery, _: Exported) -> None:
        said = {"base_key": f"report:{FACT}"} | changes
        _appended(forgery, forgery.body("report"), **said)

    return change


def _of_the_failed(forgery: Forgery, _: Exported) -> None:
    failed = forgery.body("revert")["tx_hash"]
    _appended(forgery, forgery.body("report"), base_key=f"report:{FACT}", tx_hash=failed)


def refused_that_was_not(forgery: Forgery, _: Exported) -> None:
    tx_hash = forgery.body("executed")["tx_hash"]
    refusal = {
        "reason": "OverPerTxCap", "source": "agent", "reason_source": "agent",
        "check": "reported", "server_check": "unconfirmed",
    }  # fmt: skip
    changes = {"kind": "note", "base_key": f"refusal:{tx_hash}", "payload": {"refusal": refusal}}
    _appended(forgery, forgery.body("report"), **changes, amount_usdc=None, chain_id=None)


def _refused_by_the_service(forgery: Forgery, exported: Exported) -> None:
    """What the service writes after a paper mandate's stop, in one that is not paper."""
    refused_that_was_not(forgery, exported)
    body = forgery.bodies[-1]
    body |= {"tx_hash": None, "base_key": f"refusal:{FACT}"}
    body["payload"]["refusal"] |= {
        "reason": "MandateStopped", "code": "mandate_stopped", "reason_source": "server",
        "check": "server", "server_check": "confirmed", "attempted": {"kind": "buy"},
    }  # fmt: skip


def _payload(word: str, number: int = 0, **changes: Any) -> Change:
    return lambda forgery, _: forgery.body(word, number)["payload"].update(changes)


def _seen(forgery: Forgery, _: Exported) -> None:
    del forgery.body("report", 1)["payload"]["unseen"]


def _unknown_reason(forgery: Forgery, _: Exported) -> None:
    refusal = forgery.body("revert")["payload"]["refusal"]
    refusal |= {"reason": "unknown", "reason_source": "unknown"}
    del refusal["attempted"]


def _hidden_by_an_old_height(forgery: Forgery, _: Exported) -> None:
    hidden = forgery.body("revert")
    forgery.head["as_of"]["reverts_block_number"] = hidden["block_number"] - 1
    forgery.drop(hidden)


def _invented_reorg(forgery: Forgery, _: Exported) -> None:
    """A move that the operator says was there and went, in a block that there never was."""
    place = {"block_hash": WRONG_HASH, "tx_hash": WRONG_HASH, "base_key": f"log:{WRONG_HASH}:3"}
    lost = _appended(forgery, forgery.body("executed"), **place) | {"seq": len(forgery.rows)}
    forgery.bodies[-1].update(lost)
    _appended(
        forgery,
        lost,
        reported_by="chain",
        base_key=f"reversal:{lost['base_key']}",
        cash_delta_usdc=lost["cash_delta_usdc"].lstrip("-"),
        reverses_seq=lost["seq"],
        payload={"reversal": True, "reverses_seq": lost["seq"], "cause": "reorg"},
        seq=0,
    )


def _set(word: str, **changes: Any) -> Change:
    return lambda forgery, _: forgery.body(word).update(changes)


def _zero_for_false(forgery: Forgery, _: Exported) -> None:
    forgery.head["totals"]["paused"] = 0


def _number_in_payload(forgery: Forgery, _: Exported) -> None:
    forgery.body("executed")["payload"]["executed"]["nonce"] = False


def _written_before(forgery: Forgery, _: Exported) -> None:
    forgery.bodies[-1]["created_at"] = forgery.bodies[0]["created_at"]


def terms_replaced(mode: MarketMode) -> Change:
    """Other terms that the owner signed for this mandate too, of which no vault was made: nothing
    that the vault did is shown.
    """

    def change(forgery: Forgery, _: Exported) -> None:
        forgery.first["terms"]["dailyCap"] = "200000000"
        terms = terms_from_json(forgery.first["terms"])
        digest = terms_digest(terms, forgery.first["factory"], CHAIN_ID)
        forgery.first |= {
            "terms_digest": digest,
            "signature": OWNER.signer.sign_digest(digest),
            "market_mode": mode.value,
            "vault": None,
        }
        facts = MandateFacts(
            market_mode=mode, budget_usdc_e6=terms.budget_usdc, positions=PositionRules()
        )
        now = datetime.fromisoformat(forgery.bodies[0]["created_at"])
        forgery.rows.clear()
        for row in signed_rows(facts, terms_digest=digest, version=2, now=now):
            forgery.insert(as_body(row))
        if mode is MarketMode.PAPER:
            forgery.head["as_of"] = None

    return change


def _cut_off(forgery: Forgery, _: Exported) -> None:
    """The record ends at the block of its last log, and the call that failed came after it."""
    last = forgery.body("executed")
    number = last["block_number"]
    later = [body for body in forgery.bodies if (body["block_number"] or 0) > number]
    assert forgery.body("revert") in later
    for body in later:
        forgery.drop(body)
    forgery.head["as_of"] = {
        "block_number": number, "block_hash": last["block_hash"], "reverts_block_number": number,
    }  # fmt: skip


def _mark_without_a_log(forgery: Forgery, _: Exported) -> None:
    """A worth in the vault's own form, in a transaction that is there."""
    real = forgery.body("executed", 4)
    mark = {"worth_usdc": "1300.000000", "unvalued_out_usdc": "0.000000"}
    body = copy.deepcopy(real) | {
        "kind": "note", "reported_by": "keeper", "amount_usdc": None,
        "cash_delta_usdc": "0.000000", "payload": {"mark": mark}, "log_index": 99,
        "base_key": f"log:{real['tx_hash']}:99",
    }  # fmt: skip
    forgery.insert(body, forgery.index(real) + 1)


def _cancelled_before(forgery: Forgery, _: Exported) -> None:
    """The check was whether the terms were signed by then."""
    signed = forgery.body("signed")
    body = as_body(cancelled_note(datetime.fromisoformat(signed["created_at"])))
    forgery.insert(body, forgery.index(signed))


def _reversal_dated_back(forgery: Forgery, _: Exported) -> None:
    reversal = forgery.reversal()
    before = datetime.fromisoformat(reversal["created_at"]) - timedelta(days=7)
    reversal["occurred_at"] = exact_instant_text(before)


INVENTIONS: dict[str, Kind] = {
    "owner's cancellation invented": Kind(
        "says that the owner dropped what was signed", "row.unproven", _owner_row(cancelled_note)
    ),
    "owner's stop invented": Kind(
        "says that the owner stopped it, without the chain",
        "row.unproven",
        _owner_row(lambda now: stop_row(by=ReportedBy.OWNER, reason="owner", now=now)),
    ),
    "paper money": Kind("adds a paper deposit", "row.unproven", _paper_deposit),
    "end invented": Kind("says that the terms ended without a vault", "row.payload", _expired),
    "refusal by the service invented": Kind(
        "says that the service refused what only the vault can",
        "row.payload",
        _refused_by_the_service,
    ),
    "claim of more": Kind(
        "claims more under the hash of a proven transaction, without the flag for it",
        "row.flag",
        _report(amount_usdc="5000.000000"),
    ),
    "claim of another kind": Kind(
        "claims a sale under the hash of a proven purchase, without the flag for it",
        "row.flag",
        _report(kind="sell"),
    ),
    "claim of a failed call": Kind(
        "claims a purchase under the hash of a call that failed, without the flag for it",
        "row.flag",
        _of_the_failed,
    ),
    "claim under another key": Kind(
        "gives a report a key that no report has", "row.payload", _report(base_key="report:5")
    ),
    "bidi characters": Kind(
        "turns a key's text around", "row.payload", _report(base_key=f"report:\u202e{FACT}")
    ),
    "report of another chain": Kind(
        "says that a report is of another chain", "row.place", _report(chain_id=1)
    ),
    "broken rule hidden": Kind(
        "leaves out the flag of a report that broke a rule",
        "row.flag",
        _payload("report", target=STRANGER.address),
    ),
    "broken rule invented": Kind(
        "flags a report that broke no rule",
        "row.flag",
        _payload("report", violation={"codes": ["over_budget"], "detail": {}}),
    ),
    "unseen report passed as seen": Kind(
        "leaves out that the chain has no such purchase", "row.flag", _seen
    ),
    "more in the owner's row": Kind(
        "adds a promise to what the owner signed", "row.payload", _payload("signed", refund=True)
    ),
    "reverted call's reason withheld": Kind(
        "calls the reason of a reverted call unknown", "revert.reason", _unknown_reason
    ),
    "week date": Kind(
        "writes a time as another one that is read alike",
        "format.row",
        _set("executed", occurred_at="2026-W48-1T00:00:00.000000Z"),
    ),
    "full-width digits": Kind(
        "writes an amount in digits of another script",
        "format.row",
        _set("deposit", amount_usdc="\uff11000.000000"),
    ),
    "upper-case hash": Kind(
        "spells a hash otherwise, so that it looks like another",
        "format.row",
        _set("deposit", tx_hash="0x" + "AB" * 32),
    ),
    "0 for false": Kind(
        "writes a total's false as 0", "head.totals", _zero_for_false, sealed=False
    ),
    "false for 0": Kind("writes a number as false", "row.payload", _number_in_payload),
    "clock set back": Kind(
        "writes a row before those that come before it", "row.written", _written_before
    ),
    "written before its block": Kind(
        "says that an action was written down before it happened",
        "row.written",
        _set("vault_created", created_at="2026-11-01T00:00:01.000000Z"),
    ),
    "mark that no log has": Kind(
        "shows a worth that the vault never measured", "row.log_index", _mark_without_a_log
    ),
    "cancellation before the signature": Kind(
        "says that the owner dropped the draft, before the row that they signed",
        "row.unproven",
        _cancelled_before,
    ),
    "reversal dated back": Kind(
        "moves the loss of a block into an earlier week", "row.time", _reversal_dated_back
    ),
    "shown terms replaced": Kind(
        "shows other terms that the owner signed for this mandate, which have no vault",
        "other terms",
        terms_replaced(MarketMode.TESTNET),
        is_refused=True,
    ),
    "paper made of a mandate with a vault": Kind(
        "shows such terms as a paper mandate's",
        "other terms",
        terms_replaced(MarketMode.PAPER),
        is_refused=True,
    ),
    "reverted call cut off": Kind(
        "ends the record before a call that failed",
        "reverted calls",
        _cut_off,
        is_refused=True,
    ),
    "reorg invented": Kind(
        "adds an action and its reversal in a block that there never was",
        "lost blocks",
        _invented_reorg,
        is_refused=True,
    ),
    "reverted call hidden by an old height": Kind(
        "says that reverted calls were looked up only to before one",
        "reverted calls",
        _hidden_by_an_old_height,
        is_refused=True,
    ),
}
