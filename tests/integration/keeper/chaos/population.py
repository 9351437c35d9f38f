"""Very many vaults at once: a market that falls takes most of them below their floors in one block.

One vault a venue is made as people make it. The others are its copies, with terms of their own:
code, storage, money and position are set in anvil, and the rows that API and indexer would have
written stand in the database. Two thousand take seconds.

Laws
- What the crash does not touch never falls.
- Worths are not kept block by block: they change once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from eth_utils.crypto import keccak
from sqlalchemy import insert

from core.blocks.tables import Vault
from core.chain.abi import topic_of
from core.chain.nodes import Nodes
from core.db.engine import Database
from core.hexes import bytes_of
from core.identity.tables import Account
from core.mandate.chain.calldata import vault_address
from core.mandate.rules.terms import MandateTerms, rules_to_json, terms_to_json
from core.mandate.tables import Mandate
from tests.integration.chain_fixtures import CHAIN_ID, USDC, DeployedChain
from tests.integration.keeper.chaos.world import FALLEN, Site, World
from tests.personas import OWNER

DIGEST_AT = slice(141, 173)  # of a vault's code (VaultCodeLib)
SLOTS = 16  # more than a vault's plain ones
BATCH = 500
BOUGHT = 100 * USDC
LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
STOPPED = topic_of("Stopped")

Request = tuple[str, list[Any]]


def quick(chain: DeployedChain) -> Nodes:
    """The same anvil, whose calls are free: thousands of them are asked for here."""
    return Nodes([chain.anvil.url], calls_per_s=1_000_000)


@dataclass(slots=True)
class Population(World):
    """`settle` makes it; the first `due` vaults are those that a crash stops."""

    due: int = 0
    _calls: list[Request] = field(default_factory=list)

    def settle(self, database: Database, count: int, due: int) -> None:
        """`count` vaults, `due` of them at the venue that will fall."""
        self.due = due
        deployed = [self.chain, self._another_venue(), self._another_venue()]
        self._venues = [one.contracts["test_venue"] for one in deployed]
        moody = deployed[2].contracts["test_venue_adapter"]
        self._moody_adapter = moody, self.chain.rpc.call("eth_getCode", [moody, "latest"])
        terms: list[MandateTerms] = []
        for venue, numbers in enumerate((range(due), range(due, count))):
            terms += self._copies(deployed[venue], venue, numbers)
        for batch in _batches(self._calls, BATCH):
            self.chain.rpc.batch(batch)
        self.chain.rpc.call("evm_setAutomine", [False])
        self.chain.anvil.mine()
        self.floor = self.head.number
        self._write_rows(database, terms)

    def crash(self) -> None:
        self.mine([self.price(0, FALLEN)])

    def stops(self) -> int:
        """How many vaults have stopped, as the chain's logs say."""
        return len(
            self.chain.rpc.call(
                "eth_getLogs",
                [{"fromBlock": hex(self.floor), "toBlock": "latest", "topics": [STOPPED]}],
            )
        )

    def _copies(
        self, chain: DeployedChain, venue: int, numbers: Sequence[int]
    ) -> Iterator[MandateTerms]:
        """The terms of each; the first one is the vault that the others are copied from."""
        first = chain.terms(_public_id(numbers[0]), nonce=numbers[0] + 1)
        model = chain.create_vault(first)
        assert chain.buy(model, BOUGHT).status == 1
        code = bytes_of(chain.rpc.call("eth_getCode", [model, "latest"]))
        assert code[DIGEST_AT] == bytes_of(chain.digest(first)), (
            "a vault's code is laid out otherwise"
        )
        storage = [
            (hex(n), chain.rpc.call("eth_getStorageAt", [model, hex(n), "latest"]))
            for n in range(SLOTS)
        ]
        storage = [(slot, word) for slot, word in storage if int(word, 16)]
        usdc, place = chain.contracts["usdc"], chain.contracts["test_venue"]
        held = [
            (usdc, *_held(chain, usdc, model, first.budget_usdc - BOUGHT)),
            (place, *_held(chain, place, model, BOUGHT)),
        ]
        for number in numbers:
            terms = replace(first, public_id=_public_id(number), nonce=number + 1)
            address = (
                model if number == numbers[0] else self._copy(chain, terms, code, storage, held)
            )
            self.sites.append(Site(address, terms.stop_floor, venue, BOUGHT))
            yield terms

    def _copy(
        self,
        chain: DeployedChain,
        terms: MandateTerms,
        code: bytes,
        storage: Sequence[tuple[str, str]],
        held: Sequence[tuple[str, int, str]],
    ) -> str:
        address = vault_address(chain.contracts["factory"], chain.digest(terms))
        digest = bytes_of(chain.digest(terms))
        copied = code[: DIGEST_AT.start] + digest + code[DIGEST_AT.stop :]
        self._calls.append(("anvil_setCode", [address, "0x" + copied.hex()]))
        self._calls += [
            ("anvil_setStorageAt", [address, f"0x{int(slot, 16):064x}", word])
            for slot, word in storage
        ]
        self._calls += [
            ("anvil_setStorageAt", [of, _entry(address, slot), word]) for of, slot, word in held
        ]
        return address

    def _write_rows(self, database: Database, terms: Sequence[MandateTerms]) -> None:
        at, head = datetime.fromtimestamp(self.chain.now, UTC), self.head
        factory, rules = (
            bytes_of(self.chain.contracts["factory"]),
            rules_to_json(self.chain.rules()),
        )
        digests = [bytes_of(self.chain.digest(one)) for one in terms]
        with database.write() as session:
            owner = Account(
                kind="owner", name="owner", wallet_address=bytes_of(OWNER.address), created_at=at
            )
            session.add(owner)
            session.flush()
            mandates = [
                {
                    "public_id": one.public_id, "owner_id": owner.id, "open_board": False,
                    "status": "working", "market_mode": "testnet",
                    "purpose": "a crash", "budget_usdc_e6": one.budget_usdc,
                    "horizon_days": one.horizon_days,
                    "stop_floor_bps": one.stop_floor_bps, "payout_rule": {}, "allowed_targets": [],
                    "on_floor": "keep",
                    "per_tx_cap_usdc_e6": one.per_tx_cap, "daily_cap_usdc_e6": one.daily_cap,
                    "chain_id": CHAIN_ID,
                    "terms": terms_to_json(one), "rules": rules, "guard_targets": [],
                    "terms_digest": digest, "terms_version": 2,
                    "vault_address": bytes_of(site.address), "created_at": at, "updated_at": at,
                    "ends_at": datetime.fromtimestamp(one.ends_at, UTC),
                }
                for one, digest, site in zip(terms, digests, self.sites, strict=True)
            ]  # fmt: skip
            ids = list(
                session.scalars(
                    insert(Mandate).returning(Mandate.id, sort_by_parameter_order=True), mandates
                )
            )
            vaults = [
                {
                    "chain_id": CHAIN_ID, "address": bytes_of(site.address),
                    "created_block_hash": bytes_of(head.hash),
                    "created_number": head.number, "created_at": head.timestamp, "factory": factory,
                    "terms_digest": digest,
                    "public_id": one.public_id, "owner": bytes_of(OWNER.address),
                    "mandate_id": mandate_id,
                }
                for one, digest, site, mandate_id in zip(terms, digests, self.sites, ids,
                strict=True)
            ]  # fmt: skip
            session.execute(insert(Vault), vaults)


def _held(chain: DeployedChain, contract: str, holder: str, amount: int) -> tuple[int, str]:
    """(the slot of the mapping in which the contract keeps that, the word that stands there)."""
    for slot in range(SLOTS):
        word = chain.rpc.call("eth_getStorageAt", [contract, _entry(holder, slot), "latest"])
        if int(word, 16) == amount:
            return slot, str(word)
    raise AssertionError(f"{contract} keeps {amount} nowhere")


def _entry(key: str, slot: int) -> str:
    """Where Solidity keeps an address's entry of the mapping at that slot."""
    return "0x" + keccak(bytes_of(key).rjust(32, b"\0") + slot.to_bytes(32)).hex()


def _public_id(number: int) -> str:
    """As the service's ids are: m_ and ten letters of base 32."""
    return "m_crash" + "".join(LETTERS[number >> shift & 31] for shift in (20, 15, 10, 5, 0))


def _batches(requests: Sequence[Request], size: int) -> Iterator[list[Request]]:
    rest = iter(requests)
    while batch := list(islice(rest, size)):
        yield batch
