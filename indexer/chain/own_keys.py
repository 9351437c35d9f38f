"""Is a key of ours used by somebody else? Every transaction of an account of ours has a row: it is
committed before the bytes are sent, of a stop soon after. So the accounts' nonces are held against
the rows.

    keeper, guard (the factory names them), stop, pauser, custody, sponsor (job `balances`), settler
        |-- transaction count  -->  nonces used since the last look
        '-- rows of ours with these nonces  -->  the others are findings

Laws
- The cost grows with our own accounts and what they send, never with the chain's traffic.
- The count is read before the rows. A nonce without one is looked at again until ROWS_WITHIN is
  over: Postgres may have been away.
- A nonce whose rows the keeper gave up, since another transaction took it, is a finding, among the
  newest LOOK_BACK nonces: it is known some time after the nonce was used.
- `enforceStopLine` of a vault of ours is anybody's call, and no finding where the transaction can be
  found. It is looked for between two looks alone, at a few heights; where the node no longer has
  them, nothing is said of which transaction it was.
- An account is first looked at from its count on: what was before is not judged.
- A settler's rows have no nonces: as many transactions as settlements that may have been sent are
  planned.
- A finding is closed by an operator, or here once the rows that it missed are there.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

import structlog
from sqlalchemy.orm import Session

from core.audit import queries as repository
from core.audit.queries import LookedAt
from core.audit.rules import Fault, FindingKind
from core.chain import results
from core.chain.blocks import SentCall
from core.chain.errors import RpcRefusedError
from core.jobs.queries import last_done
from core.keeper.figures import lost_nonces, signed_nonces
from core.mandate.chain import calldata
from core.mandate.rules.terms import ZERO_ADDRESS
from core.payments.settlements import newest_settler, sent_since
from indexer.chain.context import ChainContext

BALANCES: Final = "balances"  # the keeper's job that says whose keys it has
SETTLER, GUARD, KEEPER = "settler", "guard", "keeper"
MOST_NONCES: Final = 10_000  # of one account, at one look
LOOK_BACK: Final = 1_000  # nonces of one account, among which the keeper may have given some up
ROWS_WITHIN: Final = timedelta(minutes=10)
MOST_LOOKED_FOR: Final = 5  # blocks with transactions of one account, at one look
MOST_BLOCKS: Final = 10_000  # between two looks, beyond which none is looked for
ENFORCE: Final = calldata.enforce_stop_line()

log = structlog.get_logger(__name__)


class OwnKeys:
    """`chain`: the auditor's own. `look` is one round. `rows_within`: of a transaction."""

    def __init__(
        self,
        chain: ChainContext,
        clock: Callable[[], datetime],
        rows_within: timedelta = ROWS_WITHIN,
    ) -> None:
        self._chain = chain
        self._clock = clock
        self._rows_within = rows_within
        self._waits: dict[str, datetime] = {}  # since when rows are missing, by account

    def look(self) -> list[Fault]:
        """What is new. It is written in one transaction with how far was looked.

        Errors: OutsideError, LeadershipLostError.
        """
        reader, chain_id = self._chain.reader, self._chain.chain_id
        head = reader.header()
        if head is None:
            return []
        with self._chain.database.read() as session:
            roles, before = self._accounts(session), repository.looked_at(session, chain_id)
        counts = {one: reader.transaction_count(one, head.hash) for one in roles}
        found, looks = list[Fault](), list[LookedAt]()
        for address, role in roles.items():
            at = {"nonce": counts[address], "block_number": head.number}
            now = LookedAt(address=address, role=role, **at)
            last = before.get(address)
            if last is None:
                looks += self._first(now)
            elif now.nonce > last.nonce:
                look = self._of_settler if role == SETTLER else self._of
                faults, looked = look(last, now)
                found += faults
                looks.append(looked)
            elif now.block_number > last.block_number:
                looks.append(replace(last, role=role, block_number=now.block_number))
            if last is not None and role != SETTLER:
                found += self._taken(last, now)
        return self._write(found, looks)

    def _explained(self, session: Session) -> list[int]:
        """Ids of open findings whose nonces all have rows now."""
        found = list[int]()
        for finding in repository.open_findings(session, self._chain.chain_id):
            place = finding.place
            if finding.kind == FindingKind.KEY and "first_nonce" in place:
                first, end = place["first_nonce"], place["last_nonce"] + 1
                signed = set(signed_nonces(session, place["address"], first, end))
                signed -= lost_nonces(session, place["address"], first, end).keys()
                found += [] if _gaps(sorted(signed), first, end) else [finding.id]
        return found

    def _accounts(self, session: Session) -> dict[str, str]:
        """Role by address; an account that has several is named once."""
        reader = self._chain.reader
        settler = newest_settler(session)
        named = {reader.guard(): GUARD, settler or ZERO_ADDRESS: SETTLER, reader.keeper(): KEEPER}
        signers = last_done(session, BALANCES).get("signers", ())
        named |= {str(one["address"]): str(one["role"]) for one in signers}
        named.pop(ZERO_ADDRESS, None)
        return named

    def _first(self, now: LookedAt) -> list[LookedAt]:
        """A settler's count is compared with its rows from a moment on when none is under way."""
        if now.role != SETTLER:
            return [now]
        with self._chain.database.read() as session:
            sent = sent_since(session, now.address, 0)
        return [] if sent.open else [replace(now, since_id=sent.newest_id)]

    def _taken(self, last: LookedAt, now: LookedAt) -> Iterator[Fault]:
        """Nonces that our rows had, and that none of their transactions used."""
        first = max(0, last.nonce - LOOK_BACK)
        with self._chain.database.read() as session:
            lost = lost_nonces(session, now.address, first, now.nonce)
        for nonce, hashes in lost.items():
            if not any(self._chain.reader.receipts_of(hashes)):
                yield _fault(self._chain.chain_id, now, nonce, nonce, None)

    def _of(self, last: LookedAt, now: LookedAt) -> tuple[list[Fault], LookedAt]:
        end = min(now.nonce, last.nonce + MOST_NONCES)
        with self._chain.database.read() as session:
            signed = signed_nonces(session, now.address, last.nonce, end)
        gaps = _gaps(signed, last.nonce, end)
        at = self._clock()
        if gaps and at - self._waits.setdefault(now.address, at) < self._rows_within:
            return [], replace(last, role=now.role, nonce=gaps[0][0])
        self._waits.pop(now.address, None)
        sent = self._sent(last, now, [nonce for gap in gaps for nonce in range(gap[0], gap[1] + 1)])
        anybodys = {nonce for nonce, call in sent.items() if self._is_anybodys(call)}
        known = sorted(anybodys.intersection(range(last.nonce, end)).union(signed))
        left, chain_id = _gaps(known, last.nonce, end), self._chain.chain_id
        faults = [_fault(chain_id, now, *one, sent.get(one[0])) for one in left]
        return faults, replace(now, nonce=end)

    def _of_settler(self, last: LookedAt, now: LookedAt) -> tuple[list[Fault], LookedAt]:
        with self._chain.database.read() as session:
            sent = sent_since(session, now.address, last.since_id)
        more = now.nonce - last.nonce - sent.most
        if more <= 0:
            # begin anew only where every settlement is accounted for
            return [], replace(now, since_id=sent.newest_id) if not (more or sent.open) else last
        what = (
            f"{more} of the transactions {last.nonce} to {now.nonce - 1} of {now.address} (settler) "
            "are of no settlement of ours"
        )
        key = f"key:{self._chain.chain_id}:{now.address}:{last.nonce}-{now.nonce - 1}"
        place = {"address": now.address, "role": SETTLER, "block_number": now.block_number}
        return [Fault(FindingKind.KEY, key, what, place)], replace(last, nonce=last.nonce + more)

    def _sent(self, last: LookedAt, now: LookedAt, nonces: Sequence[int]) -> dict[int, SentCall]:
        """The transactions with these nonces, as far as the node still has the heights."""
        found: dict[int, SentCall] = {}
        if now.block_number - last.block_number > MOST_BLOCKS:
            return found
        for _ in range(MOST_LOOKED_FOR):
            nonce = next((one for one in nonces if one not in found), None)
            if nonce is None:
                break
            try:
                of_block = self._block_of(now.address, nonce, last.block_number, now.block_number)
            except RpcRefusedError:
                break
            if nonce not in of_block:
                break
            found |= of_block
        return found

    def _is_anybodys(self, call: SentCall) -> bool:
        """To another account the same data could carry all ETH away."""
        is_enforced = call.to is not None and call.data.startswith(ENFORCE)
        return is_enforced and self._chain.reader.is_vault(str(call.to))

    def _block_of(self, address: str, nonce: int, low: int, high: int) -> dict[int, SentCall]:
        """All that the account sent in the first block after which it has used the nonce."""
        reader, between = self._chain.reader, range(low + 1, high)
        high = (
            low
            + 1
            + bisect_right(
                between, nonce, key=lambda number: reader.transaction_count(address, number)
            )
        )
        used = reader.transaction_count(address, high - 1)
        block = reader.rpc.call("eth_getBlockByNumber", [hex(high), True], results.calls_of_block)
        own = [call for call in block if call.sender == address]
        return dict(enumerate(own, start=used))

    def _write(self, found: Sequence[Fault], looks: Sequence[LookedAt]) -> list[Fault]:
        chain_id, at = self._chain.chain_id, self._clock()
        with self._chain.database.write() as session:
            self._chain.fence(session)
            new = list(repository.add_findings(session, chain_id, found, at).values())
            for one in looks:
                repository.note_looked_at(session, chain_id, one)
            repository.resolve_explained(session, self._explained(session), at)
        for fault in new:
            log.error("one of our keys was used by somebody else", what=fault.what)
        return new


Gap = tuple[int, int]  # first and last nonce, both in it


def _gaps(signed: Sequence[int], first: int, end: int) -> list[Gap]:
    """Runs of nonces from `first` to before `end` that are not among these (sorted)."""
    return [
        (before + 1, after - 1)
        for before, after in pairwise([first - 1, *signed, end])
        if after - before > 1
    ]


def _fault(chain_id: int, one: LookedAt, first: int, last: int, call: SentCall | None) -> Fault:
    which = f"transaction {first}" if first == last else f"transactions {first} to {last}"
    known = "" if call is None else f"; {first} is {call.tx_hash}, to {call.to}"
    place = {
        "address": one.address,
        "role": one.role,
        "first_nonce": first,
        "last_nonce": last,
        "block_number": one.block_number,
        "tx_hash": None if call is None else call.tx_hash,
    }
    return Fault(
        FindingKind.KEY,
        f"key:{chain_id}:{one.address}:{first}-{last}",
        f"no row of ours planned {which} of {one.address} ({one.role}){known}",
        place,
    )
