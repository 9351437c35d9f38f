"""Drafts in, signed bytes out. A signer that fails is left alone for a while."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import structlog
from eth_utils.crypto import keccak

from core.chain.signer import Signer
from core.hexes import hex_of
from core.keeper.intents import NewTx
from keeper.drafts import Draft
from keeper.signing import UNSIGNED, words_of
from keeper.snapshot import Snapshot

SILENT_S = 5.0  # for so long a signer that failed is asked last

log = structlog.get_logger("keeper")


class Signatures:
    """`signers`: by address. `clock`: seconds that only rise."""

    def __init__(self, signers: Mapping[str, Signer], clock: Callable[[], float]) -> None:
        self._signers = signers
        self._clock = clock
        self._silent_until: dict[str, float] = {}  # by account

    def signed(
        self, drafts: Sequence[Draft], snapshot: Snapshot, failed: set[str]
    ) -> Iterator[tuple[Draft, NewTx]]:
        """The signed ones.

        Once a signer fails, nothing more of it is signed in this advance: a nonce left out would
        hold up the rest.
        """
        for draft in drafts:
            if draft.signer in failed:
                continue
            try:
                tx = self._tx_of(draft, snapshot)
            except UNSIGNED as error:
                log.warning(
                    "intent waits",
                    intent=draft.intent.id,
                    kind=draft.intent.kind,
                    why="it is not signed",
                    error=words_of(error),
                )
                failed.add(draft.signer)
                self._silent_until[draft.signer] = self._clock() + SILENT_S
            else:
                yield draft, tx

    def silent(self) -> frozenset[str]:
        """Signers that failed a moment ago."""
        return frozenset(
            signer for signer, until in self._silent_until.items() if self._clock() < until
        )

    def _tx_of(self, draft: Draft, snapshot: Snapshot) -> NewTx:
        raw = self._signers[draft.signer].sign_transaction(draft.transaction())
        return NewTx(
            intent_id=draft.intent.id,
            signer=draft.signer,
            nonce=draft.nonce,
            raw=raw,
            hash=hex_of(keccak(raw)),
            max_fee_wei=draft.fees.max_fee_wei,
            max_priority_fee_wei=draft.fees.max_priority_fee_wei,
            offered_block=snapshot.head.number,
            is_filler=draft.is_filler,
        )
