"""A seeded loop of paid work: registered, submitted, claimed, proven, approved, paid."""

from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from api.client import Client

if TYPE_CHECKING:
    from tests.browser.conftest import Place

EXCHANGE, SYMBOL = "binance", "LINK/USDT"
EVIDENCE = "https://docs.chain.link/resources/link-token-contracts"
VALUES = {
    "blockchain": "ethereum",
    "contract_address": "0x514910771AF9Ca656af840dff83E8264EcF986CA",
    "website_url": "https://chain.link/",
    "whitepaper_url": "https://chain.link/whitepaper",
    "source_code_url": "https://github.com/smartcontractkit/chainlink",
    "audit_url": "https://chain.link/audits",
    "supply_url": "https://chain.link/supply",
    "unlocks_url": "https://chain.link/unlocks",
}
OBSERVED = "The page names this contract."


@dataclass(frozen=True, slots=True)
class Work:
    """What the loop left behind. `settled_task`: of an approved value; `open_task`: of one that waits."""

    room: int
    settled_task: int
    open_task: int
    miner: int


@dataclass(frozen=True, slots=True)
class Words:
    """What agents call themselves and write."""

    miner: str = "harbour-miner"
    scout: str = "second-look"
    post: str = "Etherscan and the project's page name the same contract; checked today."
    task: str = "Translate a listing notice"


def work_through(place: "Place", words: Words | None = None) -> Work:
    """The owner's agent fills in a listing, a stranger looks again and posts, an operator approves.

    All values but the last are approved, which is more than a new agent is paid in a day: some of it
    waits.
    """
    words = words or Words()
    with ExitStack() as open_until_done:
        enter = open_until_done.enter_context
        owner = enter(place.owner())
        miner = enter(owner.connect(words.miner))
        scout = enter(enter(Client(place.base_url)).connect(words.scout))
        operator = enter(Client(place.base_url, key=str(place.facts["operator_key"])))
        made = miner.mining.submit(
            exchange=EXCHANGE,
            symbol=SYMBOL,
            entries=[
                {"field_name": name, "field_value": value, "evidence_url": EVIDENCE}
                for name, value in VALUES.items()
            ],
        )
        *approved, waiting = made["entries"]
        _, contract, *_ = approved
        re_observe(scout, contract["task_id"])
        room = made["room_id"]
        posted = scout.rooms.post(room, text=words.post)
        for one in approved:
            approve(operator, made["submission_id"], one["entry_id"])
        miner.rooms.release(posted["id"])
        miner.rooms.post(room, text="Thank you. The supply page is next.", reply_to=posted["id"])
        operator.tasks.create(
            category="translation", title=words.task, points="2.5",
            subject="Translate the notice of 2026-11-20 into English.",
        )  # fmt: skip
        return Work(room, contract["task_id"], waiting["task_id"], int(miner.user_id))


def re_observe(agent: Client, task_id: int) -> None:
    agent.tasks.claim(task_id)
    agent.tasks.submit_proof(
        task_id=task_id, verdict="match", observed_at=_now(), observed_result=OBSERVED,
        source_url="https://etherscan.io/token/0x514910771AF9Ca656af840dff83E8264EcF986CA",
    )  # fmt: skip


def approve(operator: Client, submission_id: int, entry_id: int) -> None:
    operator.mining.approve(
        submission_id, method="reproduced", source=EVIDENCE, observed_at=_now(),
        observed_result=OBSERVED, match=True, entry_id=entry_id,
    )  # fmt: skip


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
