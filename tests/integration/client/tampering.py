"""Kinds of tampering with a record, each with the name under which verify-record must find it.

A `sealed` one comes with hashes, numbers and totals that fit: only the chain can give it away.
"""

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from core.mandate.chain.typed_data import rules_hash, terms_digest
from core.mandate.rules.record import genesis_hash
from core.mandate.rules.terms import rules_from_json, terms_from_json
from tests.integration.chain_fixtures import CHAIN_ID
from tests.integration.client.conftest import Exported
from tests.integration.client.forging import Forgery
from tests.personas import STRANGER

Change = Callable[[Forgery, Exported], None]
Break = Callable[[list[bytes]], list[bytes]]
WRONG_HASH = "0x" + "ab" * 32


@dataclass(frozen=True)
class Kind:
    """`what` the cheat does; `name`: what it must be found as.

    `breaks` works on the written lines, after sealing. `is_refused`: of the record without a lost
    block, and not contradicted but never sound; `name`: the part that could not be checked.
    """

    what: str
    name: str
    change: Change | None = None
    sealed: bool = True
    breaks: Break | None = None
    is_refused: bool = False

    def apply(self, exported: Exported) -> list[bytes]:
        forgery = Forgery.of(exported.other if self.is_refused else exported.lines)
        if self.change is not None:
            self.change(forgery, exported)
        if self.sealed:
            forgery.seal()
        lines = forgery.lines()
        return lines if self.breaks is None else self.breaks(lines)


def _set(word: str, key: str, value: Any, number: int = 0) -> Change:
    return lambda forgery, _: forgery.body(word, number).update({key: value})


def _term(name: str, value: str) -> Change:
    return lambda forgery, _: forgery.first["terms"].update({name: value})


def _first(key: str, value: Any) -> Change:
    return lambda forgery, _: forgery.first.update({key: value})


# Rows


def _altered_payload(forgery: Forgery, _: Exported) -> None:
    forgery.body("executed")["payload"]["executed"]["spent"] = "20.000000"


def _off_by_one(forgery: Forgery, _: Exported) -> None:
    forgery.body("executed")["amount_usdc"] = "30.000001"


def _loss_made_smaller(forgery: Forgery, _: Exported) -> None:
    body = forgery.body("executed")
    body |= {"amount_usdc": "10.000000", "cash_delta_usdc": "-10.000000"}
    body["payload"]["executed"] |= {"spent": "10.000000", "balance": "990.000000"}


def _dropped(word: str, number: int = 0) -> Change:
    return lambda forgery, _: forgery.drop(forgery.body(word, number))


def _all_chain_rows_dropped(forgery: Forgery, _: Exported) -> None:
    forgery.rows = [row for row in forgery.rows if row["body"]["block_hash"] is None]


def _invented_deposit(forgery: Forgery, _: Exported) -> None:
    body = copy.deepcopy(forgery.body("deposit"))
    forgery.insert(
        body | {"tx_hash": WRONG_HASH, "base_key": f"log:{WRONG_HASH}:0", "log_index": 0}
    )


def _invented_block(forgery: Forgery, exported: Exported) -> None:
    _invented_deposit(forgery, exported)
    forgery.bodies[-1]["block_hash"] = WRONG_HASH


def _doubled(forgery: Forgery, _: Exported) -> None:
    forgery.insert(copy.deepcopy(forgery.body("deposit")))


def _reordered(forgery: Forgery, _: Exported) -> None:
    one, two = (
        forgery.index(forgery.body("executed", 0)),
        forgery.index(forgery.body("executed", 3)),
    )
    forgery.rows[one], forgery.rows[two] = forgery.rows[two], forgery.rows[one]


