"""Every reason that an owner can be refused for: its sentence is shown, with a button that goes on."""

import json
from collections.abc import Callable
from datetime import UTC, datetime

from playwright.sync_api import Route, expect

from api.catalogue import catalogue
from api.kernel.auth import Credential
from api.kernel.operation import Refusal
from api.kernel.outcome import Outcome
from api.kernel.reasons import reasons_of
from api.kernel.refusals import refused
from tests.browser.conftest import Open, Place

IDS = {"mandates": "m_abcdefghij", "agents": "1001", "gallery": "l_abcdefghij"}
SESSION_ENDS = (401,)


def reasons_of_owners() -> list[str]:
    found = catalogue()
    of_owners = [one for one in found.operations if Credential.OWNER in one.auth.takes]
    return sorted({reason for one in of_owners for reason in reasons_of(one, found)})


def test_reasons__that_an_owner_can_meet__are_shown_with_a_button(
    open_page: Open, place: Place
) -> None:
    found, opened = catalogue(), open_page(place.wallet())
    opened.go()
    opened.sign_in()
    page, without = opened.page, []
    operation = found.by_key["mandates.read"]
    names = [name for name in reasons_of_owners() if found.reasons[name].status not in SESSION_ENDS]
    assert len(names) > 20
    for name in names:
        reason = found.reasons[name]
        outcome = refused(Refusal(name, reason.example), operation, IDS, datetime.now(UTC), found)

        page.unroute_all()
        page.route("**/mandate-wallet/me/alerts*", answering(outcome))
        opened.go("status")
        page.get_by_role("heading", name="Status").wait_for()
        opened.go("alerts")
        expect(page.get_by_text(reason.example).first).to_be_visible()
        if page.locator(f"[data-reason={name}]").locator("a, button").count() == 0:
            without.append(name)
    assert without == []


def answering(outcome: Outcome) -> Callable[[Route], None]:
    def answer(route: Route) -> None:
        route.fulfill(
            status=outcome.status,
            body=json.dumps(outcome.body),
            content_type="application/json",
        )

    return answer
