"""Consents that are given and revoked at the same time (docs/fund.md#consents)."""

import time
from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import text

from api.kernel.operation import Deps
from core.fund import queries as fund
from core.identity import queries as identity
from tests.integration.api.conftest import Clock
from tests.integration.api.fund.conftest import ADDRESS, USD, Follower

WAITING = text(
    "select count(*) from pg_stat_activity where datname = current_database() and "
    "wait_event_type = 'Lock'"
)


def standing(deps: Deps, follower: Follower, vault: int) -> int | None:
    with deps.database.read() as session:
        found = fund.standing_mirror(session, follower.user_id, vault)
        return None if found is None else found.max_order_usdc_e6


def test_a_consent_that_began_before_the_one_it_replaces__is_given(
    follower: Follower, vault: int, clock: Clock, deps: Deps
) -> None:
    clock.pass_(seconds=1)
    assert follower.consent(vault).status_code == 200
    clock.pass_(seconds=-1)  # it began a second earlier, and waited
    assert follower.consent(vault, max_order_usd="50").status_code == 200
    assert standing(deps, follower, vault) == 50 * USD


def test_a_revocation_that_began_before_the_consent__ends_it(
    follower: Follower, vault: int, clock: Clock, deps: Deps
) -> None:
    clock.pass_(seconds=1)
    given = follower.consent(vault).json()
    clock.pass_(seconds=-1)
    answer = follower.client.delete(f"/fund/vaults/{vault}/mirrors", headers=follower.key)
    assert answer.status_code == 200, answer.text
    own = follower.get(f"/fund/vaults/{vault}/mirrors/me").json()
    assert (own["is_current"], own["revoked_at"]) == (False, given["given_at"])
    assert standing(deps, follower, vault) is None


def test_a_revocation_beside_a_consent__leaves_none_that_stands(
    follower: Follower, vault: int, clock: Clock, deps: Deps
) -> None:
    given = follower.consent(vault).json()
    path = f"/fund/vaults/{vault}/mirrors"
    with ThreadPoolExecutor(1) as pool:
        with deps.database.write() as session:
            identity.lock_owner(session, follower.user_id)
            fund.consent(
                session,
                follower.user_id,
                vault,
                address=ADDRESS,
                max_order_usdc_e6=50 * USD,
                max_leverage_e2=100,
                rules_hash=bytes.fromhex(given["rules_hash"][2:]),
                now=clock.now,
            )
            revoked = pool.submit(follower.client.delete, path, headers=follower.key)
            while not revoked.done():
                with deps.database.read() as other:
                    if other.scalar(WAITING):
                        break
                time.sleep(0.01)
        assert revoked.result().status_code == 200, revoked.result().text
    assert standing(deps, follower, vault) is None
