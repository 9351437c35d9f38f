"""The registry of vaults: who is watched, whatever the ledgers say.

    all vaults in one savepoint --> registered                          nearly always
          '- refused --> each alone --> registered, if need be without its name
                                          '- refused --> ours: its creation is held back from its ledger   somebody's: a log line

A vault of ours that is not registered is known by that held fact: the watch list, the keeper and
the factory's notes ask for those too (core.quarantine.views.unregistered). `retry` registers it
first of all.
"""

from collections.abc import Sequence
from dataclasses import replace

import structlog

from core.blocks.registry import NewVault, add_vaults
from core.chain.blocks import BlockHeader, RawLog
from core.db.engine import WriteSession
from core.mandate.queries import public_ids_of, replaced_among
from indexer.chain.context import ChainContext
from indexer.chain.facts import Created, created_by
from indexer.chain.quarantine import MAY_REFUSE, HeldReason, refusal_of

log = structlog.get_logger(__name__)


def register(
    session: WriteSession, chain: ChainContext, vaults: Sequence[tuple[BlockHeader, NewVault]]
) -> dict[str, HeldReason]:
    """Write these down; by address why one of ours is refused, even without its name."""
    if not vaults or _try(session, chain, vaults) is None:
        return {}
    refused: dict[str, HeldReason] = {}
    for header, vault in vaults:
        refusal = _register_one(session, chain, header, vault)
        if refusal is not None:
            log.error(
                "vault not registered",
                vault=vault.address,
                mandate_id=vault.mandate_id,
                note=refusal.note,
            )
            refused |= {} if vault.mandate_id is None else {vault.address: refusal}
    return refused


def register_held(
    session: WriteSession, chain: ChainContext, raw: RawLog, mandate_id: int, at: int
) -> HeldReason | None:
    """Register the vault of ours that a held log creates, if it creates one; why it is refused
    again. `at`: the time of its block.
    """
    made = created_by(raw) if raw.address == chain.factory else None
    if made is None:
        return None
    named = replace(made, public_id=public_ids_of(session, {mandate_id})[mandate_id])
    header = BlockHeader(raw.block_number, raw.block_hash, "", at, 0, ())
    return _register_one(session, chain, header, new_vault(named, chain.factory, mandate_id))


def new_vault(made: Created, factory: str, mandate_id: int | None) -> NewVault:
    return NewVault(
        address=made.address,
        factory=factory,
        terms_digest=made.terms_digest,
        public_id=made.public_id,
        owner=made.owner,
        mandate_id=mandate_id,
    )


def _register_one(
    session: WriteSession, chain: ChainContext, header: BlockHeader, vault: NewVault
) -> HeldReason | None:
    if _try(session, chain, [(header, vault)]) is None:
        return None
    return _try(session, chain, [(header, replace(vault, public_id=None))])


def _try(
    session: WriteSession, chain: ChainContext, vaults: Sequence[tuple[BlockHeader, NewVault]]
) -> HeldReason | None:
    """All of them or none: why the database refuses one for what it says."""
    try:
        with session.begin_nested():
            strange = [vault.terms_digest for _, vault in vaults if vault.mandate_id is None]
            add_vaults(session, chain.chain_id, vaults, replaced_among(session, strange))
    except MAY_REFUSE as error:
        refusal = refusal_of(error)
        if refusal is None:
            raise
        return HeldReason(
            refusal.reason, refusal.note.replace("refuses it", "does not register its vault")
        )
    return None