def _forged_report(forgery: Forgery, _: Exported) -> None:
    """An agent's claim becomes the chain's word, with a block and a transaction that are real."""
    real, claim = forgery.body("executed"), forgery.body("report", 1)
    place = {key: real[key] for key in ("block_hash", "block_number", "chain_id", "tx_hash")}
    claim |= place | {
        "reported_by": "chain",
        "log_index": 99,
        "base_key": f"log:{real['tx_hash']}:99",
        "kind": "move",
    }


def _claim_without_place(forgery: Forgery, _: Exported) -> None:
    forgery.body("report", 1)["reported_by"] = "chain"


def _cash_by_claim(forgery: Forgery, _: Exported) -> None:
    forgery.body("report", 1)["cash_delta_usdc"] = "5.000000"


def _wrong_transaction(forgery: Forgery, _: Exported) -> None:
    body = forgery.body("executed")
    body |= {"tx_hash": WRONG_HASH, "base_key": f"log:{WRONG_HASH}:{body['log_index']}"}


def _wrong_index(forgery: Forgery, _: Exported) -> None:
    body = forgery.body("executed")
    body |= {"log_index": 77, "base_key": f"log:{body['tx_hash']}:77"}


def _key_of_another_log(forgery: Forgery, _: Exported) -> None:
    forgery.body("executed")["log_index"] -= 1


def _foreign_log(forgery: Forgery, exported: Exported) -> None:
    forgery.insert(copy.deepcopy(Forgery.of(exported.other).body("executed")), at=4)


def _flattering_stop(forgery: Forgery, _: Exported) -> None:
    forgery.body("stop")["reported_by"] = "owner"


def _chain_id_of_row(forgery: Forgery, _: Exported) -> None:
    forgery.body("executed")["chain_id"] = 8453


# Terms


def _other_rules(forgery: Forgery, _: Exported) -> None:
    forgery.first["rules"][0]["target"] = STRANGER.address


def _other_rules_hashed(forgery: Forgery, exported: Exported) -> None:
    _other_rules(forgery, exported)
    forgery.first["terms"]["allowedTargetsHash"] = rules_hash(
        rules_from_json(forgery.first["rules"])
    )
    _redigested(forgery, exported)


def _redigested(forgery: Forgery, _: Exported) -> None:
    digest = terms_digest(
        terms_from_json(forgery.first["terms"]), forgery.first["factory"], CHAIN_ID
    )
    forgery.first["terms_digest"] = forgery.body("signed")["payload"]["terms_digest"] = digest


def _higher_cap_redigested(forgery: Forgery, exported: Exported) -> None:
    forgery.first["terms"]["perTxCap"] = "500000000"
    _redigested(forgery, exported)


def _swapped_signature(forgery: Forgery, exported: Exported) -> None:
    forgery.first["signature"] = Forgery.of(exported.other).first["signature"]


def _unsigned(forgery: Forgery, exported: Exported) -> None:
    _all_chain_rows_dropped(forgery, exported)
    forgery.first |= {"signature": None, "vault": None}


def _other_owner(forgery: Forgery, exported: Exported) -> None:
    forgery.first["terms"]["owner"] = STRANGER.address
    _redigested(forgery, exported)


def _other_mandate(forgery: Forgery, exported: Exported) -> None:
    name = Forgery.of(exported.other).first["mandate_id"]
    forgery.first |= {"mandate_id": name, "genesis_hash": genesis_hash(name)}


def _other_factory(forgery: Forgery, exported: Exported) -> None:
    forgery.first["factory"] = exported.deployed.contracts["test_venue"]


def _other_vault(forgery: Forgery, exported: Exported) -> None:
    forgery.first["vault"] = exported.other_vault


def _paper(forgery: Forgery, exported: Exported) -> None:
    _all_chain_rows_dropped(forgery, exported)
    forgery.first |= {"market_mode": "paper", "vault": None}


# Reverted calls


def _hidden_revert(forgery: Forgery, _: Exported) -> None:
    forgery.drop(forgery.body("revert"))


