"""A vault pays for a page of this service, end to end: execute-call, the agent sends, X402Paid, the
page; and what the guard refuses.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from eth_account import Account

from api.areas.mandates.service import paying as paying_service
from api.areas.mandates.service.paying import USABLE_S
from api.kernel.limits import Limits
from api.kernel.operation import Deps
from api.main import create_app
from api.payments.own_settler import OwnSettler
from api.payments.payment_config import PaymentConfig
from api.shared.signers import OwnSigners
from core.chain.signer import LocalKeySigner
from core.db.engine import Database
from core.mandate import queries as mandates
from core.mandate.rules.rows import REFUSAL_REPORTS_PER_DAY
from core.payments import guard_signatures
from tests.integration.api.conftest import BASE_URL, Clock
from tests.integration.api.in_process import AppClient
from tests.integration.api.mandates.stage import Stage, StageChain, reason
from tests.integration.api.payments.shop import (
    GAS,
    NETWORK,
    OTHER_PAGE,
    PAGE,
    PRICE,
    decoded,
    encoded,
)
from tests.integration.chain_fixtures import BUDGET, DeployedChain
from tests.integration.indexer.conftest import Follower, follower, leadership  # noqa: F401 (fixtures)
from tests.personas import AGENT, GUARD, OWNER, STRANGER

SAFE_AFTER_BLOCKS = 70
TILL, THEIRS = Account.create().address, Account.create().address
RESOURCE = f"{BASE_URL}{PAGE}"
THEIR_HOST = "https://api.example.com"
THEIR_TARGETS = [{"kind": "x402", "hosts": ["api.example.com"], "payees": [THEIRS]}]


@pytest.fixture
def paying(deps: Deps, deployed: DeployedChain) -> Deps:
    payment_config = PaymentConfig(
        settler=OwnSettler(LocalKeySigner(STRANGER.private_key), deployed.reader, NETWORK, GAS),
        network=NETWORK,
        asset=deployed.contracts["usdc"],
        pay_to=TILL,
        gas=GAS,
    )
    limits = Limits(free_reads_per_day=0, welcome_credits=0)
    return (
        replace(deps, chain=deployed.reader, contracts=deployed.contracts, limits=limits)
        .with_part(PaymentConfig, payment_config)
        .with_part(OwnSigners, replace(deps.parts.of(OwnSigners), guard=GUARD.signer))
    )


@pytest.fixture
def stage(paying: Deps, database: Database, clock: Clock, chain: StageChain) -> Iterator[Stage]:
    clock.now = datetime.now(UTC)
    with AppClient(create_app(paying), base_url=BASE_URL) as client:
        owner, agent = Account.from_key(OWNER.private_key), Account.from_key(AGENT.private_key)
        yield Stage(client, database, clock, chain, owner_wallet=owner, agent_wallet=agent).enter()


def working(stage: Stage, deployed: DeployedChain, follower: Follower, **draft: Any) -> str:
    deployed.mint(OWNER.address, BUDGET)
    mandate_id = stage.signed(**draft)
    for one in stage.get(f"/mandates/{mandate_id}/deploy-call", stage.owner, fund="approve")[
        "calls"
    ]:
        deployed.succeed(OWNER, one["to"], one["data"])
    follower.catch_up()
    return mandate_id


def ask(stage: Stage, mandate_id: str, **body: Any) -> Any:
    sent = {"resource": RESOURCE, "amount_usdc": "0.010000"} | body
    return stage.call(
        "POST",
        f"/mandates/{mandate_id}/execute-call",
        stage.agent,
        {k: v for k, v in sent.items() if v is not None},
    )


def ask_theirs(stage: Stage, mandate_id: str, n: int = 0, **body: Any) -> Any:
    """A payment for one of a stranger's pages, of a mandate with THEIR_TARGETS: it may cost
    anything.
    """
    return ask(stage, mandate_id, **{"resource": f"{THEIR_HOST}/{n}", "pay_to": THEIRS} | body)


def offer(stage: Stage, path: str = PAGE) -> dict[str, Any]:
    accepts = stage.client.get(path, headers=stage.agent).json()["accepts"]
    return next(dict(one) for one in accepts if one["scheme"] == "vault")


def present(stage: Stage, tx_hash: str, path: str = PAGE) -> Any:
    payment = {
        "x402Version": 2,
        "accepted": offer(stage, path),
        "payload": {"transaction": tx_hash},
    }
    return stage.client.get(path, headers={**stage.agent, "PAYMENT-SIGNATURE": encoded(payment)})


def test_a_vault__pays_for_a_page_and_the_page_is_served_once(
    stage: Stage, deployed: DeployedChain, follower: Follower
) -> None:
    mandate_id = working(stage, deployed, follower)
    answer = ask(stage, mandate_id)
    assert answer.status_code == 200, answer.text
    call = answer.json()
    assert (call["check"]["ok"], call["check"]["source"]) == (True, "chain")
    wanted = offer(stage)
    assert call["target"] == wanted["extra"]["adapter"] == deployed.contracts["x402_adapter"]
    assert call["payment"]["pay_to"] == wanted["payTo"] == TILL
    assert call["payment"]["resource_hash"] == wanted["extra"]["resourceHash"]
    assert call["payment"]["guard"] == GUARD.address
    before = deployed.reader.usdc_balance(TILL)
    tx_hash = deployed.succeed(AGENT, call["to"], call["data"]).tx_hash
    assert deployed.reader.usdc_balance(TILL) - before == PRICE
    follower.catch_up()
    read = stage.get(f"/mandates/{mandate_id}", stage.agent)
    assert (read["progress"]["cash"], stage.faults(mandate_id)) == ("999.990000", [])
    assert [step["resource"] for step in read["steps"] if step["code"] == "research_paid"] == [
        RESOURCE
    ]
    assert present(stage, tx_hash).json()["service"]["reason"] == "settlement_pending"
    deployed.anvil.mine(SAFE_AFTER_BLOCKS)
    served = present(stage, tx_hash)
    assert (served.status_code, served.text.splitlines()[0]) == (200, "# One turn of the loop")
    assert decoded(served.headers["PAYMENT-RESPONSE"])["transaction"] == tx_hash
    assert present(stage, tx_hash).json()["service"]["reason"] == "payment_already_used"
    assert present(stage, tx_hash, OTHER_PAGE).json()["service"]["reason"] == "payment_invalid"


def test_one_signature__is_sent_once(
    stage: Stage, deployed: DeployedChain, follower: Follower
) -> None:
    call = ask(stage, working(stage, deployed, follower)).json()
    assert deployed.send(AGENT, call["to"], call["data"]).status == 1
    assert deployed.send(AGENT, call["to"], call["data"]).status == 0


@pytest.mark.slow
def test_a_host_or_payee_off_the_list__is_refused_and_noted_and_nothing_is_signed(
    stage: Stage, deployed: DeployedChain, follower: Follower
) -> None:
    mandate_id = working(stage, deployed, follower)
    refused = [
        ask(stage, mandate_id, resource="https://api.example.com/report", pay_to=TILL),
        ask(stage, mandate_id, pay_to=AGENT.address),
    ]
    assert [reason(one) for one in refused] == [(403, "server_guard")] * 2
    assert (
        "does not list the host api.example.com; it lists testserver" in refused[0].json()["detail"]
    )
    assert (
        f"does not list the payee {AGENT.address}; it lists {TILL}" in refused[1].json()["detail"]
    )
    assert all("guard_signature" not in one.text for one in refused)
    read = stage.get(f"/mandates/{mandate_id}", stage.agent)
    notes = [step for step in read["steps"] if step.get("code") == "refused"]
    assert (len(notes), read["limits"]["breaches"]["refusals"]["count"]) == (2, 2)
    again = ask(stage, mandate_id, resource="https://api.example.com/report", pay_to=TILL)
    assert reason(again) == (403, "server_guard")
    stage.later(hours=1)
    ask(stage, mandate_id, resource="https://api.example.com/report", pay_to=TILL)
    read = stage.get(f"/mandates/{mandate_id}", stage.agent)
    assert read["limits"]["breaches"]["refusals"]["count"] == 3, (
        "one note a resource and hour: each ask wrote one"
    )
    assert stage.faults(mandate_id) == []


@pytest.mark.slow
def test_the_guards_notes__end_with_the_refusals_that_a_day_takes(
    stage: Stage, deployed: DeployedChain, follower: Follower
) -> None:
    """An agent could write a row for each call that it made, without end."""
    mandate_id = working(stage, deployed, follower)
    for n in range(REFUSAL_REPORTS_PER_DAY + 1):
        last = ask(stage, mandate_id, resource=f"https://api.example.com/{n}", pay_to=TILL)
        assert reason(last) == (403, "server_guard")
    assert last.json()["detail"].endswith("The record accepts no more refusals today.")
    count = stage.get(f"/mandates/{mandate_id}", stage.agent)["limits"]["breaches"]["refusals"][
        "count"
    ]
    assert count == REFUSAL_REPORTS_PER_DAY


NOT_SOLD = (
    BASE_URL, f"{BASE_URL}/", f"{BASE_URL}/mandate-wallet/door", f"{BASE_URL}/playbook/loop",
    f"{BASE_URL}/playbooks/size/nope.md",
    f"{BASE_URL}/playbooks/nope/loop.md", f"{BASE_URL}/../x", f"{BASE_URL}/x/..{PAGE}",
    f"{BASE_URL}/{PAGE}", f"{RESOURCE}/",
    f"{RESOURCE}?x=1", f"{RESOURCE}?", RESOURCE.replace("http:", "HTTP:"), RESOURCE.replace("http:",
        "https:"),
    RESOURCE.replace("testserver", "TestServer"), RESOURCE.replace("testserver", "testserver:80"),
    RESOURCE.replace("playbooks", "%70laybooks"), RESOURCE.replace("loop", "l%6Fop"),
    RESOURCE.replace("loop", "LOOP"),
)  # fmt: skip


def test_what_this_service_does_not_sell__is_not_signed_for(
    stage: Stage, deployed: DeployedChain, follower: Follower
) -> None:
    """The vault was debited, and no call could be served for it."""
    mandate_id = working(stage, deployed, follower)
    for url in NOT_SOLD:
        refused = ask(stage, mandate_id, resource=url, pay_to=TILL)
        assert reason(refused) == (400, "invalid_parameter"), url
        assert refused.json()["detail"].startswith(
            "resource: nothing is sold at this URL; write it exactly as in resource.url of the 402."
        ), url
        assert "GET /playbooks/{pb}/{path} for 0.010000 USDC" in refused.json()["detail"], url


def test_another_amount_than_the_price__is_not_signed(
    stage: Stage, deployed: DeployedChain, follower: Follower
) -> None:
    mandate_id = working(stage, deployed, follower)
    for amount in ("0.009999", "0.009", "0.010001", "1"):
        refused = ask(stage, mandate_id, amount_usdc=amount)
        assert reason(refused) == (400, "invalid_number"), amount
        assert refused.json()["detail"].startswith(
            "amount_usdc: this resource costs 0.010000 USDC; write exactly that"
        ), amount


@pytest.mark.slow
def test_another_payee_of_this_services_page__is_not_signed_for(
    stage: Stage, deployed: DeployedChain, follower: Follower
) -> None:
    targets = [{"kind": "x402", "hosts": ["testserver"], "payees": [THEIRS]}]
    refused = ask(stage, working(stage, deployed, follower, allowed_targets=targets), pay_to=THEIRS)
    assert reason(refused) == (400, "invalid_parameter")
    assert refused.json()["detail"] == f"pay_to: this resource costs 0.010000 USDC, paid to {TILL}."


@pytest.mark.slow
def test_a_payment_that_is_asked_for_again__has_the_same_signature_and_counts_once(
    stage: Stage, deployed: DeployedChain, follower: Follower
) -> None:
    """An answer that was lost could only be asked for again as another payment, which counted
    too.
    """
    mandate_id = working(stage, deployed, follower)
    limit(stage, per_day_usd="0.01")
    first, again = ask(stage, mandate_id).json(), ask(stage, mandate_id)
    assert (again.status_code, again.json()["payment"], again.json()["data"]) == (
        200,
        first["payment"],
        first["data"],
    )
    with stage.database.read() as session:
        assert len(guard_signatures.outstanding(session, int(stage.agent_id), 0)) == 1
    other = ask(stage, mandate_id, resource=f"{BASE_URL}{OTHER_PAGE}")
    assert reason(other) == (403, "spend_limit_reached")


def test_once_it_is_mined__the_same_is_paid_by_another_signature(
    stage: Stage, deployed: DeployedChain, follower: Follower
) -> None:
    """At once: the chain is asked, whatever the record has."""
    mandate_id = working(stage, deployed, follower)
    calls = list[dict[str, Any]]()
    for _ in range(3):
        calls.append(ask(stage, mandate_id).json())
        deployed.succeed(AGENT, calls[-1]["to"], calls[-1]["data"])
    assert len({one["payment"]["nonce"] for one in calls}) == 3
    assert deployed.reader.usdc_balance(TILL) == 3 * PRICE


@pytest.mark.slow
@pytest.mark.parametrize(("left_s", "is_same"), [(USABLE_S, True), (USABLE_S - 1, False)])
def test_a_signature_that_is_about_to_end__is_not_answered_again(
    stage: Stage,
    deployed: DeployedChain,
    follower: Follower,
    left_s: int,
    is_same: bool,
) -> None:
    mandate_id = working(stage, deployed, follower)
    first = ask(stage, mandate_id).json()["payment"]
    deployed.rpc.call("evm_setNextBlockTimestamp", [first["deadline"] - left_s])
    deployed.anvil.mine()
    follower.catch_up()
    assert (ask(stage, mandate_id).json()["payment"] == first) is is_same


@pytest.mark.slow
def test_the_same_payment_asked_for_at_once__is_signed_once(
    stage: Stage, deployed: DeployedChain, follower: Follower
) -> None:
    mandate_id = working(stage, deployed, follower)
    limit(stage, per_day_usd="0.01")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ask(stage, mandate_id), range(8)))
    assert [one.status_code for one in answers] == [200] * 8
    assert len({one.json()["data"] for one in answers}) == 1


def test_the_same_payment_that_uses_the_limit_up_meanwhile__is_the_answer(
    stage: Stage, deployed: DeployedChain, follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    mandate_id = working(stage, deployed, follower)
    limit(stage, per_day_usd="0.01")
    real, inside = paying_service.require_within_key_limits, list[Any]()

    def beside(*arguments: Any) -> Any:
        if not inside:
            inside.append(None)
            with ThreadPoolExecutor(1) as other:
                inside[0] = other.submit(ask, stage, mandate_id).result()
        return real(*arguments)

    monkeypatch.setattr(paying_service, "require_within_key_limits", beside)
    answer = ask(stage, mandate_id)
    assert (inside[0].status_code, answer.status_code) == (200, 200)
    assert answer.json()["data"] == inside[0].json()["data"]


def test_the_same_payment_asked_for_in_two_seconds_at_once__is_signed_once(
    paying: Deps, stage: Stage, deployed: DeployedChain, follower: Follower
) -> None:
    """The second call looks before the first has counted, and is a block later."""
    mandate_id = working(stage, deployed, follower)
    inside = list[Any]()

    class Slow:
        """During its first signature the same payment is asked for in a later block, and answered."""

        address = GUARD.signer.address

        def sign_digest(self, digest: bytes) -> bytes:
            if not inside:
                inside.append(None)
                deployed.rpc.call("evm_increaseTime", [7])
                deployed.anvil.mine()
                follower.catch_up()
                with ThreadPoolExecutor(1) as other:
                    inside[0] = other.submit(ask, stage, mandate_id).result().json()["payment"]
            return GUARD.signer.sign_digest(digest)

    with AppClient(
        create_app(paying.with_part(OwnSigners, OwnSigners(Slow()))), base_url=BASE_URL
    ) as client:
        stage.client = client
        answer = ask(stage, mandate_id).json()
    assert answer["payment"] == inside[0]
    assert answer["payment"]["guard_signature"].removeprefix("0x") in answer["data"]
    with stage.database.read() as session:
        assert len(guard_signatures.outstanding(session, int(stage.agent_id), 0)) == 1


def test_a_listed_host_and_payee__are_paid_by_their_own(
    stage: Stage, deployed: DeployedChain, follower: Follower
) -> None:
    mandate_id = working(stage, deployed, follower, allowed_targets=THEIR_TARGETS)
    call = ask(
        stage,
        mandate_id,
        resource="https://api.example.com/report?id=1",
        pay_to=THEIRS,
        amount_usdc="2.5",
    ).json()
    assert call["check"]["ok"] is True
    deployed.succeed(AGENT, call["to"], call["data"])
    assert deployed.reader.usdc_balance(THEIRS) == 2_500_000
    assert reason(ask(stage, mandate_id, pay_to=TILL)) == (403, "server_guard")


def test_lists_that_the_owner_did_not_sign__count_for_nothing(
    stage: Stage, deployed: DeployedChain, follower: Follower
) -> None:
    mandate_id = working(stage, deployed, follower)
    with stage.database.write() as session:
        found = mandates.find_mandate(session, mandate_id)
        assert found is not None
        found.guard_targets = [{"kind": "x402", "hosts": [], "payees": [AGENT.address]}]
    assert (
        "differ from those that its owner signed"
        in ask(stage, mandate_id, pay_to=AGENT.address).json()["detail"]
    )


def refused_by_check(answer: Any, why: str) -> None:
    assert reason(answer) == (403, "server_guard")
    assert f"The vault would refuse this payment: {why}." in answer.json()["detail"]
    assert "guard_signature" not in answer.text


@pytest.mark.parametrize("dry_run", [True, False])
def test_above_a_cap__nothing_is_signed_and_nothing_counts(
    stage: Stage,
    deployed: DeployedChain,
    follower: Follower,
    dry_run: bool,
) -> None:
    """A signature that the check said no to was out all the same, for a day on which the cap has
    room again.
    """
    mandate_id = working(stage, deployed, follower, allowed_targets=THEIR_TARGETS)
    limit(stage, per_day_usd="300")
    refused_by_check(
        ask_theirs(stage, mandate_id, amount_usdc="200.000001", dry_run=dry_run), "OverPerTxCap"
    )
    assert ask_theirs(stage, mandate_id, amount_usdc="200", dry_run=dry_run).status_code == 200, (
        "the refused one counts nothing"
    )


@pytest.mark.slow
def test_another_guard_than_the_factorys__signs_nothing(
    paying: Deps, stage: Stage, deployed: DeployedChain, follower: Follower
) -> None:
    mandate_id = working(stage, deployed, follower)
    with AppClient(
        create_app(paying.with_part(OwnSigners, OwnSigners(STRANGER.signer))), base_url=BASE_URL
    ) as client:
        stage.client = client
        refused_by_check(ask(stage, mandate_id), "BadSignature")


ASKED_WRONGLY: Sequence[tuple[dict[str, Any], str]] = [
    ({"resource": "not a url", "pay_to": TILL}, "resource"),
    ({"resource": "https://api.example.com/"}, "pay_to"),
    ({"amount_usdc": "0"}, "amount_usdc"),
    ({"target": TILL}, "resource"),
    ({"function": "pay()"}, "resource"),
    ({"resource": None, "pay_to": TILL}, "target"),
    ({"resource": None}, "target"),
]


def test_a_payment_that_is_asked_for_wrongly__names_the_field(
    stage: Stage, deployed: DeployedChain, follower: Follower
) -> None:
    mandate_id = working(stage, deployed, follower)
    for body, field in ASKED_WRONGLY:
        answer = ask(stage, mandate_id, **body)
        assert (answer.status_code, answer.json()["detail"].split(":")[0]) == (400, field), body


@pytest.mark.slow
def test_without_a_guard__nothing_is_signed(
    paying: Deps, stage: Stage, deployed: DeployedChain, follower: Follower
) -> None:
    mandate_id = working(stage, deployed, follower)
    with AppClient(
        create_app(paying.with_part(OwnSigners, OwnSigners(None))), base_url=BASE_URL
    ) as client:
        stage.client = client
        assert reason(ask(stage, mandate_id)) == (503, "temporarily_unavailable")


def test_rotated_while_the_guard_signs__the_old_key_gets_no_signature(
    paying: Deps, stage: Stage, deployed: DeployedChain, follower: Follower
) -> None:
    mandate_id = working(stage, deployed, follower)

    class Rotating:
        """A guard during whose signature the owner replaces the agent's secrets."""

        address = GUARD.signer.address

        def sign_digest(self, digest: bytes) -> bytes:
            with ThreadPoolExecutor(1) as owner:
                rotated = owner.submit(
                    stage.client.post, f"/agents/{stage.agent_id}/keys/rotate", headers=stage.owner
                ).result()
            assert rotated.status_code == 200, rotated.text
            return GUARD.signer.sign_digest(digest)

    with AppClient(
        create_app(paying.with_part(OwnSigners, OwnSigners(Rotating()))), base_url=BASE_URL
    ) as client:
        stage.client = client
        refused = ask(stage, mandate_id)
    assert reason(refused) == (401, "auth_invalid")
    assert "guard_signature" not in refused.text


def limit(stage: Stage, **limits: Any) -> None:
    answer = stage.client.put(
        f"/agents/{stage.agent_id}/scopes", json={"scopes": None, **limits}, headers=stage.owner
    )
    assert answer.status_code == 200, answer.text
