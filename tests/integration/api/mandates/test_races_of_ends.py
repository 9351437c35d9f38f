"""Every pair of {deploy, fund, stop, cancel, index}, in both orders and in one block, with and
without the vault in the record.

Whatever came first: nothing is said to have ended that the chain does not hold at a safe block, the
owner can always end it, and a vault that works is watched.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from core.chain.abi import function
from core.hexes import bytes_of
from core.keeper.views import watched_vaults
from core.mandate.chain import calldata
from core.mandate.chain.calldata import vault_address
from core.mandate.rules.lifecycle import OF_VAULT
from tests.integration.api.document.conftest import live  # noqa: F401 (fixture)
from tests.integration.api.document.live import Live
from tests.integration.chain_fixtures import BUDGET, CHAIN_ID
from tests.integration.indexer.conftest import follower, leadership, now_utc  # noqa: F401 (fixtures)
from tests.personas import AGENT, OWNER, Persona

ENDED = ("stopped", "settled", "cancelled")
Sent = list[tuple[Persona, Mapping[str, Any]]]


@dataclass
class Race:
    """One signed mandate."""

    live: Live
    mandate_id: str
    digest: str

    @property
    def path(self) -> str:
        return f"/mandates/{self.mandate_id}"

    @property
    def vault(self) -> str:
        return vault_address(self.live.deployed.contracts["factory"], self.digest)

    @property
    def status(self) -> str:
        return str(self.live.read(self.mandate_id)["mandate"]["status"])

    # Who races: each asks the API and hands over what is to be sent

    def deploy(self) -> Sent:
        return self._built("deploy-call")

    def fund(self) -> Sent:
        if self.live.read(self.mandate_id)["mandate"]["vault_address"] is None:
            return self._built("deploy-call", fund="approve")
        return self._built("deposit-call", amount_usdc="1000")

    def _built(self, path: str, **query: Any) -> Sent:
        answer = self.live.stage.call("GET", f"{self.path}/{path}", self.live.stage.owner, **query)
        return (
            [(OWNER, call) for call in answer.json().get("calls", [answer.json()])]
            if answer.status_code == 200
            else []
        )

    def stop(self) -> Sent:
        return self._asked("stop", self.live.stage.agent, AGENT) + self._asked(
            "stop", self.live.stage.owner, OWNER
        )

    def cancel(self) -> Sent:
        return self._asked("cancel", self.live.stage.owner, OWNER)

    def _asked(self, path: str, who: dict[str, str], sender: Persona) -> Sent:
        """cancelTerms and the stop, as the answer's own words say: either may come too late."""
        answer = self.live.stage.call("POST", f"{self.path}/{path}", who, {})
        calls = [answer.json().get(name) for name in ("cancel_call", "call")]
        return [(sender, call) for call in calls if call is not None and call["data"] is not None]

    def index(self) -> Sent:
        self.live.follower.catch_up()
        return []

    # The block

    def mine(self, sent: Sent) -> None:
        """All of it in one block, in this order for each sender."""
        chain = self.live.deployed
        chain.rpc.call("evm_setAutomine", [False])
        for sender, call in sent:
            nonce = chain.reader.transaction_count(sender.address, "pending")
            chain.rpc.call(
                "eth_sendRawTransaction", [chain.sign(sender, call["to"], call["data"], nonce)]
            )
        chain.anvil.mine()
        chain.rpc.call("evm_setAutomine", [True])

    # What is true

    def said_by_chain(self, at: Any) -> str:
        reader = self.live.deployed.reader
        if reader.code_at(self.vault, at):
            return OF_VAULT[reader.status(self.vault, at)]
        view = function("MandateVaultFactory", "isCancelled")
        answer = reader.call(reader.contracts["factory"], view.encode(self.digest), at)
        return "cancelled" if any(answer) else "signed"

    def check(self) -> None:
        """What is said now is not ahead of the chain; an end that was said for terms without money
        is safe.
        """
        status = self.status
        if status in ENDED:
            assert self.said_by_chain("latest") == status
            assert status == "stopped" or self.said_by_chain("safe") == status

    def check_safe(self) -> None:
        """All is mined, safe and in the record, which says the same as the chain."""
        truth, read = self.said_by_chain("latest"), self.live.read(self.mandate_id)
        assert read["mandate"]["status"] == truth
        assert self.live.stage.faults(self.mandate_id) == []
        has_vault = bool(self.live.deployed.reader.code_at(self.vault))
        assert read["chain_state"]["stopped"] is ((truth == "stopped") if has_vault else None)
        assert self.vault in self._watched() or not has_vault or truth == "stopped"

    def _watched(self) -> set[str]:
        with self.live.follower.database.read() as session:
            return {one.vault for one in watched_vaults(session, CHAIN_ID, now_utc())}

    def end(self) -> None:
        """By the calls that the API gives the owner now."""
        if self.status not in ENDED:
            self.mine(self._asked("stop", self.live.stage.owner, OWNER))


