"""Whom custody pays when secrets are stolen: nobody before the owner agrees or a day has passed,
and nobody whose link or secrets ended.
"""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount
from sqlalchemy import update

from core.hexes import hex_of
from core.identity.tables import Account as AccountRow
from keeper.send import Sender
from tests.integration.api.conftest import KEY, connect, link, login, reason, sign
from tests.integration.api.custody.conftest import NEW, TRANSFER, USDC, Stage
from tests.integration.keeper.conftest import KilledError
from tests.personas import GUARD


@dataclass
class Owned:
    """An owner's agent with a starter wallet of 100 USDC; `thief` is the wallet that was linked
    with the agent's stolen token.
    """

    stage: Stage
    wallet: LocalAccount
    thief: LocalAccount
    made: dict[str, Any]
    owner: dict[str, str]

    @property
    def id(self) -> int:
        return int(self.made["user_id"])

    @property
    def key(self) -> dict[str, str]:
        return {KEY: self.made["api_key"]}

    def link(self, wallet: LocalAccount) -> httpx.Response:
        answer: httpx.Response = link(self.stage.client, self.made["bearer_token"], wallet)
        return answer

    def confirm(self, wallet: LocalAccount) -> None:
        path = f"/agents/{self.id}/wallet/confirm"
        assert (
            self.stage.client.post(
                path, json={"wallet_address": wallet.address}, headers=self.owner
            ).status_code
            == 200
        )

    def rotate(self) -> None:
        self._evict("keys/rotate")

    def unlink(self) -> None:
        asked = {"wallet_address": self.wallet.address, "purpose": "unlink", "agent_id": self.id}
        message = self.stage.client.post("/auth/wallet/nonce", json=asked).json()["message"]
        self._evict("wallet/unlink", signature=sign(self.wallet, message))

    def recover(self) -> None:
        answer = self.stage.client.post(
            "/auth/agent/recover", json={"recovery_code": self.made["recovery_code"]}
        )
        assert answer.status_code == 200, answer.text
        self.made = answer.json()

    def _evict(self, path: str, **body: Any) -> None:
        answer = self.stage.client.post(
            f"/agents/{self.id}/{path}", json=body or None, headers=self.owner
        )
        assert answer.status_code == 200, answer.text
        self.made = answer.json()

    def paid(self, wallet: LocalAccount) -> int:
        return self.stage.balance(wallet.address)


@pytest.fixture
def owned(bare: Stage) -> Owned:
    wallet = Account.create()
    owner = login(bare.client, wallet)
    owned = Owned(bare, wallet, Account.create(), connect(bare.client, owner), owner)
    bare.provisioned(100 * USDC, owned.key)
    return owned


@pytest.fixture
def stolen(owned: Owned) -> Owned:
    """The thief's wallet has waited its day, without the day's passing on the chain."""
    assert owned.link(owned.thief).status_code == 200
    with owned.stage.database.write() as session:
        session.execute(
            update(AccountRow)
            .where(AccountRow.id == owned.id)
            .values(wallet_payable_at=AccountRow.wallet_linked_at)
        )
    return owned


def test_a_wallet_that_waits__is_paid_a_day_later(owned: Owned) -> None:
    stage = owned.stage
    linked = owned.link(owned.thief).json()
    early = stage.ask("40", owned.key)
    assert (reason(early), stage.requests()) == ((409, "wallet_waits"), (0, 0))
    assert early.json()["service"]["retry_at"] == linked["wallet_payable_at"]
    assert f"POST /agents/{owned.id}/wallet/confirm" in early.json()["detail"]
    stage.clock.pass_(hours=24, seconds=-1)
    assert reason(stage.ask("40", owned.key)) == (409, "wallet_waits")
    stage.clock.pass_(seconds=2)
    assert stage.ask("40", owned.key).status_code == 202


