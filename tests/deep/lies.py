"""What a forger may do to a record: single lies, each by a random generator, so that any few of them
make a forged record.
"""

import copy
from collections.abc import Callable
from random import Random
from typing import Any, Final

from core.mandate.chain.typed_data import rules_hash, terms_digest
from core.mandate.rules.rows import ReportedBy, RowKind
from core.mandate.rules.terms import rules_from_json, terms_from_json
from tests.integration.client.forging import Forgery, Line

Lie = Callable[[Forgery, Random], None]
KEYS: Final = (
    "amount_usdc", "base_key", "block_hash", "block_number", "cash_delta_usdc", "chain_id",
    "created_at", "incarnation", "kind", "log_index", "occurred_at", "payload", "reported_by",
    "reverses_seq", "tx_hash",
)  # fmt: skip
ODD: Final[tuple[Any, ...]] = (
    None, 0, 1, -1, True, False, "", "0", "0x", "unknown", [], {}, "1.000000", "0.000000",
    "-1.000000", "1000000.000000", "9" * 400, "\u202e", "\uff11", 2**53 - 1,
)  # fmt: skip


def _hash(random: Random) -> str:
    return f"0x{random.getrandbits(256):064x}"


def _fact(random: Random) -> str:
    return f"{random.getrandbits(128):032x}"


def _amount(random: Random) -> str:
    return random.choice(("0.000001", "1.000000", "12.000000", "500.000000", "999999.000000"))


def _some(forgery: Forgery, random: Random) -> Line | None:
    return random.choice(forgery.bodies) if forgery.rows else None


def _appended(forgery: Forgery, random: Random, body: Line) -> None:
    """Anywhere, mostly at the end, and as new as the row before."""
    place = random.choice((len(forgery.rows), random.randint(0, len(forgery.rows))))
    if place and random.random() < 0.8:
        body["created_at"] = forgery.bodies[place - 1]["created_at"]
        if body["block_hash"] is None:
            body["occurred_at"] = body["created_at"]
    forgery.insert(body, place)


# Lies about a row


def other_value(forgery: Forgery, random: Random) -> None:
    """A field of one row becomes that of another, or something odd."""
    if body := _some(forgery, random):
        key = random.choice(KEYS)
        values = [one[key] for one in forgery.bodies] + list(ODD)
        body[key] = copy.deepcopy(random.choice(values))


def other_amount(forgery: Forgery, random: Random) -> None:
    """Amount, cash and what the log says of both change together."""
    if body := _some(forgery, random):
        amount = _amount(random)
        body["amount_usdc"] = amount
        if body["cash_delta_usdc"] != "0.000000":
            sign = "-" if body["cash_delta_usdc"].startswith("-") else ""
            body["cash_delta_usdc"] = sign + amount
        if isinstance(executed := body["payload"].get("executed"), dict):
            executed["received" if executed["spent"] == "0.000000" else "spent"] = amount


def other_payload(forgery: Forgery, random: Random) -> None:
    """Some value within a payload, however deep."""
    if (body := _some(forgery, random)) is None:
        return
    at = body["payload"]
    while isinstance(at, dict) and at:
        key = random.choice(sorted(at))
        if not isinstance(at[key], dict) or random.random() < 0.2:
            if random.random() < 0.2:
                del at[key]
            else:
                others = [one["payload"].get(key) for one in forgery.bodies] + list(ODD)
                at[key] = copy.deepcopy(random.choice(others))
            return
        at = at[key]


def more_payload(forgery: Forgery, random: Random) -> None:
    if body := _some(forgery, random):
        key = random.choice(("violation", "unseen", "executed", "refund", "mark", "reverted"))
        body["payload"][key] = copy.deepcopy(random.choice(ODD))


def dropped(forgery: Forgery, random: Random) -> None:
    if forgery.rows:
        del forgery.rows[random.randrange(len(forgery.rows))]


def dropped_kind(forgery: Forgery, random: Random) -> None:
    """All rows of one kind."""
    if body := _some(forgery, random):
        forgery.rows = [row for row in forgery.rows if row["body"]["kind"] != body["kind"]]


def cut_off(forgery: Forgery, random: Random) -> None:
    del forgery.rows[random.randrange(len(forgery.rows) + 1) :]


def doubled(forgery: Forgery, random: Random) -> None:
    if body := _some(forgery, random):
        again = copy.deepcopy(body)
        again["incarnation"] += random.choice((0, 1))
        _appended(forgery, random, again)


