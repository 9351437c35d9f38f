"""What owners, agents, the keeper and the administrators do, at random: allowed, refused by the
contract, and against one another.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from core.chain.abi import call_by_signature, events_by_topic
from core.chain.blocks import BlockHeader
from core.mandate.chain import calldata, typed_data
from core.mandate.chain.calldata import Funding, VaultCall
from core.mandate.rules.terms import MandateTerms
from core.mandate.venues import test_venue
from tests.integration.chain_fixtures import CHAIN_ID, USDC, DeployedChain
from tests.integration.indexer.conftest import Issued
from tests.personas import AGENT, DEPLOYER, KEEPER, OPERATOR, OWNER, STRANGER, Persona

AGENTS = (AGENT, OPERATOR)
# A contract that emits what it is told to: the first word of the call data as topic, the rest as
# data.
#   size = calldatasize - 32; calldatacopy(0, 32, size); log1(0, size, calldataload(0))
MIMIC = "0x6012" + "8060093d393df3" + "6020360380602060003760003590" + "6000a100"
IMITATED = (
    "Deposited",
    "Executed",
    "Stopped",
    "VaultCreated",
    "AgentSet",
    "AdapterListed",
    "KeeperChanged",
    "TermsCancelled",
)
ROLE = "0x65d7a28e3265b37a6474929f336521b332c1681b933f6cb9f3376673440d862a"  # PAUSER_ROLE


@dataclass(frozen=True, slots=True)
class Deed:
    sender: Persona
    to: str
    data: str


@dataclass(slots=True)
class Place:
    """A mandate's terms and where its vault stands or will stand.

    `issued` None: terms of another service.
    """

    terms: MandateTerms
    vault: str
    digest: str
    issued: Issued | None


@dataclass(slots=True)
class Crowd:
    """`issue` writes a mandate down in the service before anything of it can be on the chain.

    While the service has no database, nobody issues one: vaults are then made of terms that it does
    not know.
    """

    chain: DeployedChain
    issue: Callable[[MandateTerms], Issued]
    mimic: str
    spare_adapters: tuple[str, ...]
    places: list[Place] = field(default_factory=list)
    has_database: bool = True

    @property
    def mandates(self) -> list[Issued]:
        return [place.issued for place in self.places if place.issued is not None]

    def act(self, luck: random.Random, head: BlockHeader) -> list[Deed]:
        """One deed, or a few that belong together."""
        often = (
            self._buy,
            self._buy,
            self._buy,
            self._over_cap,
            self._unlisted,
            self._batch,
            self._sell,
        )
        rarely = (self._new_agent, self._remove_agent, self._deposit, self._take_back, self._mark)
        rarely += (self._stranger, self._factory, self._adapter, self._imitate)
        seldom = (self._new_vault, self._stop, self._after_stop, self._cancel)
        kind = luck.choice(luck.choices((often, rarely, seldom), (6, 3, 1))[0])
        return kind(luck, luck.choice(self.places), head)

    def be_refused(self, luck: random.Random) -> list[Deed]:
        """A call above the cap, from the agent of the terms, to a vault that stands or is made once
        more.
        """
        place = luck.choice(self.places)
        again = [] if self.chain.reader.is_vault(place.vault) else self._create(place, fund=True)
        return [*again, Deed(AGENT, place.vault, self.chain.buy_data(101 * USDC))]

    # Vaults

    def populate(self, luck: random.Random, count: int) -> list[Deed]:
        """So many mandates with empty vaults: what befalls the factory befalls all of their
        ledgers.
        """
        return [deed for _ in range(count) for deed in self.open(luck, fund=False)]

    def open(self, luck: random.Random, *, is_ours: bool = True, fund: bool = True) -> list[Deed]:
        """New terms, and the vault made of them."""
        number = len(self.places)
        terms = self.chain.terms(
            f"m_chaos{number:05d}",
            nonce=luck.getrandbits(60),
            daily_cap=luck.choice((150, 300, 1_000)) * USDC,
        )
        digest = self.chain.digest(terms)
        issued = self.issue(terms) if is_ours else None
        place = Place(terms, self.chain.reader.predict_vault(digest), digest, issued)
        self.places.append(place)
        return self._create(place, fund=fund)

    def _create(self, place: Place, *, fund: bool) -> list[Deed]:
        """The same again is refused by the factory, or pays what is missing."""
        chain, terms, usdc = self.chain, place.terms, self.chain.contracts["usdc"]
        deeds, funding = [], Funding()
        if fund:
            amount, before = terms.budget_usdc, terms.ends_at
            deeds.append(
                Deed(
                    DEPLOYER,
                    usdc,
                    call_by_signature("mint(address,uint256)", [OWNER.address, amount]),
                )
            )
            signed = typed_data.receive_authorization(
                usdc, CHAIN_ID, OWNER.address, place.vault, amount, 0, before, place.digest
            ).digest
            funding = Funding(amount, 0, before, OWNER.signer.sign_digest(signed))
        data = calldata.create_vault(
            terms, chain.rules(), OWNER.signer.sign_digest(place.digest), funding
        )
        return [*deeds, Deed(DEPLOYER, chain.contracts["factory"], data)]

    def _new_vault(self, luck: random.Random, place: Place, head: BlockHeader) -> list[Deed]:
        if luck.random() < 0.3:
            return self._create(place, fund=luck.random() < 0.5)  # Lost in a reorg, it comes back.
        return self.open(
            luck, is_ours=luck.random() < 0.7 and self.has_database, fund=luck.random() < 0.6
        )

    def _cancel(self, luck: random.Random, place: Place, head: BlockHeader) -> list[Deed]:
        return [Deed(OWNER, self.chain.contracts["factory"], calldata.cancel_terms(place.terms))]

    # The owner

    def _deposit(self, luck: random.Random, place: Place, head: BlockHeader) -> list[Deed]:
        amount, usdc = luck.choice((100, 400, 1_000)) * USDC, self.chain.contracts["usdc"]
        return [
            Deed(
                DEPLOYER, usdc, call_by_signature("mint(address,uint256)", [OWNER.address, amount])
            ),
            Deed(OWNER, usdc, calldata.approve(place.vault, amount)),
            Deed(OWNER, place.vault, calldata.deposit(amount)),
        ]

    def _take_back(self, luck: random.Random, place: Place, head: BlockHeader) -> list[Deed]:
        amount = luck.randint(1, 120) * USDC
        return [
            Deed(
                OWNER,
                place.vault,
                calldata.withdraw(self.chain.contracts["usdc"], OWNER.address, amount),
            )
        ]

    def _new_agent(self, luck: random.Random, place: Place, head: BlockHeader) -> list[Deed]:
        named = [luck.choice(AGENTS) for _ in range(luck.randint(1, 2))]
        return [Deed(OWNER, place.vault, calldata.set_agent(agent.address)) for agent in named]

    def _remove_agent(self, luck: random.Random, place: Place, head: BlockHeader) -> list[Deed]:
        return [Deed(OWNER, place.vault, calldata.remove_agent())]

    def _stop(self, luck: random.Random, place: Place, head: BlockHeader) -> list[Deed]:
        return [
            Deed(
                luck.choice((OWNER, KEEPER, STRANGER, *AGENTS)),
                place.vault,
                calldata.stop("enough"),
            )
        ]

    def _after_stop(self, luck: random.Random, place: Place, head: BlockHeader) -> list[Deed]:
        sell = VaultCall(
            self.chain.contracts["test_venue_adapter"],
            0,
            test_venue.sell(luck.randint(1, 20) * USDC),
        )
        return [
            Deed(OWNER, place.vault, calldata.unwind([sell])),
            Deed(OWNER, place.vault, calldata.settle()),
        ]

    # The agents

    def _buy(self, luck: random.Random, place: Place, head: BlockHeader) -> list[Deed]:
        return [
            Deed(
                luck.choice((AGENT, AGENT, OPERATOR)),
                place.vault,
                self.chain.buy_data(luck.randint(1, 60) * USDC),
            )
        ]

    def _over_cap(self, luck: random.Random, place: Place, head: BlockHeader) -> list[Deed]:
        return [Deed(luck.choice(AGENTS), place.vault, self.chain.buy_data(101 * USDC))]

    def _unlisted(self, luck: random.Random, place: Place, head: BlockHeader) -> list[Deed]:
        call = VaultCall(self.chain.contracts["usdc"], 0, calldata.transfer(STRANGER.address, 1))
        return [Deed(AGENT, place.vault, calldata.execute(call))]

    def _batch(self, luck: random.Random, place: Place, head: BlockHeader) -> list[Deed]:
        adapter = self.chain.contracts["test_venue_adapter"]
        amounts = [luck.randint(1, 40) * USDC for _ in range(luck.randint(2, 4))]
        return [
            Deed(
                AGENT,
                place.vault,
                calldata.execute_batch(
                    [VaultCall(adapter, one, test_venue.buy(one)) for one in amounts]
                ),
            )
        ]

    def _sell(self, luck: random.Random, place: Place, head: BlockHeader) -> list[Deed]:
        call = VaultCall(
            self.chain.contracts["test_venue_adapter"],
            0,
            test_venue.sell(luck.randint(1, 20) * USDC),
        )
        return [Deed(AGENT, place.vault, calldata.execute(call))]

    def _stranger(self, luck: random.Random, place: Place, head: BlockHeader) -> list[Deed]:
        return [Deed(STRANGER, place.vault, self.chain.buy_data(USDC))]

    def _imitate(self, luck: random.Random, place: Place, head: BlockHeader) -> list[Deed]:
        """A log with the topic of one of ours from a contract that is none, listed as an adapter or
        not.
        """
        name = luck.choice(IMITATED)
        topic = next(topic for topic, event in events_by_topic().items() if event.name == name)
        words = "".join(luck.randbytes(32).hex() for _ in range(luck.randint(0, 5)))
        return [Deed(STRANGER, self.mimic, topic + words)]

    # Keeper and administrators

    def _mark(self, luck: random.Random, place: Place, head: BlockHeader) -> list[Deed]:
        return [Deed(KEEPER, place.vault, calldata.mark())]

    def _factory(self, luck: random.Random, place: Place, head: BlockHeader) -> list[Deed]:
        if luck.random() < 0.2:
            # Once the delay is over.
            return [Deed(STRANGER, self.chain.contracts["factory"], calldata.accept_keeper())]
        data = luck.choice(
            (
                calldata.propose_keeper(STRANGER.address),
                calldata.cancel_keeper_proposal(),
                call_by_signature("proposeGuard(address)", [STRANGER.address]),
                call_by_signature("grantRole(bytes32,address)", [ROLE, STRANGER.address]),
                call_by_signature("revokeRole(bytes32,address)", [ROLE, STRANGER.address]),
            )
        )
        return [Deed(DEPLOYER, self.chain.contracts["factory"], data)]

    def _adapter(self, luck: random.Random, place: Place, head: BlockHeader) -> list[Deed]:
        change = luck.choice((calldata.list_adapter, calldata.delist_adapter))
        return [
            Deed(
                DEPLOYER, self.chain.contracts["factory"], change(luck.choice(self.spare_adapters))
            )
        ]
