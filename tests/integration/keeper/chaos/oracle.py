"""What must be true when a story has come to rest, read from the canonical chain, the rows and the
nodes' records.

Nothing of keeper/ is used here.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from eth_utils.address import to_checksum_address
from sqlalchemy import text

from core.chain import results
from core.chain.blocks import TransactionReceipt
from core.chain.errors import RpcRevertedError
from core.chain.reader import refusal_name
from core.db.engine import Database
from core.mandate.chain.decode import decode_log
from core.mandate.rules.events import Stopped
from tests.integration.chaos.crew import Crew
from tests.integration.keeper.chaos.node import STOP, BadNode
from tests.integration.keeper.chaos.world import GWEI, Site, World, is_due

ADDRESS_BYTES = 20
TIP_WEI = GWEI  # what an honest node suggests
LONGEST_WAIT = 27  # blocks from an attempt's offer to its block
DEAREST = 25  # an attempt is an eighth dearer than the one before: about LONGEST_WAIT of them

# What must answer no row at all, by the sentence that a row contradicts.
LAWS = {
    "an intent that is not finished": """
        select id, kind, state from keeper_intent where state not in ('done', 'reverted', 'superseded', 'nonce_lost', 'refused')""",
    "a stop that is done twice": """
        select vault, count(*) from keeper_intent where kind = 'stop' and state = 'done' group by 1 having count(*) > 1""",
    "an intent that is done without an attempt that was mined": """
        select id, kind from keeper_intent i where state = 'done'
          and not exists (select 1 from keeper_tx t where t.intent_id = i.id and t.state = 'mined' and not t.is_filler)""",
    "an intent that was sent without signed bytes": """
        select id, state from keeper_intent i where state in ('done', 'reverted', 'nonce_lost')
          and not exists (select 1 from keeper_tx t where t.intent_id = i.id)""",
    "an attempt that is mined beside another of its intent and nonce": """
        select intent_id, nonce, count(*) from keeper_tx where state = 'mined' group by 1, 2 having count(*) > 1""",
    "a replacement that is no eighth dearer": """
        select t.id from keeper_tx t join keeper_tx p on p.signer = t.signer and p.nonce = t.nonce and p.attempt = t.attempt - 1
        where p.intent_id = t.intent_id and t.max_fee_wei * 8 < p.max_fee_wei * 9""",
    "a write that the fence let through": "select what from chaos_violation",
}


@dataclass(slots=True)
class Chain:
    """The canonical blocks of the story: what stopped each vault, and what the keys sent."""

    stops: dict[str, list[tuple[TransactionReceipt, Stopped]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    ours: list[tuple[int, TransactionReceipt]] = field(default_factory=list)  # nonce and receipt
    enforced: set[str] = field(default_factory=set)  # of ours: hashes of stops
    # Of ours: hash, price of a unit of gas, highest base fee since it may have been offered (wei).
    paid: list[tuple[str, int, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Oracle:
    world: World
    database: Database
    nodes: list[BadNode]
    crew: Crew
    signers: frozenset[str]  # addresses of the keepers' keys

    def faults(self) -> list[str]:
        """What is not as it must be, one line each."""
        chain = self._chain()
        return [
            *self._stopped(chain),
            *self._sent(chain),
            *self._paid(chain),
            *self._stuck(),
            *self._rows(chain),
            *self._logs(),
        ]

    def of_stops(self) -> list[str]:
        """The part that holds while transactions may still be under way: what is stopped, how, and
        for how much.
        """
        chain = self._chain()
        return [*self._stopped(chain), *self._sent(chain), *self._paid(chain)]

    def counts(self) -> str:
        """What happened, for people."""
        chain = self._chain()
        with self.database.read() as session:
            rows = session.execute(
                text(
                    "select kind || ' ' || state, count(*) from keeper_intent group by 1 order by 1"
                )
            )
            intents = ", ".join(f"{count} {what}" for what, count in rows)
            ((attempts, fillers),) = session.execute(
                text("select count(*), count(*) filter (where is_filler) from keeper_tx")
            )
        by_us = sum(
            receipt.sender in self.signers for found in chain.stops.values() for receipt, _ in found
        )
        why = Counter(self._why(receipt) for _, receipt in chain.ours if receipt.status == 0)
        return (
            f"{by_us} stops by the keeper, reverted: {dict(why)}; {attempts} attempts, {fillers} "
            f"fillers; {intents}"
        )

    def _why(self, receipt: TransactionReceipt) -> str:
        """What the contract says to a call that reverted, at the end of its block."""
        rpc = self.world.chain.rpc
        body = rpc.call("eth_getTransactionByHash", [receipt.tx_hash])
        call = {"from": receipt.sender, "to": receipt.to, "data": body["input"]}
        answers = rpc.batch_settled([("eth_call", [call, {"blockHash": receipt.block_hash}])])
        return (
            refusal_name(answers[0].revert_data)
            if isinstance(answers[0], RpcRevertedError)
            else None
        ) or "unknown"

    # The chain

    def _chain(self) -> Chain:
        found, world = Chain(), self.world
        vaults = {site.address for site in world.sites}
        for number in range(world.floor + 1, world.head.number + 1):
            block = world.chain.rpc.call("eth_getBlockByNumber", [hex(number), True])
            raws = world.chain.rpc.call("eth_getBlockReceipts", [block["hash"]]) or []
            for raw, body in zip(raws, block["transactions"], strict=True):
                receipt = results.receipt(json.dumps(raw).encode())
                assert receipt is not None
                if receipt.sender in self.signers:
                    found.ours.append((int(body["nonce"], 16), receipt))
                    found.enforced |= {receipt.tx_hash} if STOP in body["input"] else set()
                    market_wei = world.highest_base_fee_wei(number, LONGEST_WAIT)
                    found.paid.append(
                        (receipt.tx_hash, int(raw["effectiveGasPrice"], 16), market_wei)
                    )
                for log in receipt.logs:
                    event = decode_log(log) if log.address in vaults else None
                    if isinstance(event, Stopped):
                        found.stops[log.address].append((receipt, event))
        return found

    def _stopped(self, chain: Chain) -> Iterator[str]:
        """What is at its floor is stopped; what is stopped was stopped once, and was at its floor
        if we did it.
        """
        for site, (status, worth) in zip(
            self.world.sites, self.world.look(self.world.head.hash), strict=True
        ):
            stops = chain.stops[site.address]
            if status == "working" and is_due(site, worth):
                yield (
                    f"{site.address} is at {worth}, its floor is {site.floor_usdc_e6}, and it is "
                    "not stopped"
                )
            if len(stops) != (status == "stopped"):
                yield f"{site.address} is {status} and has {len(stops)} stops"
            yield from (
                f"{site.address} was stopped at {event.worth}"
                for receipt, event in stops
                if self._is_wrong(site, receipt, event)
            )

    def _is_wrong(self, site: Site, receipt: TransactionReceipt, event: Stopped) -> bool:
        """A stop of ours above the floor, or of a worth that nobody knows."""
        return receipt.sender in self.signers and not (
            event.worth_known and event.worth <= site.floor_usdc_e6
        )

    def _sent(self, chain: Chain) -> Iterator[str]:
        """What left the process was committed before, and what the chain has of our keys is ours or
        known to be foreign.
        """
        with self.database.read() as session:
            stored = {
                "0x" + bytes(raw).hex(): "0x" + bytes(tx_hash).hex()
                for raw, tx_hash in session.execute(text("select raw, hash from keeper_tx"))
            }
        for node in self.nodes:
            yield from (f"sent before it was committed: {raw[:40]}" for raw in node.early)
            yield from (
                f"sent and never committed: {raw[:40]}" for raw in node.sent if raw not in stored
            )
        known = set(stored.values()) | self.world.foreign | chain.enforced
        yield from (
            f"{receipt.tx_hash} of {receipt.sender} is nobody's"
            for _, receipt in chain.ours
            if receipt.tx_hash not in known
        )
        if self.world.disturbances == 0:
            yield from (
                f"{receipt.tx_hash} reverted"
                for _, receipt in chain.ours
                if receipt.status == 0 and not self._lost_race(chain, receipt)
            )

    def _paid(self, chain: Chain) -> Iterator[str]:
        """No more than DEAREST times the market's price since it was offered, whatever a node says
        of it.
        """
        for tx_hash, price_wei, base_fee_wei in chain.paid:
            if tx_hash not in self.world.foreign and price_wei > DEAREST * (base_fee_wei + TIP_WEI):
                yield (
                    f"{tx_hash} paid {price_wei / GWEI:.0f} gwei at a base fee of "
                    f"{base_fee_wei / GWEI:.0f}"
                )

    def _lost_race(self, chain: Chain, receipt: TransactionReceipt) -> bool:
        """Another transaction stopped the vault first, in the same block or one before."""
        stops = chain.stops.get(receipt.to or "", [])
        return any(
            stop.tx_hash != receipt.tx_hash and stop.block_number <= receipt.block_number
            for stop, _ in stops
        )

    def _stuck(self) -> Iterator[str]:
        """Nothing of our keys waits any more."""
        yield from (
            f"nonce {one.nonce} of {one.sender} is stuck"
            for one in self.world.pool.waiting.values()
            if one.sender in self.signers
        )
        for signer in sorted(self.signers):
            latest, pending = (
                self.world.chain.rpc.call("eth_getTransactionCount", [signer, tag])
                for tag in ("latest", "pending")
            )
            if latest != pending:
                yield f"{signer}: {latest} transactions mined, {pending} pending"

    # The rows

    def _rows(self, chain: Chain) -> Iterator[str]:
        with self.database.read() as session:
            for law, query in LAWS.items():
                yield from (
                    f"{law}: {tuple(map(_plain, row))}" for row in session.execute(text(query))
                )
            rows = session.execute(
                text(
                    "select signer, nonce, hash, i.state, i.kind, t.state from keeper_tx t "
                    "join keeper_intent i on i.id = t.intent_id"
                )
            )
            attempts = [tuple(map(_plain, row)) for row in rows]
        yield from self._ends(chain, attempts)

    def _ends(self, chain: Chain, attempts: list[tuple[Any, ...]]) -> Iterator[str]:
        """A stop that is done stopped its vault; a stop of ours has a row that says so, unless the
        chain was disturbed.
        """
        stopping = {
            receipt.tx_hash: vault
            for vault, found in chain.stops.items()
            for receipt, _ in found
            if receipt.sender in self.signers
        }
        kept = {
            attempt[2] for attempt in attempts
        }  # a killed process wrote no row of its last stop
        done = {
            tx_hash
            for _, _, tx_hash, state, kind, tx_state in attempts
            if (kind, state, tx_state) == ("stop", "done", "mined")
        }
        yield from (
            f"attempt {tx_hash} of a stop that is done stopped nothing"
            for tx_hash in sorted(done - stopping.keys())
        )
        if self.world.disturbances == 0:
            yield from (
                f"{stopping[tx_hash]} was stopped by {tx_hash}, whose intent is not done"
                for tx_hash in sorted((stopping.keys() & kept) - done)
            )

    def _logs(self) -> Iterator[str]:
        """A tick may fail of the outside, never of itself."""
        for said in told(self.crew):
            if "exception" in said:
                yield f"{said['event']}: {said['exception'].splitlines()[-1]}"


def told(crew: Crew) -> Iterator[dict[str, Any]]:
    """Every event of the keepers' logs.

    Two threads may share a line, and a killed process leaves half of one.
    """
    read = json.JSONDecoder().raw_decode
    for path in sorted(crew.folder.glob("*.log")):
        said = path.read_text(errors="replace")
        start = said.find("{")
        while start >= 0:
            try:
                event, start = read(said, start)
            except json.JSONDecodeError:
                start += 1
            else:
                yield from [event] if "event" in event else []
            start = said.find("{", start)


def happened(crew: Crew) -> str:
    """How often the logs say what, the rarest of it too."""
    said = Counter(event["event"] for event in told(crew))
    return ", ".join(f"{count} {event}" for event, count in sorted(said.items()))


def _plain(value: Any) -> Any:
    if not isinstance(value, bytes | memoryview):
        return value
    raw = bytes(value)
    return to_checksum_address(raw) if len(raw) == ADDRESS_BYTES else "0x" + raw.hex()
