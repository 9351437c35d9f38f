"""Makers ask for the vault of their pilot; operators move the request (docs/fund.md)."""

from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import select, update

from api.kernel.operation import Deps
from core.fund.rules.frozen import FundKind
from core.fund.tables import FundCreationMove, FundCreationRequest, FundVault
from core.identity.tables import Account
from tests.integration.api.conftest import Clock, Limit, at_once, reason
from tests.integration.api.fund.conftest import ADDRESS, Follower, Office, follower_of, vault_with

DAYS_30_S = 30 * 86_400


@dataclass
class Maker:
    """A follower that has a vault of its own."""

    who: Follower
    office: Office
    vault_id: int

    @property
    def path(self) -> str:
        return f"/fund/vaults/{self.vault_id}"

    def ask(self) -> Any:
        return self.who.post(f"{self.path}/request-creation", {})

    def read(self) -> Any:
        return self.who.get(f"{self.path}/creation-request")

    def move(self, request_id: int, name: str, **body: Any) -> Any:
        return self.office.post(f"/admin/fund/vault-requests/{request_id}/{name}", body)

    def waiting(self) -> list[tuple[int, str]]:
        answer = self.office.client.get(
            "/admin/queue", params={"kind": "vault_request"}, headers=self.office.headers
        )
        found = [one["vault_request"] for one in answer.json()["items"]]
        return [(one["vault_id"], one["state"]) for one in found]


def owned(deps: Deps, clock: Clock, maker_id: int, kind: FundKind = FundKind.SPOT) -> int:
    vault_id = vault_with(deps, clock, kind)
    with deps.database.write() as session:
        session.execute(update(FundVault).where(FundVault.id == vault_id).values(maker_id=maker_id))
    return vault_id


@pytest.fixture
def maker(follower: Follower, office: Office, deps: Deps, clock: Clock, markets: None) -> Maker:
    """Of a pilot that is 30 days old."""
    vault_id = owned(deps, clock, follower.user_id)
    clock.pass_(seconds=DAYS_30_S)
    return Maker(follower, office, vault_id)


def test_a_request__is_approved_and_created_with_its_address(maker: Maker, clock: Clock) -> None:
    asked = maker.ask()
    assert (asked.status_code, asked.json()["state"]) == (201, "requested")
    request_id = asked.json()["request_id"]
    assert maker.waiting() == [(maker.vault_id, "requested")]
    assert maker.move(request_id, "approve").json()["state"] == "approved"
    assert maker.waiting() == [(maker.vault_id, "approved")]
    clock.pass_(seconds=60)
    created = maker.move(request_id, "mark-created", address=ADDRESS)
    assert (created.status_code, created.json()["state"]) == (200, "created")
    assert maker.waiting() == []
    said = maker.read().json()
    assert said == created.json()
    assert (said["address"], said["reason"], said["rejected_at"]) == (ADDRESS, None, None)
    assert said["approved_at"] < said["created_at"]


def test_asking_again__is_the_same_request_also_once_it_is_created(maker: Maker) -> None:
    first = maker.ask().json()
    again = maker.ask()
    assert (again.status_code, again.json()) == (200, first)
    maker.move(first["request_id"], "approve")
    maker.move(first["request_id"], "mark-created", address=ADDRESS)
    last = maker.ask()
    assert (last.status_code, last.json()["request_id"]) == (200, first["request_id"])
    assert last.json()["state"] == "created"


def test_asking_many_times_at_once__is_one_request(
    maker: Maker, deps: Deps, limited: Limit
) -> None:
    assert at_once(8, lambda _: maker.ask().status_code) == {200: 7, 201: 1}
    with deps.database.read() as session:
        assert session.query(FundCreationRequest).count() == 1


def test_a_rejection__says_its_reason_and_the_maker_may_ask_again(maker: Maker) -> None:
    first = maker.ask().json()["request_id"]
    rejected = maker.move(first, "reject", reason="The record has gaps.").json()
    assert (rejected["state"], rejected["reason"]) == ("rejected", "The record has gaps.")
    assert maker.read().json()["reason"] == "The record has gaps."
    again = maker.ask()
    assert (again.status_code, again.json()["state"]) == (201, "requested")
    assert again.json()["request_id"] > first
    assert maker.read().json()["reason"] is None


def test_a_pilot_one_second_too_young__is_409_with_the_time(
    follower: Follower, office: Office, deps: Deps, clock: Clock, markets: None
) -> None:
    clock.pass_(microseconds=1)
    maker = Maker(follower, office, owned(deps, clock, follower.user_id))
    clock.pass_(seconds=DAYS_30_S - 1)
    refused = maker.ask()
    assert reason(refused) == (409, "pilot_too_young")
    block = refused.json()["service"]
    assert block["retry_at"] in refused.json()["detail"]
    assert block["next"][0]["path"] == f"{maker.path}/request-creation"
    clock.pass_(seconds=1)
    assert maker.ask().status_code == 201