def test_a_wallet_that_the_owner_confirmed__is_paid_at_once(owned: Owned) -> None:
    own = Account.create()
    owned.link(own)
    owned.confirm(own)
    owned.stage.asked(of=owned.key)
    owned.stage.keeper().run()
    assert owned.paid(own) == 100 * USDC


def test_a_rotation_within_the_day__and_the_thiefs_wallet_is_never_paid(owned: Owned) -> None:
    owned.link(owned.thief)
    owned.rotate()
    owned.stage.clock.pass_(hours=25)
    assert reason(owned.stage.post(TRANSFER, owned.key)) == (409, "wallet_not_linked")


@pytest.mark.parametrize("evict", [Owned.rotate, Owned.unlink, Owned.recover])
def test_what_was_asked_for_before__fails_and_the_money_is_free_again(
    stolen: Owned, evict: Any
) -> None:
    stage = stolen.stage
    stage.asked(of=stolen.key)
    evict(stolen)
    keeper = stage.keeper()
    keeper.run()
    assert (stage.states(stolen.key), keeper.wire.sent, stolen.paid(stolen.thief)) == (
        ["failed"],
        [],
        0,
    )
    assert stage.seen(stolen.key)["available_usdc"] == "100.000000"
    keeper.run()
    assert stage.keepers.states() == [("custodial_transfer", "refused")]


@pytest.mark.parametrize("evict", [Owned.rotate, Owned.recover])
@pytest.mark.slow
def test_what_was_voided__is_asked_for_again_with_the_same_idempotency_key(
    owned: Owned, evict: Any
) -> None:
    """The first answer, queued, was replayed for ever, and nothing moved."""
    stage, own = owned.stage, Account.create()
    owned.link(own)
    owned.confirm(own)
    first = stage.post(TRANSFER, owned.key, key="all", amount_usdc=None)
    assert (
        stage.post(TRANSFER, owned.key, key="all", amount_usdc=None).headers["Idempotent-Replay"]
        == "true"
    )
    evict(owned)
    keeper = stage.keeper()
    keeper.run()
    again = stage.post(TRANSFER, owned.key, key="all", amount_usdc=None)
    assert (again.status_code, again.headers.get("Idempotent-Replay")) == (202, None)
    assert again.json()["transfer"]["id"] != first.json()["transfer"]["id"]
    keeper.run()
    assert owned.paid(own) == 100 * USDC


@pytest.mark.slow
def test_an_unlink_of_a_waiting_queue__and_the_right_wallet_is_paid(stolen: Owned) -> None:
    stage, own = stolen.stage, Account.create()
    stage.asked("60", stolen.key)
    stolen.unlink()
    assert reason(stage.post(TRANSFER, stolen.key)) == (409, "wallet_not_linked")
    stolen.link(own)
    stolen.confirm(own)
    keeper = stage.keeper()
    keeper.run()
    stage.asked(of=stolen.key)
    keeper.run()
    assert (stolen.paid(stolen.thief), stolen.paid(own)) == (0, 100 * USDC)


def test_the_same_wallet_linked_again__does_not_revive_what_was_asked_for(stolen: Owned) -> None:
    stage = stolen.stage
    stage.asked(of=stolen.key)
    stolen.unlink()
    stolen.link(stolen.thief)
    stolen.confirm(stolen.thief)
    stage.keeper().run()
    assert (stage.states(stolen.key), stolen.paid(stolen.thief)) == (["failed"], 0)


# The keeper's own look


def test_a_request_to_a_wallet_that_waits__is_not_signed_whoever_wrote_it(stolen: Owned) -> None:
    stage = stolen.stage
    stage.asked(of=stolen.key)
    later = stage.keepers.now() + timedelta(hours=24)
    with stage.database.write() as session:
        session.execute(
            update(AccountRow).where(AccountRow.id == stolen.id).values(wallet_payable_at=later)
        )
    keeper = stage.keeper()
    keeper.run()
    assert (stage.states(stolen.key), keeper.wire.sent, stolen.paid(stolen.thief)) == (
        ["queued"],
        [],
        0,
    )