RACERS: dict[str, Callable[[Race], Sent]] = {
    "deploy": Race.deploy,
    "fund": Race.fund,
    "stop": Race.stop,
    "cancel": Race.cancel,
    "index": Race.index,
}


def finish(races: Sequence[Race]) -> None:
    """Everything comes to rest, and then the owner ends what has not ended."""
    follow = races[0].live.follower
    follow.catch_up()
    for race in races:
        race.check()
    follow.be_safe()
    for race in races:
        race.check_safe()
        race.end()
    follow.be_safe()
    for race in races:
        race.check_safe()
        assert race.status in ENDED


def start(live: Live, *, is_seen: bool) -> Race:
    """`is_seen`: the vault is made without money, and the indexer has it."""
    live.deployed.mint(OWNER.address, BUDGET)
    mandate_id = live.stage.signed()
    race = Race(live, mandate_id, live.owners(mandate_id, "terms")["digest"])
    if is_seen:
        race.mine(race.deploy())
        live.follower.catch_up()
    return race


@pytest.mark.slow
@pytest.mark.parametrize("is_seen", [False, True])
@pytest.mark.parametrize("first", RACERS)
def test_each_pair__one_after_the_other_or_in_one_block__says_no_more_than_the_chain(
    live: Live, first: str, is_seen: bool
) -> None:
    races = list[Race]()
    for second in sorted(RACERS.keys() - {first}):
        for is_one_block in (False, True) if "index" not in (first, second) else (False,):
            race = start(live, is_seen=is_seen)
            sent = RACERS[first](race)
            if not is_one_block:
                race.mine(sent)
                sent = []
            race.check()
            race.mine(sent + RACERS[second](race))
            race.check()
            races.append(race)
    finish(races)


@pytest.mark.slow
@pytest.mark.parametrize("path", ["stop", "cancel"])
def test_the_indexer_at_work_while_the_owner_asks__ends_nothing_in_the_record(
    live: Live, path: str
) -> None:
    """Both at once, on one mandate's rows: the request waits for the block, or the block for the
    request.
    """
    races = [start(live, is_seen=False) for _ in range(3)]
    for race in races:
        race.mine(race.fund())
        with ThreadPoolExecutor(2) as both:
            asked, indexed = both.submit(RACERS[path], race), both.submit(RACERS["index"], race)
            sent = asked.result()
            indexed.result()
        assert race.status == "working"
        race.mine(sent)
    finish(races)


def test_an_agent_that_stops_before_the_money_lands__has_ended_nothing(live: Live) -> None:
    """By the record alone it could: the vault that came with the next block worked, unwatched,
    under a record that said stopped.
    """
    race = start(live, is_seen=False)
    answer = live.stage.post(f"{race.path}/stop", live.stage.agent)
    assert answer["status"] == "signed"
    live.deployed.send(AGENT, answer["call"]["to"], answer["call"]["data"])
    race.mine(race.fund())
    live.follower.catch_up()
    assert (race.status, race.said_by_chain("latest")) == ("working", "working")
    stop = live.owners(race.mandate_id, "stop-call")
    assert (stop["to"], bytes_of(stop["data"])) == (race.vault, bytes_of(calldata.stop("owner")))
    live.send(OWNER, stop)
    assert race.status == "stopped"