def moved(forgery: Forgery, random: Random) -> None:
    if forgery.rows:
        row = forgery.rows.pop(random.randrange(len(forgery.rows)))
        forgery.rows.insert(random.randint(0, len(forgery.rows)), row)


# Invented rows


def other_log(forgery: Forgery, random: Random) -> None:
    """Like a row that there is, of a transaction or a log that there is not."""
    if (body := _some(forgery, random)) is None:
        return
    body = copy.deepcopy(body)
    tx_hash = random.choice((_hash(random), body["tx_hash"]))
    index = random.choice((body["log_index"], 0, 99))
    body |= {"tx_hash": tx_hash, "log_index": index, "base_key": f"log:{tx_hash}:{index}"}
    _appended(forgery, random, body)


def told(forgery: Forgery, random: Random) -> None:
    """A row that somebody is said to have said."""
    tx_hashes = [body["tx_hash"] for body in forgery.bodies] or [None]
    tx_hash, amount = random.choice((None, *tx_hashes)), random.choice((None, _amount(random)))
    kind, by, key, payload = random.choice(_told(random, tx_hash))
    body: Line = dict.fromkeys(("block_hash", "block_number", "log_index", "reverses_seq"))
    body |= {
        "kind": kind, "reported_by": by, "base_key": key, "payload": payload, "incarnation": 1,
        "amount_usdc": random.choice((None, amount)), "cash_delta_usdc": "0.000000", "seq": 0,
        "chain_id": random.choice((None, forgery.first["chain_id"])), "tx_hash": tx_hash,
        "occurred_at": "2026-11-23T08:00:00.000000Z", "created_at": "2026-11-23T08:00:00.000000Z",
    }  # fmt: skip
    _appended(forgery, random, body)


def _told(random: Random, tx_hash: str | None) -> list[tuple[str, str, str, dict[str, Any]]]:
    fact, worth = _fact(random), _amount(random)
    refusal = {
        "reason": "OverPerTxCap", "source": "agent", "reason_source": "agent",
        "check": "reported", "server_check": "unconfirmed",
    }  # fmt: skip
    mark = {"worth_usdc": worth, "unvalued_out_usdc": "0.000000"}
    stopped = {"stopped": {"by": "owner", "reason": "owner", "worth_usdc": None}}
    position = {"position": {"id": "p", "name": "p", "cost_usdc": worth}, "unseen": True}
    reports = [
        (kind.value, "agent", f"report:{fact}", payload)
        for kind in RowKind
        for payload in ({}, {"why": "x"}, position, {"fee_kind": "x402"}, {"mark": mark})
    ]
    return [
        *reports,
        ("note", "owner", "cancelled", {"cancelled": True}),
        ("stop", "owner", "stop", stopped),
        ("deposit", "owner", "paper_deposit", {"paper": True}),
        ("note", "chain", "expired", {"terms_expired": {"ends_at": "x", "safe_block": 5}}),
        ("note", "agent", f"refusal:{tx_hash or fact}", {"refusal": refusal}),
        ("note", "agent", f"stop_request:{fact}", {"stop_requested": True}),
        ("note", "keeper", "mark:20", {"mark": mark}),
        ("note", "keeper", "mark:20", {"mark": mark, "vault_created": {"vault": "0x"}}),
    ]


def reorg(forgery: Forgery, random: Random) -> None:
    """A row and its reversal, in a block that may exist; the row may come back."""
    if (like := _some(forgery, random)) is None or like["block_hash"] is None:
        return
    lost = like
    if random.random() < 0.5:
        lost = copy.deepcopy(like) | {"block_hash": _hash(random)}
        forgery.insert(lost)
    forgery.insert(_reversal(forgery, lost))
    if random.random() < 0.5:
        forgery.insert(copy.deepcopy(lost) | {"incarnation": lost["incarnation"] + 1})


def _reversal(forgery: Forgery, target: Line) -> Line:
    delta = target["cash_delta_usdc"]
    mirrored = delta.removeprefix("-") if delta.startswith("-") else f"-{delta}"
    for number, body in enumerate(forgery.bodies, start=1):
        body["seq"] = number
    return copy.deepcopy(target) | {
        "base_key": f"reversal:{target['base_key']}",
        "reported_by": ReportedBy.CHAIN.value,
        "cash_delta_usdc": "0.000000" if delta == "0.000000" else mirrored,
        "created_at": forgery.bodies[-1]["created_at"],
        "occurred_at": forgery.bodies[-1]["created_at"],
        "reverses_seq": target["seq"],
        "payload": {"reversal": True, "reverses_seq": target["seq"], "cause": "reorg"},
        "seq": 0,
    }