def test_evicted_between_plan_and_signature__nothing_is_signed(stolen: Owned) -> None:
    stage = stolen.stage
    stage.asked(of=stolen.key)
    killed = stage.keeper(die_after="planned")
    with pytest.raises(KilledError):
        killed.run()
    killed.die()
    stolen.rotate()
    keeper = stage.keeper()
    keeper.run()
    keeper.run()
    assert (stage.states(stolen.key), keeper.wire.sent, stage.keepers.txs()) == (["failed"], [], [])


def test_evicted_while_it_is_being_signed__the_turn_is_not_written_and_nothing_is_sent(
    stolen: Owned,
) -> None:
    stage = stolen.stage
    stage.asked(of=stolen.key)

    keeper = stage.keepers.keeper(gas_signer=rotating_signer(stolen), outbox=stage.outbox())
    keeper.run()
    assert (keeper.wire.sent, stage.keepers.txs(), stolen.paid(stolen.thief)) == ([], [], 0)
    keeper.run()
    keeper.run()
    assert (stage.states(stolen.key), keeper.wire.sent) == (["failed"], [])


@pytest.mark.slow
def test_evicted_between_signature_and_sending__its_bytes_stay_here_and_the_nonce_is_filled(
    stolen: Owned,
) -> None:
    stage, own = stolen.stage, Account.create()
    stage.asked("60", stolen.key)
    killed = stage.keeper(die_after="signed")
    with pytest.raises(KilledError):
        killed.run()
    killed.die()
    (signed,) = stage.keepers.txs()
    stolen.unlink()
    stolen.link(own)
    stolen.confirm(own)
    stage.asked("40", stolen.key)
    keeper = stage.keeper()
    for _ in range(6):
        keeper.run()
        stage.chain.anvil.mine()
    keeper.run()
    assert hex_of(signed.raw) not in keeper.wire.sent
    assert (stolen.paid(stolen.thief), stolen.paid(own)) == (0, 40 * USDC)
    assert stage.states(stolen.key)[0] == "failed"


def rotating_signer(stolen: Owned) -> Any:
    """The gas key, during whose first signature the owner rotates."""

    class Slow:
        address = GUARD.signer.address
        rotate = staticmethod(stolen.rotate)

        def sign_transaction(self, transaction: dict[str, Any]) -> bytes:
            self.rotate()
            self.rotate = lambda: None  # type: ignore[method-assign, assignment]
            return GUARD.signer.sign_transaction(transaction)

    return Slow()


def test_evicted_between_commit_and_sending__its_bytes_are_not_sent(
    stolen: Owned, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, not_void = stolen.stage, Sender._not_void
    stage.asked("60", stolen.key)

    def late(sender: Sender, due: Any) -> Any:
        if not due:
            return []
        monkeypatch.undo()
        stolen.rotate()
        return not_void(sender, due)

    monkeypatch.setattr(Sender, "_not_void", late)
    keeper = stage.keeper()
    keeper.run()
    assert (len(stage.keepers.txs()), keeper.wire.sent, stolen.paid(stolen.thief)) == (1, [], 0)


def test_a_transfer_under_way_while_the_owner_rotates__is_refused_and_not_written(
    stolen: Owned,
) -> None:
    """The rotation comes while the call waits for a node."""
    stage, rotated = stolen.stage, []
    old = stolen.key

    class Waiting:
        def __init__(self, real: Any) -> None:
            self._real = real

        def __getattr__(self, name: str) -> Any:
            return getattr(self._real, name)

        def usdc_held(self, *args: Any) -> Any:
            if not rotated:
                rotated.append(stolen.rotate())
            return self._real.usdc_held(*args)

    stage.deps = replace(stage.deps, chain=Waiting(stage.deps.chain))
    stage.serve(NEW)
    answer = stage.post(TRANSFER, old)
    assert (reason(answer), stage.requests()) == ((401, "auth_invalid"), (0, 0))
