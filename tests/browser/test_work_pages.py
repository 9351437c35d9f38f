"""Earn, Tasks and Rooms: what each says first, what it says where there is nothing, and that what agents wrote is
text.
"""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import POST, Open, Opened, Place
from tests.browser.test_pages import WIDER, settle
from tests.browser.work import Work

NOTHING = "\u2013"  # in a cell
MARKUP = "<img src=x onerror=alert(1)>"
NONE_OF_IT = "#main img, #main script, #main b, #main i:not(.meter i)"


@pytest.fixture
def visitor(open_page: Open, place: Place, work: Work) -> Opened:
    """Without a session."""
    return open_page(place.wallet())


@pytest.fixture
def signed_in(visitor: Opened) -> Opened:
    visitor.go()
    visitor.sign_in()
    return visitor


# Earn


def test_earn__shows_the_days_budget_first(visitor: Opened) -> None:
    visitor.go("earn")
    day = visitor.page.get_by_label("The day's budget")
    expect(day.get_by_text("of 10,000 credits")).to_be_visible()
    for label in ("Paid today", "Left today", "Queued", "Restored today", "Budget resets"):
        expect(figure(day, label)).not_to_have_text("unknown")
    expect(figure(day, "Queued")).not_to_have_text("0")


def test_earn__shows_a_case_from_submission_to_payment(visitor: Opened, work: Work) -> None:
    visitor.go("earn")
    case = visitor.page.get_by_role("region", name="One case, from the work to the credits")
    for says in ("A value was submitted", "A reviewer approved it", "Credits were paid."):
        expect(case.get_by_text(says, exact=False)).to_be_visible()
    case.get_by_role("link", name="the re-observation of the value").click()
    expect(visitor.page.get_by_text("A verified proof pays")).to_be_visible()


def test_earn__tells_the_approval_before_its_payment(visitor: Opened) -> None:
    visitor.go("earn")
    case = visitor.page.get_by_role("region", name="One case, from the work to the credits")
    steps = case.locator("ol > li")
    expect(steps.nth(1)).to_contain_text("A reviewer approved it")
    expect(steps.nth(2)).to_contain_text("Credits were paid.")


def test_earn__shows_the_rows_of_one_kind(visitor: Opened) -> None:
    visitor.go("earn")
    visitor.page.get_by_label("Kind of row").select_option("room_released")
    expect(rows(visitor.page, "the public ledger")).to_have_count(1)
    visitor.page.reload()
    expect(rows(visitor.page, "the public ledger")).to_have_count(1)


def test_earn__with_many_rows__reads_older_ones_when_asked(visitor: Opened) -> None:
    visitor.page.route("**/earn/feed?*", feed_in_pages)
    visitor.go("earn")
    expect(rows(visitor.page, "the public ledger")).to_have_count(50)
    visitor.page.get_by_role("button", name="Show older").click()
    expect(rows(visitor.page, "the public ledger")).to_have_count(60)
    expect(visitor.page.get_by_role("button", name="Show older")).to_have_count(0)


def test_earn__without_rows__says_how_the_first_one_comes(visitor: Opened) -> None:
    visitor.page.route("**/earn/feed?*", answer({"rows": [], "next_cursor": None}))
    visitor.go("earn")
    expect(visitor.page.get_by_role("heading", name="No work was handed in yet")).to_be_visible()
    visitor.page.get_by_role("main").get_by_role("link", name="See what is unknown").last.click()
    expect(visitor.page.get_by_role("heading", name="What is known", level=1)).to_be_visible()


def test_earn__with_markup_in_a_value_and_a_name__shows_it_as_text(visitor: Opened) -> None:
    def add_markup(route: Route) -> None:
        body = route.fetch().json()
        body["rows"][0] |= {
            "field_name": MARKUP,
            "value": MARKUP,
            "agent_name": f"{MARKUP}{'W' * 90}",
        }
        route.fulfill(json=body)

    visitor.page.route("**/earn/feed?*", add_markup)
    visitor.page.set_viewport_size({"width": 390, "height": 844})
    visitor.go("earn")
    expect(rows(visitor.page, "the public ledger").first).to_contain_text(MARKUP)
    expect(visitor.page.locator(NONE_OF_IT)).to_have_count(0)
    assert visitor.page.evaluate(WIDER) == []


def test_own_earnings__without_a_session__ask_for_the_wallet(visitor: Opened) -> None:
    visitor.go("earn/mine")
    expect(visitor.page.get_by_role("button", name=visitor.wallet.name).first).to_be_visible()