def failed(forgery: Forgery, random: Random) -> None:
    """A reverted call invented, doubled, told otherwise or hidden."""
    reverts = [one for one in forgery.bodies if one["base_key"].startswith("revert:")]
    if not reverts:
        return
    body = random.choice(reverts)
    match random.randrange(4):
        case 0:
            forgery.drop(body)
            if random.random() < 0.5:
                height = random.choice((0, body["block_number"] - 1))
                forgery.head["as_of"]["reverts_block_number"] = height
        case 1:
            names = ("unknown", "MandateStopped", "MandateEnded", "server_guard")
            body["payload"].setdefault("refusal", {})["reason"] = random.choice(names)
        case 2:
            body["payload"]["refusal"] = {"reason": "unknown", "source": "chain"}
        case _:
            like = copy.deepcopy(body)
            tx_hash = random.choice((_hash(random), random.choice(forgery.bodies)["tx_hash"]))
            forgery.insert(like | {"tx_hash": tx_hash, "base_key": f"revert:{tx_hash}"})


# The first line and the head


def other_terms(forgery: Forgery, random: Random) -> None:
    """A term, with its digest or without."""
    terms = forgery.first["terms"]
    key = random.choice(sorted(terms))
    terms[key] = random.choice((*terms.values(), "1", "\uff11", str(2**200)))
    _digested(forgery, random)


def other_rules(forgery: Forgery, random: Random) -> None:
    rules = forgery.first["rules"]
    match random.randrange(3):
        case 0 if rules:
            del rules[random.randrange(len(rules))]
        case 1 if rules:
            rule = random.choice(rules)
            rule[random.choice(sorted(rule))] = random.choice((0, 3, "0", True, _hash(random)[:42]))
        case _:
            rules.append(copy.deepcopy(random.choice(rules)) if rules else {})
    if random.random() < 0.5:
        try:
            hashed = rules_hash(rules_from_json(rules))
        except Exception:  # what cannot be hashed stays as it was
            return
        forgery.first["terms"]["allowedTargetsHash"] = hashed
    _digested(forgery, random)


def _digested(forgery: Forgery, random: Random) -> None:
    first = forgery.first
    if random.random() < 0.5:
        return
    try:
        terms = terms_from_json(first["terms"])
        digest = terms_digest(terms, first["factory"], first["chain_id"])
    except Exception:  # what cannot be hashed stays as it was
        return
    first["terms_digest"] = digest
    for body in forgery.bodies:
        if body["base_key"] == "signed" and isinstance(body["payload"], dict):
            body["payload"]["terms_digest"] = digest


def other_first(forgery: Forgery, random: Random) -> None:
    first = forgery.first
    key = random.choice(("chain_id", "factory", "guard_targets", "market_mode", "signature",
                         "terms_digest", "terms_version", "vault"))  # fmt: skip
    values = {
        "market_mode": ("paper",), "chain_id": (1,), "terms_version": (1, 3),
        "guard_targets": (["x"],),
        "vault": (None, first["factory"]), "factory": (first["vault"],),
        "signature": (None, "0x", "0x" + "11" * 65), "terms_digest": (_hash(random),),
    }  # fmt: skip
    first[key] = random.choice(values[key])


def other_head(forgery: Forgery, random: Random) -> None:
    """After sealing: only the head changes."""
    totals = forgery.head["totals"]
    key = random.choice(sorted(totals))
    totals[key] = random.choice((*totals.values(), 0, 1, None, "1.000000"))


ON_ROWS: Final[tuple[Lie, ...]] = (
    other_value, other_value, other_amount, other_payload, other_payload, more_payload, dropped,
    dropped_kind, cut_off, doubled, moved, other_log, told, told, told, reorg, failed, failed,
    other_terms, other_rules, other_first,
)  # fmt: skip


def earlier_end(forgery: Forgery, random: Random) -> None:
    """After sealing: the record says that it ends at the block of one of its rows."""
    places = [
        (body["block_number"], body["block_hash"])
        for body in forgery.bodies
        if body["block_hash"] is not None
    ]
    number, block_hash = random.choice(places)
    forgery.head["as_of"] |= {"block_number": number, "block_hash": block_hash}


ON_HEAD: Final[tuple[Lie, ...]] = (other_head, earlier_end)
