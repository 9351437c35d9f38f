"""What an owner has to see: no figure of another page, a report against the terms, the way out of signed terms."""

from playwright.sync_api import expect

from tests.browser.conftest import Mandate, Open, Place

OUTSIDE = "0x" + "11" * 20


def test_statements__from_one_mandate_to_all__shows_all(open_page: Open, mandate: Mandate) -> None:
    opened = open_page(mandate.place.wallet())
    opened.go(f"statements?mandate={mandate.id}")
    opened.page.get_by_role("button", name=opened.wallet.name).click()
    opened.page.get_by_role("button", name="All mandates").click()
    listed = opened.page.get_by_role("region", name="mandates of the week")
    expect(listed.get_by_role("link", name="Wait for the price, then buy.").first).to_be_visible()
    assert opened.errors == []


def test_report__against_the_terms__is_flagged_with_its_clauses_and_its_position_has_no_worth(
    open_page: Open, mandate: Mandate
) -> None:
    mandate.agent.mandates.accept(mandate.id)
    mandate.agent.mandates.report_event(
        mandate.id,
        kind="buy",
        amount_usdc="200.000000",
        payload={"target": OUTSIDE, "position": {"id": "x", "name": "Elsewhere"}},
        why="I wanted it.",
    )
    opened = open_page(mandate.place.wallet())
    opened.go(f"mandates/{mandate.id}")
    opened.page.get_by_role("button", name=opened.wallet.name).click()
    step = opened.page.locator(".step", has_text="buy: I wanted it.")
    expect(step.get_by_text("against clauses 2, 5")).to_be_visible()
    position = opened.page.get_by_role("region", name="Open positions").get_by_role("listitem")
    expect(position.get_by_label("unknown: The chain has not shown it.")).to_be_visible()


def test_record__of_one_kind__is_in_the_address(open_page: Open, mandate: Mandate) -> None:
    opened = open_page(mandate.place.wallet())
    opened.go(f"mandates/{mandate.id}/record?record.kind=funding")
    opened.page.get_by_role("button", name=opened.wallet.name).click()
    rows = opened.page.get_by_role("region", name="the record's steps").locator("tbody tr")
    expect(rows).to_have_count(1)
    opened.page.get_by_label("Kind of step").select_option("")
    expect(rows).not_to_have_count(1)
    assert "record.kind" not in opened.page.url


def test_signed_terms__without_a_vault__are_cancelled_by_the_owner(
    open_page: Open, place: Place, signed: str
) -> None:
    opened = open_page(place.wallet())
    opened.go(f"mandates/{signed}")
    opened.page.get_by_role("button", name=opened.wallet.name).click()
    opened.page.get_by_role("button", name="Cancel the terms").click()
    card = opened.page.locator("[data-card]").first
    card.get_by_role("button", name="Send with wallet").click()
    expect(opened.page.locator(".badge", has_text="cancelled").first).to_be_visible()


def test_working_vault__offers_no_money_that_the_service_would_refuse(
    open_page: Open, mandate: Mandate
) -> None:
    opened = open_page(mandate.place.wallet())
    opened.go(f"mandates/{mandate.id}")
    opened.page.get_by_role("button", name=opened.wallet.name).click()
    expect(opened.page.get_by_role("button", name="Pause")).to_be_visible()
    expect(opened.page.get_by_role("button", name="Add money")).to_have_count(0)


def test_paper__is_not_said_to_be_enforced_by_a_contract(open_page: Open, place: Place) -> None:
    with place.owner() as owner:
        agent = owner.connect("paper-reader")
        owner.mandates.policy_set(agent.user_id, accepts_mandates=True)
        draft = owner.mandates.create(
            purpose="Try the rules.",
            agent_id=agent.user_id,
            budget_usdc="500.000000",
            horizon_days=30,
            stop_floor_bps=1_000,
            market_mode="paper",
        )["mandate"]["public_id"]
        agent.close()
    opened = open_page(place.wallet())
    opened.go(f"mandates/{draft}")
    opened.page.get_by_role("button", name=opened.wallet.name).click()
    expect(opened.page.get_by_text("On paper there is no contract")).to_be_visible()
    expect(opened.page.get_by_text("enforced by the contract")).to_have_count(0)


def test_sign_in__by_keyboard__keeps_the_focus_in_the_page(open_page: Open, place: Place) -> None:
    opened = open_page(place.wallet())
    opened.go()
    opened.page.get_by_role("button", name=opened.wallet.name).press("Enter")
    opened.page.get_by_role("heading", name="Mandates").wait_for()
    expect(opened.page.locator("#main")).to_be_focused()