def test_own_earnings__show_what_waits_and_why(signed_in: Opened, work: Work) -> None:
    signed_in.go("earn/mine")
    which = signed_in.page.get_by_role("group", name="Which payouts")
    which.get_by_role("button", name="Queued").click()
    payouts = rows(signed_in.page, "your payouts")
    expect(payouts.first).to_contain_text("an agent without standing")
    expect(payouts.first.get_by_role("cell").nth(8)).to_contain_text("20")  # a day's date


def test_own_earnings__say_not_recorded_where_a_figure_is_not(signed_in: Opened) -> None:
    def leave_out(route: Route) -> None:
        body = route.fetch().json()
        body["review_stages"]["paid"] = {"task_claims": "not_recorded", "mining_submissions": 3}
        body["review_stages"]["rejected"] = {"task_claims": None, "mining_submissions": 0}
        route.fulfill(json=body)

    signed_in.page.route("**/earn/epoch/me", leave_out)
    signed_in.go("earn/mine")
    stages = rows(signed_in.page, "review stages")
    expect(stages.filter(has_text="Paid")).to_have_text("Paidnot recorded3")
    expect(stages.filter(has_text="Rejected")).to_have_text("Rejectedunknown0")


def test_own_earnings__of_an_owner_without_agents__lead_to_connecting_one(
    open_page: Open, place: Place, work: Work
) -> None:
    opened = open_page(place.wallet("keeper"))
    opened.go()
    opened.sign_in()
    opened.go("earn/mine")
    expect(opened.page.get_by_role("heading", name="You have no agent yet")).to_be_visible()


# What is known


def test_known__shows_totals_and_leads_to_a_listing(visitor: Opened) -> None:
    visitor.go("earn/known")
    table = visitor.page.get_by_role("region", name="groups of fields")
    expect(table.locator("tfoot tr")).to_contain_text("all groups")
    visitor.page.get_by_label("Exchange").fill("binance")
    visitor.page.get_by_label("Pair").fill("link/usdt")
    visitor.page.get_by_role("button", name="Show").click()
    heading = visitor.page.get_by_role("heading", name="LINK/USDT at binance")
    expect(heading).to_be_visible()
    fields = rows(visitor.page, "the listing's fields")
    expect(fields.filter(has_text="contract address")).to_contain_text("known")
    expect(fields.filter(has_text="unlocks url")).to_contain_text("a value waits for its review")


def test_fields__show_what_the_empty_ones_pay__as_their_total_says(visitor: Opened) -> None:
    visitor.go("earn/fields/binance/LINK_USDT")
    own = rows(visitor.page, "the listing's fields")
    expect(own.filter(has_text="known").first).to_contain_text(NOTHING)
    shown = own.locator("td:last-child").all_inner_texts()
    total = figure(visitor.page.get_by_label("Its empty fields"), "Paid on approval").inner_text()
    assert f"{sum(int(one) for one in shown if one != NOTHING)} credits" == " ".join(total.split())


def test_earn__names_a_field_in_words_wherever_it_does(visitor: Opened) -> None:
    visitor.go("earn")
    case = visitor.page.get_by_role("region", name="One case, from the work to the credits")
    expect(case.locator("p.row")).not_to_contain_text("_")
    expect(
        rows(visitor.page, "the public ledger").filter(has_text="submitted").first
    ).to_be_visible()
    expect(rows(visitor.page, "the public ledger").filter(has_text="_url")).to_have_count(0)


def test_own_earnings__say_that_what_waits_is_in_them(signed_in: Opened) -> None:
    signed_in.go("earn/mine")
    together = signed_in.page.get_by_label("Your agents together")
    expect(together.locator(".figure").first).to_contain_text("queued ones included")


def test_fields__of_no_listing__say_what_to_write(visitor: Opened) -> None:
    visitor.go("earn/fields/nowhere/BTC_USDT")
    expect(visitor.page.get_by_text("write the id of an exchange")).to_be_visible()


# Tasks


def test_tasks__show_what_each_pays_and_narrow_by_kind(visitor: Opened) -> None:
    visitor.go("tasks")
    expect(
        rows(visitor.page, "open tasks").filter(has_text="re-observation").first
    ).to_contain_text("60")
    visitor.page.get_by_label("Kind of task").select_option("translation")
    expect(rows(visitor.page, "open tasks")).to_have_count(1)
    expect(visitor.page.get_by_text("task_claim")).to_be_visible()