def test_a_perp_vault__is_409_however_old(
    follower: Follower, office: Office, deps: Deps, clock: Clock, markets: None
) -> None:
    maker = Maker(follower, office, owned(deps, clock, follower.user_id, FundKind.PERP))
    clock.pass_(seconds=2 * DAYS_30_S)
    assert reason(maker.ask()) == (409, "perp_vault")
    assert reason(maker.read()) == (404, "not_found")


def test_another_account__neither_asks_nor_reads(maker: Maker, deps: Deps, clock: Clock) -> None:
    other = Maker(follower_of(maker.who.client, deps, clock), maker.office, maker.vault_id)
    maker.ask()
    assert [reason(other.ask()), reason(other.read())] == [(403, "not_maker")] * 2


def test_a_vault_without_a_maker__is_nobodys_to_ask_for(
    follower: Follower, office: Office, vault: int, clock: Clock
) -> None:
    clock.pass_(seconds=DAYS_30_S)
    assert reason(Maker(follower, office, vault).ask()) == (403, "not_maker")


def test_operators__read_the_request_but_do_not_ask(maker: Maker) -> None:
    asked, office = maker.ask().json(), maker.office
    read = office.client.get(f"{maker.path}/creation-request", headers=office.headers)
    assert read.json() == asked
    assert reason(office.post(f"{maker.path}/request-creation"))[0] in (401, 403)


def test_a_request_that_is_not_there__is_404(maker: Maker) -> None:
    assert reason(maker.read()) == (404, "not_found")
    assert maker.read().json()["service"]["next"][0]["path"] == f"{maker.path}/request-creation"
    assert reason(maker.move(99, "approve")) == (404, "not_found")


def test_a_move_that_the_state_does_not_allow__is_409_and_leaves_no_row(
    maker: Maker, deps: Deps
) -> None:
    request_id = maker.ask().json()["request_id"]
    said = maker.read().json()
    refused = maker.move(request_id, "mark-created", address=ADDRESS)
    assert reason(refused) == (409, "wrong_status")
    assert maker.read().json() == said
    with deps.database.read() as session:
        assert session.query(FundCreationMove).count() == 0


@pytest.mark.parametrize("address", ["0x" + "00" * 20, "0x12", "vault"])
def test_an_address_that_is_none__is_400_and_names_the_field(maker: Maker, address: str) -> None:
    request_id = maker.ask().json()["request_id"]
    maker.move(request_id, "approve")
    refused = maker.move(request_id, "mark-created", address=address)
    assert reason(refused) == (400, "invalid_parameter")
    assert refused.json()["detail"].startswith("address: ")


def test_the_address_of_another_request__is_refused(maker: Maker, deps: Deps, clock: Clock) -> None:
    second = Maker(maker.who, maker.office, owned(deps, clock, maker.who.user_id))
    clock.pass_(seconds=DAYS_30_S)
    for one in (maker, second):
        one.move(one.ask().json()["request_id"], "approve")
    first_id, second_id = (one.read().json()["request_id"] for one in (maker, second))
    assert maker.move(first_id, "mark-created", address=ADDRESS).status_code == 200
    refused = maker.move(second_id, "mark-created", address=ADDRESS)
    assert reason(refused) == (400, "invalid_parameter")
    assert second.read().json()["state"] == "approved"
    other = maker.move(second_id, "mark-created", address="0x" + "22" * 20)
    assert other.json()["state"] == "created"


def test_a_blank_reason__is_refused(maker: Maker) -> None:
    request_id = maker.ask().json()["request_id"]
    refused = maker.move(request_id, "reject", reason=" ")
    assert reason(refused) == (400, "invalid_parameter")
    assert maker.read().json()["state"] == "requested"


def test_an_operator__does_not_decide_on_the_vault_of_an_agent_of_its_own(maker: Maker) -> None:
    request_id = maker.ask().json()["request_id"]
    with maker.who.deps.database.write() as session:
        operators = select(Account.id).where(Account.kind == "operator")
        session.get_one(Account, maker.who.user_id).owner_id = session.scalars(operators).one()
    for name, body in (
        ("approve", {}),
        ("mark-created", {"address": ADDRESS}),
        ("reject", {"reason": "No."}),
    ):
        refused = maker.move(request_id, name, **body)
        assert reason(refused) == (403, "conflict_of_interest")
    assert maker.waiting() == [(maker.vault_id, "requested")]