def _invented_revert(forgery: Forgery, _: Exported) -> None:
    body = copy.deepcopy(forgery.body("revert"))
    forgery.insert(body | {"tx_hash": WRONG_HASH, "base_key": f"revert:{WRONG_HASH}"})


def _revert_of_a_success(forgery: Forgery, _: Exported) -> None:
    body, real = copy.deepcopy(forgery.body("revert")), forgery.body("executed")
    place = {key: real[key] for key in ("block_hash", "block_number", "tx_hash", "occurred_at")}
    forgery.insert(body | place | {"base_key": f"revert:{real['tx_hash']}"})


def _revert_of_another_vault(forgery: Forgery, exported: Exported) -> None:
    forgery.insert(copy.deepcopy(Forgery.of(exported.other).body("revert")))


def _milder_reason(forgery: Forgery, _: Exported) -> None:
    forgery.body("revert")["payload"]["refusal"]["reason"] = "MandateEnded"


def _smaller_attempt(forgery: Forgery, _: Exported) -> None:
    forgery.body("revert")["payload"]["refusal"]["attempted"]["amount_usdc"] = "101.000000"


# Reorgs


def _orphan_kept(forgery: Forgery, _: Exported) -> None:
    """The lost block's row stays and the row of the block that came instead is left out."""
    back = next(body for body in forgery.bodies if body["incarnation"] == 2)
    forgery.drop(back)
    forgery.drop(forgery.reversal())


def _reversal_left_out(forgery: Forgery, _: Exported) -> None:
    forgery.drop(forgery.reversal())


def _reversed_without_cause(forgery: Forgery, _: Exported) -> None:
    target, reversal = forgery.body("executed"), copy.deepcopy(forgery.reversal())
    place = {
        key: target[key]
        for key in ("tx_hash", "log_index", "block_number", "block_hash", "amount_usdc")
    }
    reversal |= place | {
        "base_key": f"reversal:{target['base_key']}",
        "cash_delta_usdc": target["cash_delta_usdc"].lstrip("-"),
    }
    reversal["payload"] = dict(reversal["payload"])
    reversal["reverses_seq"] = target["seq"]
    forgery.insert(reversal | {"seq": 99})


def _reversal_of_more(forgery: Forgery, _: Exported) -> None:
    forgery.reversal()["cash_delta_usdc"] = "41.000000"


def _wrong_incarnation(forgery: Forgery, _: Exported) -> None:
    next(body for body in forgery.bodies if body["incarnation"] == 2)["incarnation"] = 1


def _reversal_aims_elsewhere(forgery: Forgery, _: Exported) -> None:
    reversal = forgery.reversal()
    reversal["reverses_seq"] = reversal["payload"]["reverses_seq"] = 14


# Head


def _head(key: str, value: Any) -> Change:
    return lambda forgery, _: forgery.head.update({key: value})


def _prettier_total(forgery: Forgery, _: Exported) -> None:
    forgery.head["totals"]["spent_usdc"] = "52.000000"


def _other_block(forgery: Forgery, _: Exported) -> None:
    forgery.head["as_of"]["block_hash"] = WRONG_HASH


# The file


def _at(number: int, change: Callable[[bytes], bytes]) -> Break:
    return lambda lines: [
        change(line) if index == number else line for index, line in enumerate(lines)
    ]


def _spaced(line: bytes) -> bytes:
    return json.dumps(json.loads(line)).encode() + b"\n"


def _doubled_key(line: bytes) -> bytes:
    return line.replace(b'"body":{', b'"body":{"kind":"note",', 1)


def _fraction(line: bytes) -> bytes:
    return line.replace(b'"nonce":0', b'"nonce":0.5')


def _extra_field(forgery: Forgery, _: Exported) -> None:
    forgery.body("executed")["comment"] = "trust me"