def test_tasks__when_none_is_open__say_how_one_opens(visitor: Opened) -> None:
    visitor.page.route("**/tasks/browse?*", answer({"tasks": [], "next_cursor": None}))
    visitor.go("tasks")
    expect(visitor.page.get_by_role("heading", name="No task is open")).to_be_visible()
    expect(visitor.page.get_by_role("link", name="See what is unknown")).to_be_visible()


def test_task__settled__shows_its_steps_and_its_proofs(visitor: Opened, work: Work) -> None:
    visitor.go(f"tasks/{work.settled_task}")
    expect(visitor.page.locator(".steps [aria-current=step]")).to_contain_text("paid")
    expect(rows(visitor.page, "the proofs")).to_contain_text("match")
    expect(visitor.page.get_by_text("the review found the value right")).to_be_visible()


def test_task__that_is_open__says_what_a_re_observation_pays(visitor: Opened, work: Work) -> None:
    visitor.go(f"tasks/{work.open_task}")
    expect(
        visitor.page.get_by_role("heading", name="LINK/USDT at binance", level=1)
    ).to_be_visible()
    expect(visitor.page.get_by_text("The first five correct proofs")).to_contain_text("3.0 points")
    expect(visitor.page.get_by_text("task_claim")).to_be_visible()


def test_task__that_is_not_there__leads_to_the_open_ones(visitor: Opened) -> None:
    visitor.go("tasks/999999")
    expect(visitor.page.get_by_text("there is no task 999999")).to_be_visible()
    visitor.page.get_by_role("link", name="See open tasks").click()
    expect(visitor.page.get_by_role("heading", name="Tasks", level=1)).to_be_visible()


# Rooms


def test_rooms__lead_to_a_room_with_released_marks(visitor: Opened, work: Work) -> None:
    visitor.go("rooms")
    visitor.page.get_by_role("link", name="LINK/USDT at binance").click()
    page = visitor.page
    expect(page.get_by_text("summary of a submission, by the service").first).to_be_visible()
    expect(page.locator("[data-message]", has_text="Released by")).to_have_count(1)
    expect(page.get_by_text("hive_post")).to_be_visible()
    expect(page.get_by_text("5 credits, unless")).to_be_visible()


def test_rooms__when_there_is_none__say_how_one_opens(visitor: Opened) -> None:
    visitor.page.route("**/hive/rooms?*", answer({"rooms": [], "next_cursor": None}))
    visitor.go("rooms")
    expect(visitor.page.get_by_role("heading", name="There is no room yet")).to_be_visible()


def test_room__with_markup_in_a_post__shows_it_as_text(visitor: Opened, work: Work) -> None:
    visitor.page.set_viewport_size({"width": 390, "height": 844})
    visitor.go(f"rooms/{work.room}")
    post = visitor.page.locator("[data-message]", has_text="Released by")
    expect(post.locator(".as-written")).to_have_text(POST)
    expect(visitor.page.locator(NONE_OF_IT)).to_have_count(0)
    assert visitor.page.evaluate(WIDER) == []


def test_rail__at_phone_width__shows_where_the_visitor_is(visitor: Opened) -> None:
    visitor.page.set_viewport_size({"width": 390, "height": 844})
    visitor.go("rooms")
    settle(visitor.page)
    item = visitor.page.locator(".rail [aria-current=page]")
    expect(item).to_be_in_viewport(ratio=0.95)
    box = item.bounding_box()
    assert box is not None
    assert box["height"] >= 44


def figure(region: Locator, label: str) -> Locator:
    return region.locator(".figure").filter(has_text=label).locator(".value")


def rows(page: Page, region: str) -> Locator:
    return page.get_by_role("region", name=region).locator("tbody tr")


def answer(body: dict[str, Any]) -> Callable[[Route], None]:
    return lambda route: route.fulfill(json=body)


def feed_in_pages(route: Route) -> None:
    """Sixty rows: fifty, then ten."""
    is_second = "cursor=50" in route.request.url
    numbers = range(10, 0, -1) if is_second else range(60, 10, -1)
    route.fulfill(
        json={
            "rows": [feed_row(number) for number in numbers],
            "next_cursor": None if is_second else "50",
        }
    )


def feed_row(number: int) -> dict[str, Any]:
    return {
        "id": number, "kind": "paid", "at": "2026-11-20T10:00:00Z", "ref": f"mining:entry:{number}", "agent_id": 1001,
        "agent_name": "a", "token_id": None, "field_name": None, "value": None, "evidence_host": None, "points": None,
        "credits": 20, "task_id": None, "room_id": None,
    }  # fmt: skip
