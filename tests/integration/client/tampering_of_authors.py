"""Kinds of tampering with rows that their authors sign; hashes, numbers and totals fit in each."""

import copy

from api.client.verify.reading import NO_HASH
from core.mandate.rules.record import row_of_line
from tests.integration.client.conftest import Exported
from tests.integration.client.forging import Forgery, Line
from tests.integration.client.signing_rows import signed_by
from tests.integration.client.tampering import Kind
from tests.personas import AGENT, STRANGER, Persona


def _signed(forgery: Forgery) -> list[Line]:
    return [body for body in forgery.bodies if "author" in body]


def _altered(forgery: Forgery, _: Exported) -> None:
    _signed(forgery)[-1]["payload"]["why"] = "Stopped too late."


def _amount(forgery: Forgery, _: Exported) -> None:
    _signed(forgery)[-1]["amount_usdc"] = "1.000000"


def _dropped(forgery: Forgery, _: Exported) -> None:
    forgery.drop(_signed(forgery)[1])


def _reordered(forgery: Forgery, _: Exported) -> None:
    one, two = (forgery.index(body) for body in _signed(forgery)[1:3])
    forgery.rows[one], forgery.rows[two] = forgery.rows[two], forgery.rows[one]


def _invented(forgery: Forgery, _: Exported) -> None:
    forgery.insert(_another(forgery))
    del forgery.bodies[-1]["author"]


def _invented_with_an_old_signature(forgery: Forgery, _: Exported) -> None:
    forgery.insert(_another(forgery))
    forgery.bodies[-1]["author"] |= {"sequence": 4, "prev": forgery.rows[-2]["row_hash"]}


def _invented_by(forgery: Forgery, persona: Persona) -> None:
    body, before = _another(forgery), forgery.rows[-1]["row_hash"]
    row = row_of_line({"body": body, "prev_hash": before, "row_hash": before})
    first = forgery.first
    author = signed_by(persona, row, first["mandate_id"], first["factory"], 4, before)
    body["author"] |= {"signer": author.signer, "sequence": 4, "prev": before}
    body["author"]["signature"] = author.signature
    forgery.insert(body)


def _another(forgery: Forgery) -> Line:
    body = copy.deepcopy(_signed(forgery)[-1])
    body["payload"]["why"] = "I lost your money on purpose."
    return body | {"base_key": "report:0123456789abcdef0123456789abcdef", "seq": body["seq"] + 1}


def _unsigned(forgery: Forgery, _: Exported) -> None:
    del _signed(forgery)[-1]["author"]


def _all_but_the_first_unsigned(forgery: Forgery, _: Exported) -> None:
    for body in _signed(forgery)[1:]:
        del body["author"]


def _claim_before_altered(forgery: Forgery, _: Exported) -> None:
    forgery.body("report")["payload"]["why"] = "a whim"


def _on_a_row_of_the_chain(forgery: Forgery, _: Exported) -> None:
    forgery.body("deposit")["author"] = _signed(forgery)[0]["author"]


def _of_another_mandate(forgery: Forgery, exported: Exported) -> None:
    """The agent's own signature of the same words, made for another mandate."""
    body = _signed(forgery)[-1]
    row = row_of_line({"body": body, "prev_hash": NO_HASH, "row_hash": NO_HASH})
    said, factory = body["author"], forgery.first["factory"]
    author = signed_by(AGENT, row, "m_othermand2", factory, said["sequence"], said["prev"])
    said["signature"] = author.signature


AUTHORS_KINDS: dict[str, Kind] = {
    "signed row altered": Kind("changes what the agent signed", "author.signature", _altered),
    "signed row's amount": Kind("gives a signed row an amount", "author.signature", _amount),
    "signed row dropped": Kind("leaves out what the agent signed", "author.sequence", _dropped),
    "signed rows reordered": Kind("puts a later signed row first", "author.sequence", _reordered),
    "row invented for a signer": Kind(
        "adds an unsigned row in the name of an agent who signs", "author.unsigned", _invented
    ),
    "row invented, old signature": Kind(
        "adds a row with the signature of another one",
        "author.signature",
        _invented_with_an_old_signature,
    ),
    "row invented, own signature": Kind(
        "signs an added row with a key of its own",
        "author.signer",
        lambda forgery, _: _invented_by(forgery, STRANGER),
    ),
    "signature taken off": Kind("takes the newest signature off", "author.unsigned", _unsigned),
    "signatures taken off": Kind(
        "takes all signatures but the first off", "author.unsigned", _all_but_the_first_unsigned
    ),
    "claim altered below a signature": Kind(
        "changes a claim that nobody signed, before rows that are signed",
        "author.prev",
        _claim_before_altered,
    ),
    "signature on a chain row": Kind(
        "puts a signature on a row of the chain", "author.foreign", _on_a_row_of_the_chain
    ),
    "signature of another mandate": Kind(
        "takes what the agent signed for another mandate",
        "author.signature",
        _of_another_mandate,
    ),
}