KINDS: dict[str, Kind] = {
    "row altered, not sealed": Kind(
        "changes a row and nothing else", "chain.row_hash", _altered_payload, sealed=False
    ),
    "row altered": Kind("changes what a log says was spent", "row.payload", _altered_payload),
    "loss made smaller": Kind(
        "changes amount, cash and balance of a row together", "row.cash_delta", _loss_made_smaller
    ),
    "amount off by one": Kind("adds 0.000001 to an amount", "row.amount", _off_by_one),
    "kind changed": Kind("calls a move a sale", "row.kind", _set("executed", "kind", "sell")),
    "time changed": Kind(
        "moves an action out of the week",
        "row.time",
        _set("executed", "occurred_at", "2026-01-01T00:00:00.000000Z"),
    ),
    "reporter changed": Kind(
        "says the owner stopped it, who did not", "row.reported_by", _flattering_stop
    ),
    "row dropped": Kind("leaves out an action", "row.left_out", _dropped("executed", 4)),
    "last row dropped": Kind("leaves out the newest log", "row.left_out", _dropped("withdraw")),
    "creation dropped": Kind(
        "leaves out the vault's creation", "row.left_out", _dropped("vault_created")
    ),
    "factory's note dropped": Kind(
        "leaves out that the keeper is to change", "row.left_out", _dropped("factory")
    ),
    "all chain rows dropped": Kind(
        "shows a mandate that never had a vault", "row.left_out", _all_chain_rows_dropped
    ),
    "row invented": Kind("adds a deposit that nobody made", "row.transaction", _invented_deposit),
    "row and block invented": Kind(
        "adds a deposit in a block that there is not", "row.orphaned_block", _invented_block
    ),
    "row doubled": Kind("counts a deposit twice", "row.doubled", _doubled),
    "rows reordered": Kind("puts a later action first", "row.order", _reordered),
    "report forged as a log": Kind(
        "gives an agent's claim a block, a transaction and the chain's name",
        "row.log_index",
        _forged_report,
    ),
    "report forged as proven": Kind(
        "puts the chain's name under an agent's claim", "row.unproven", _claim_without_place
    ),
    "cash moved by a claim": Kind(
        "lets an agent's claim move cash", "row.cash_without_proof", _cash_by_claim
    ),
    "wrong transaction": Kind(
        "names a transaction that there is not", "row.transaction", _wrong_transaction
    ),
    "wrong log index": Kind(
        "names a log that the transaction has not", "row.log_index", _wrong_index
    ),
    "place of another log": Kind(
        "names another log than its key does", "row.place", _key_of_another_log
    ),
    "row of another chain": Kind(
        "says that an action was on another chain", "row.place", _chain_id_of_row
    ),
    "foreign log": Kind(
        "takes an action of another vault for its own", "row.foreign_log", _foreign_log
    ),
    "per-action cap raised": Kind(
        "shows a higher cap for each action", "terms.digest", _term("perTxCap", "500000000")
    ),
    "daily cap raised": Kind(
        "shows a higher cap for the day", "terms.digest", _term("dailyCap", "900000000")
    ),
    "budget raised": Kind(
        "shows a larger budget", "terms.digest", _term("budgetUsdc", "2000000000")
    ),
    "stop line lowered": Kind(
        "shows a lower stop line", "terms.digest", _term("stopFloor", "100000000")
    ),
    "end moved": Kind("shows a later end", "terms.digest", _term("endsAt", "1999999999")),
    "agent's fee raised": Kind(
        "shows a fee that was not agreed", "terms.digest", _term("agentFeeBps", "2000")
    ),
    "cap raised, digest too": Kind(
        "computes the digest of the changed terms", "terms.signature", _higher_cap_redigested
    ),
    "other rules": Kind("shows another allowed target", "terms.rules", _other_rules),
    "other rules, digest too": Kind(
        "signs for other rules in the owner's place", "terms.signature", _other_rules_hashed
    ),
    "guard's targets changed": Kind(
        "shows other targets of the relay guard",
        "terms.guard_targets",
        _first("guard_targets", ["x"]),
    ),
    "signature swapped": Kind(
        "takes the owner's signature of another mandate", "terms.signature", _swapped_signature
    ),
    "signature removed": Kind(
        "leaves the signature out and the vault too", "row.left_out", _unsigned
    ),
    "other owner": Kind("says that somebody else owns it", "terms.signature", _other_owner),
    "other mandate's id": Kind(
        "passes the ledger off as another mandate's", "terms.mandate_id", _other_mandate
    ),
    "other factory": Kind("names another contract as the factory", "terms.digest", _other_factory),
    "other chain": Kind(
        "says that it is on another chain", "terms.chain_id", _first("chain_id", 8453)
    ),
    "other vault": Kind("names another vault of the owner", "terms.vault", _other_vault),
    "passed off as paper": Kind("says that there was never a vault", "terms.vault", _paper),
    "reverted call hidden": Kind(
        "leaves out that the agent tried too much", "revert.left_out", _hidden_revert
    ),
    "reverted call invented": Kind(
        "accuses the agent of a call that there is not", "revert.transaction", _invented_revert
    ),
    "success called reverted": Kind(
        "says that a call failed which did not", "revert.status", _revert_of_a_success
    ),
    "reverted call of another vault": Kind(
        "counts a failure elsewhere", "revert.parties", _revert_of_another_vault
    ),
    "reverted call's reason": Kind("gives a milder reason", "revert.reason", _milder_reason),
    "reverted call's amount": Kind("makes the attempt smaller", "revert.content", _smaller_attempt),
    "orphaned block kept": Kind(
        "keeps a lost block's row instead of the one that came back",
        "row.orphaned_block",
        _orphan_kept,
    ),
    "reversal left out": Kind(
        "counts an action of a lost block as well", "row.doubled", _reversal_left_out
    ),
    "reversal without cause": Kind(
        "takes back an action that stands in the chain",
        "reversal.without_cause",
        _reversed_without_cause,
    ),
    "reversal of more": Kind(
        "takes back more than the row moved", "reversal.content", _reversal_of_more
    ),
    "reversal of another row": Kind(
        "takes back another row than the lost one", "reversal.target", _reversal_aims_elsewhere
    ),
    "wrong incarnation": Kind("hides that a fact came back", "row.incarnation", _wrong_incarnation),
    "head's count": Kind("says there are fewer rows", "head.seq", _head("seq", 14), sealed=False),
    "head's hash": Kind(
        "says that the ledger ends otherwise",
        "head.row_hash",
        _head("row_hash", WRONG_HASH),
        sealed=False,
    ),
    "head's totals": Kind("shows a prettier sum", "head.totals", _prettier_total, sealed=False),
    "head's block": Kind("names a block that there is not", "head.block", _other_block),
    "file cut off": Kind(
        "ends the file early", "format.head_missing", breaks=lambda lines: lines[:9]
    ),
    "rows cut out of the file": Kind(
        "cuts lines out of the middle", "chain.seq", breaks=lambda lines: lines[:5] + lines[7:]
    ),
    "broken JSON": Kind(
        "damages a line", "format.json", breaks=_at(4, lambda line: line[:-9] + b"\n")
    ),
    "other spelling": Kind("writes a line with spaces", "format.canonical", breaks=_at(4, _spaced)),
    "a key twice": Kind(
        "writes a field twice, for readers that take the first",
        "format.canonical",
        breaks=_at(4, _doubled_key),
    ),
    "a fraction": Kind("writes a number as a fraction", "format.number", breaks=_at(4, _fraction)),
    "an extra field": Kind("adds a field to a row", "format.row", _extra_field, sealed=False),
    "no first line": Kind("leaves the terms out", "format.first", breaks=lambda lines: lines[1:]),
    "other beginning": Kind(
        "begins the hash chain elsewhere",
        "chain.genesis",
        _first("genesis_hash", WRONG_HASH),
        sealed=False,
    ),
}
