"""Who signed what, and which vault that is: nothing of the record's first line is taken at its
word.

terms -> digest (EIP-712, the factory's domain) -> the owner's signature;  digest -> predictVault ->
the vault
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from eth_abi.exceptions import EncodingError

from api.client.verify.findings import Report, UncheckedError
from api.client.verify.node import Block, Node
from core.canonical import canonical_json
from core.chain.abi import AbiDecodeError, address_word, topic_of
from core.chain.signatures import verify_digest
from core.errors import MandateError
from core.hexes import checksum_address
from core.mandate.chain.decode import decode_log
from core.mandate.chain.typed_data import TERMS_FIELDS, guard_targets_hash, rules_hash, terms_digest
from core.mandate.rules.events import VaultCreated
from core.mandate.rules.lifecycle import MarketMode
from core.mandate.rules.state import MandateFacts, position_rules
from core.mandate.rules.terms import (
    MandateTerms,
    Rule,
    RuleKind,
    rules_from_json,
    rules_to_json,
    terms_from_json,
    terms_to_json,
)

OTHER_TERMS: Final = "other terms"
MOST_NAMED: Final = 10  # vaults of other terms
_SIGNATURE: Final = re.compile("0x([0-9a-f]{2})+")


@dataclass(frozen=True, slots=True)
class RecordSubject:
    """What the record is about, as its own first line says; `digest` is computed, not copied."""

    chain_id: int
    factory: str
    vault_said: str | None
    terms: MandateTerms
    rules: tuple[Rule, ...]
    digest: str
    facts: MandateFacts
    terms_version: int

    @property
    def is_paper(self) -> bool:
        return self.facts.market_mode is MarketMode.PAPER

    @property
    def payment_adapters(self) -> list[str]:
        """The targets of rules of kind COST: the adapter that the owner signed for payments, in
        honest terms one at most.
        """
        return sorted({rule.target for rule in self.rules if rule.kind is RuleKind.COST})


def subject_of(first: Mapping[str, Any], report: Report) -> RecordSubject | None:
    """Read the first line and check it against itself; None when there is too little to go on."""
    try:
        terms = terms_from_json(first["terms"])
        rules = rules_from_json(first["rules"])
        version, factory = first["terms_version"], checksum_address(first["factory"])
        digest = terms_digest(terms, factory, first["chain_id"], version)
        mode, positions = MarketMode(first["market_mode"]), position_rules(rules)
        facts = MandateFacts(
            market_mode=mode, budget_usdc_e6=terms.budget_usdc, positions=positions
        )
        hashes = (rules_hash(rules), guard_targets_hash(first["guard_targets"]))
    except (MandateError, ValueError, TypeError, KeyError, AttributeError, EncodingError) as error:
        report.say("terms.form", None, f"{type(error).__name__}: {error}")
        return None
    if terms.public_id != first["mandate_id"]:
        text = f"the record is of {first['mandate_id']}, the terms are of {terms.public_id}"
        report.say("terms.mandate_id", None, text)
    if hashes[0] != terms.allowed_targets_hash:
        text = f"the rules give {hashes[0]}, signed was {terms.allowed_targets_hash}"
        report.say("terms.rules", None, text)
    if hashes[1] != terms.guard_targets_hash and "guardTargetsHash" in _signed(version):
        text = f"the guard's targets give {hashes[1]}, signed was {terms.guard_targets_hash}"
        report.say("terms.guard_targets", None, text)
    if digest != first["terms_digest"]:
        text = f"the terms give {digest}, the record says {first['terms_digest']}"
        report.say("terms.digest", None, text)
    if unsigned := [name for _, name in TERMS_FIELDS[2] if name not in _signed(version)]:
        report.unchecked.append(
            f"terms: those of version {version} do not hold {', '.join(unsigned)}; what the record "
            "says of them nobody signed"
        )
    _exact(first, terms, rules, factory, report)
    return RecordSubject(
        first["chain_id"], factory, first["vault"], terms, rules, digest, facts, version
    )


def _signed(version: int) -> set[str]:
    """The names of the terms that an owner signs under this version."""
    return {name for _, name in TERMS_FIELDS[version]}


def _exact(
    first: Mapping[str, Any],
    terms: MandateTerms,
    rules: tuple[Rule, ...],
    factory: str,
    report: Report,
) -> None:
    """What was read, written again, is what was there: one spelling each."""
    written = {
        "terms": terms_to_json(terms),
        "rules": rules_to_json(rules),
        "factory": factory,
        "vault": None if first["vault"] is None else checksum_address(first["vault"]),
    }
    for key, value in written.items():
        if canonical_json(first[key]) != canonical_json(value):
            report.say("terms.form", None, f"{key} is not written as a record writes it")
    signature = first["signature"]
    if signature is not None and not _SIGNATURE.fullmatch(signature):
        report.say("terms.form", None, "the signature is not 0x and pairs of lower-case hex digits")


def check_signature(
    subject: RecordSubject,
    signature: str | None,
    *,
    is_signed: bool,
    has_vault: bool,
    node: Node,
    report: Report,
) -> bool:
    """Whether the owner signed the terms; a key's signature needs no node, a contract wallet is
    asked.

    Without one, the factory's own check is used (VaultCreated); `is_signed`: the rows say so.

    Errors: UncheckedError when there is neither a signature nor a vault: then nothing of the record
    is the owner's.
    """
    if signature is None:
        if has_vault:
            return False
        if is_signed:
            text = "the rows say signed, the record has no signature and the factory no vault"
            report.say("terms.signature", None, text)
        raise UncheckedError("terms", "there is neither a signature nor a vault")
    if not is_signed:
        report.say("row.left_out", None, "the terms are signed and no row says so")
    owner = subject.terms.owner
    if not node.ask(
        "the owner's signature",
        lambda: verify_digest(owner, subject.digest, signature, node.reader),
    ):
        if has_vault and node.ask("the owner's code", lambda: node.reader.code_at(owner)):
            report.remarks.append(
                f"the owner's wallet {owner} does not take the signature of the terms now; the factory "
                "took it when it made the vault"
            )
            return True
        report.say("terms.signature", None, f"{owner} did not sign {subject.digest}")
        return False
    return True


def check_cancelled(
    subject: RecordSubject, is_said: bool, node: Node, at: Block, report: Report
) -> None:
    """Whether the factory holds the terms for cancelled, as its log said or did not say.

    Errors: UncheckedError when that state is gone.
    """
    is_cancelled = node.ask(
        "the terms' cancellation", lambda: node.reader.is_cancelled(subject.digest, at.hash)
    )
    if is_cancelled != is_said:
        words = {True: "cancelled", False: "not cancelled"}
        text = f"the rows say {words[is_said]}, the factory {words[is_cancelled]}"
        report.say("terms.cancelled", None, text)


def check_place(
    subject: RecordSubject, node: Node, trusted: Collection[str], report: Report
) -> str | None:
    """The vault of these terms; None when node and record are of different chains or there is no
    such factory.

    `trusted`: factories. Without any the record cannot be sound: its own would be its own witness.
    """
    chain_id = node.ask("the chain's id", node.reader.chain_id)
    if chain_id != subject.chain_id:
        text = f"the record is of chain {subject.chain_id}, the node of {chain_id}"
        report.say("terms.chain_id", None, text)
        return None
    if not trusted:
        report.unchecked.append(
            f"the factory: none of chain {chain_id} is known; name the published one with --factory"
        )
    elif subject.factory not in trusted:
        text = f"the record's factory is {subject.factory}, trusted is {', '.join(trusted)}"
        report.say("terms.factory", None, text)
    if not node.ask("the factory's code", lambda: node.reader.code_at(subject.factory)):
        report.say("terms.factory", None, f"there is no contract at {subject.factory}")
        return None
    vault = node.ask("the vault's address", lambda: node.reader.predict_vault(subject.digest))
    if subject.vault_said is not None and subject.vault_said != vault:
        text = f"the record's vault is {subject.vault_said}, these terms give {vault}"
        report.say("terms.vault", None, text)
    return vault


def payment_adapter(
    subject: RecordSubject, named_by_reader: str | None, pinned: Sequence[str], report: Report
) -> str | None:
    """The only contract whose X402Paid is believed: the one that the verifier trusts, else the one
    that the signed rules name.

    Any contract can emit that event in any vault's name, so that a contract's own word never makes
    it the x402 adapter.
    `pinned`: those of the published deployments; what the reader names comes before them.

    Errors: UncheckedError when the rules name several and none is trusted.
    """
    named = subject.payment_adapters
    trusted = [*pinned] if named_by_reader is None else [checksum_address(named_by_reader)]
    if len(trusted) > 1:
        trusted = [one for one in named if one in trusted][:1] or trusted[:1]
    if not trusted and len(named) > 1:
        text = (
            f"the rules name {len(named)} payment adapters ({', '.join(named)}); name the "
            "deployment's with --x402-adapter"
        )
        raise UncheckedError("payments", text)
    if not trusted:
        if named:
            report.remarks.append(
                f"payments are those of {named[0]}, which the owner signed for; --x402-adapter "
                "names the deployment's"
            )
        return named[0] if named else None
    for other in named:
        if other != trusted[0]:
            report.remarks.append(
                f"{other} may be paid as a cost and is not the x402 adapter: its payments count as none"
            )
    return trusted[0]


def compare_created(subject: RecordSubject, created: VaultCreated, report: Report) -> None:
    """Each term against the one that the factory wrote down when it made the vault."""
    for field in fields(MandateTerms):
        stated, on_chain = getattr(subject.terms, field.name), getattr(created.terms, field.name)
        if stated != on_chain:
            text = f"{field.name}: the record says {stated}, the factory {on_chain}"
            report.say("terms.on_chain", None, text)
    if subject.rules != created.rules:
        report.say("terms.rules", None, "the rules are not those that the factory wrote down")


def check_other_terms(
    subject: RecordSubject,
    *,
    factories: Collection[str],
    has_vault: bool,
    is_named: bool,
    node: Node,
    report: Report,
) -> None:
    """What this record says nothing of: vaults that the factory, or another trusted one, made of
    other terms by the same owner. An owner may sign several terms for one mandate, and a record can
    show those that have no vault.

    `factories`: the trusted ones. `is_named`: the reader said which mandate is meant.

    Errors: UncheckedError when the vault may be that of the mandate that is meant: it has the same
    id, or these terms have none and nobody said which mandate is meant.
    """
    others = [
        one
        for factory in sorted({subject.factory, *factories})
        for one in _made_for(subject, factory, node)
        if one.terms_digest != subject.digest
    ]
    same = [one for one in others if one.public_id == subject.terms.public_id]
    if same:
        raise UncheckedError(
            OTHER_TERMS,
            f"the owner signed others for {subject.terms.public_id} too, and the factory made of "
            f"them {_vaults(same)}; this record says nothing of that",
        )
    if others and not (has_vault or is_named):
        raise UncheckedError(
            OTHER_TERMS,
            f"these have no vault, and the factory made of others by the same owner {_vaults(others)}; "
            f"name the mandate that you mean (--mandate {subject.terms.public_id})",
        )
    if others:
        report.remarks.append(
            f"the owner has other vaults, of which this record says nothing: {_vaults(others)}"
        )


def _made_for(subject: RecordSubject, factory: str, node: Node) -> list[VaultCreated]:
    """Its every vault of the owner. One question where a node takes the factory's whole life at once."""
    topics = [topic_of(VaultCreated.__name__), None, None, address_word(subject.terms.owner)]
    newest = node.newest()
    first = node.first_with_code(factory, newest)
    wanted = {"address": factory, "topics": topics}
    made = list[VaultCreated]()
    for log in node.logs(OTHER_TERMS, wanted, first, newest, newest - first + 1):
        try:
            event = decode_log(log)
        except AbiDecodeError as error:
            raise UncheckedError(OTHER_TERMS, f"{log.tx_hash}: {error}") from error
        if isinstance(event, VaultCreated):
            made.append(event)
    return made


def _vaults(made: Sequence[VaultCreated]) -> str:
    named = [f"{one.vault} of {one.public_id}" for one in made[:MOST_NAMED]]
    return ", ".join(named) + (f" and {len(made) - MOST_NAMED} more" if made[MOST_NAMED:] else "")
