"""A follower of a fund: it consents, pays for live signals, plans each, mirrors it in a paper account,
reports its fills, and says how far it strays from the vault.

`python -m api.client.examples.follower [.local] --vault 4 --looks 5` with `make up` running beside it.

    register -> rules read, hash checked -> consent -> look -> unlock -> plan -> fill on paper -> report
                                                        ^------------------------------------------|
Laws
- It consents to rules that hash to what the vault says, and to no others.
- The service knows what the account's address holds, and not this paper book: an order is what the
  book lacks, at most the plan's; where the book only has to reduce, at most the consent's largest.
- What cannot be planned is not traded: the reason is shown, and a deferred signal is planned again.
- A fill is worse than the mid by the plan's impact; where that is not known, nothing is traded.
Source: docs/fund-follower.md.
"""

import argparse
import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import ROUND_DOWN, Decimal
from itertools import pairwise
from typing import Any, Literal

from api.client import Client, Refused
from api.client.examples.owner import read_stack
from api.client.operations import FundFundVaultRead, FundPlanShown, FundSignalPage, FundSignalShown

BPS = 10_000
CENT, QUANTITY = Decimal("0.01"), Decimal("0.00000001")
DONE = ("ready", "capped", "skipped", "refused")  # not planned again; a deferred signal is


@dataclass
class PaperAccount:
    """Cash in dollars, and units by market; below 0: short."""

    cash: Decimal
    units: dict[str, Decimal] = field(default_factory=dict)

    def holds(self, market: str, price: Decimal) -> Decimal:
        return self.units.get(market, Decimal(0)) * price

    def worth(self, prices: dict[str, Decimal]) -> Decimal:
        return self.cash + sum(units * prices[market] for market, units in self.units.items())

    def trade(self, market: str, units: Decimal, price: Decimal) -> None:
        self.cash -= units * price
        self.units[market] = self.units.get(market, Decimal(0)) + units


@dataclass(frozen=True, slots=True)
class TrackedLook:
    """What both books were worth at one look."""

    own: Decimal
    vault: Decimal


def tracking_error_bps(looks: Sequence[TrackedLook]) -> Decimal | None:
    """The root of the mean square of (own return - vault's return), look by look; None: no two looks.

    Of each look against the one before, not annualised.
    """
    off = [
        (after.own / before.own) - (after.vault / before.vault) for before, after in pairwise(looks)
    ]
    if not off:
        return None
    return (sum((one * one for one in off), Decimal(0)) / len(off)).sqrt() * BPS


@dataclass
class FundFollower:
    """`own`: the account that mirrors; `vault`: the fund itself on paper, each signal whole, at its own
    mid and at no cost. Both begin with the same worth.

    `price_of`: the mid of a market now. `say`: where the transcript goes.
    """

    agent: Client
    vault_id: int
    address: str
    max_order: Decimal
    own: PaperAccount
    vault: PaperAccount
    price_of: Callable[[str], Decimal]
    say: Callable[[str], None] = print
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    looks: list[TrackedLook] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)
    planned: set[int] = field(default_factory=set)
    impacts: dict[str, str] = field(default_factory=dict)  # bps of the market's last plan

    def consent(self) -> None:
        """Errors: ValueError for rules that do not hash to what the vault says; Refused."""
        vault = self.agent.fund.vault(self.vault_id)
        require_hash(vault)
        most = str(vault["frozen_rules"]["max_leverage"])
        self.agent.fund.consent(
            self.vault_id, account_address=self.address, max_order_usd=f"{self.max_order:f}",
            max_leverage=most, rules_hash=vault["rules_hash"],
        )  # fmt: skip
        self.say(f"{vault['name']}: {vault['mandate']}")
        self.say(
            f"consent to rules {vault['rules_hash'][:10]}..., checked: orders of "
            f"{self.max_order:f} at most, leverage {most}"
        )

    def look(self) -> None:
        """Once: new signals are unlocked, planned and mirrored, both books valued.

        Errors: Refused; ValueError for a price that is not known.
        """
        page = self._unlocked()
        for signal in sorted(page["signals"], key=lambda one: one["signal_id"]):
            if signal["superseded"]:
                continue
            if signal["signal_id"] not in self.seen:
                self.seen.add(signal["signal_id"])
                self._follow_vault(signal)
            if signal["signal_id"] not in self.planned:
                self._mirror(signal)
        self._value()

    def _unlocked(self) -> FundSignalPage:
        """The live signals, each paid for once, as far as the credits go."""
        page = self.agent.fund.live(self.vault_id)
        while (wanted := locked_signal(page)) is not None:
            try:
                self.agent.fund.signal(wanted)
            except Refused as refused:
                self.say(f"signal {wanted} stays locked: {refused.detail}")
                break
            self.say(f"signal {wanted} unlocked")
            page = self.agent.fund.live(self.vault_id)
        return page

    def _mirror(self, signal: FundSignalShown) -> None:
        plan = self.agent.fund.plan(signal["signal_id"], account_address=self.address)
        self.say(plan_words(signal, plan))
        if plan["disposition"] in DONE:
            self.planned.add(signal["signal_id"])
        self._fill(signal, plan)

    def _follow_vault(self, signal: FundSignalShown) -> None:
        """The vault takes its whole weight at the signal's mid, whatever a follower may do."""
        market = signal["market"]
        price = self.price_of(market) if signal["mid"] is None else Decimal(signal["mid"])
        prices = {one: self.price_of(one) for one in self.vault.units} | {market: price}
        target = weight_of(signal) * self.vault.worth(prices)
        self.vault.trade(market, (target - self.vault.holds(market, price)) / price, price)

    def _fill(self, signal: FundSignalShown, plan: FundPlanShown) -> None:
        market, order, mid = signal["market"], plan["order"], None
        if order is not None and order["reference_price"] and plan["impact_bps"]:
            mid, self.impacts[market] = Decimal(order["reference_price"]), plan["impact_bps"]
        elif plan["reason"] == "at_target" and market in self.impacts:
            mid = self.price_of(market)  # nothing to do for the address; this book may hold some
        if mid is None:
            return
        prices = {one: self.price_of(one) for one in self.own.units} | {market: mid}
        wanted = weight_of(signal) * self.own.worth(prices) - self.own.holds(market, mid)
        side: Literal["buy", "sell"] = "buy" if wanted > 0 else "sell"
        is_planned = order is not None and order["side"] == side
        cap = Decimal(plan["capped_notional_usd"] or 0) if is_planned else self.max_order
        worse = Decimal(self.impacts[market]) / BPS
        price = (mid * (1 + worse if side == "buy" else 1 - worse)).quantize(QUANTITY)
        quantity = (min(abs(wanted), cap) / price).quantize(QUANTITY, ROUND_DOWN)
        if quantity == 0:
            return
        self.own.trade(market, quantity if side == "buy" else -quantity, price)
        self.agent.fund.report_fill(
            signal["signal_id"], account_address=self.address, side=side, price=f"{price:f}",
            qty=f"{quantity:f}", filled_at=self.clock().isoformat(timespec="microseconds"),
            venue_order_id=f"paper-{signal['signal_id']}",
        )  # fmt: skip
        self.say(
            f"  {side} {quantity:f} at {price.quantize(CENT):f}, "
            f"{(quantity * price).quantize(CENT):f} USD on paper; reported"
        )

    def _value(self) -> None:
        held = {*self.own.units, *self.vault.units}
        prices = {market: self.price_of(market) for market in held}
        look = TrackedLook(self.own.worth(prices), self.vault.worth(prices))
        self.looks.append(look)
        error = tracking_error_bps(self.looks)
        shown = "not known yet" if error is None else f"{error.quantize(CENT):f} bps"
        self.say(
            f"worth {look.own.quantize(CENT):f}, the vault's way {look.vault.quantize(CENT):f}; "
            f"tracking error {shown}"
        )


def weight_of(signal: FundSignalShown) -> Decimal:
    """Of the account's worth, leverage included."""
    return Decimal(signal["target_weight"]) * Decimal(signal["target_leverage"])


def locked_signal(page: FundSignalPage) -> int | None:
    """The signal that is offered; None: none is locked."""
    offer = page.get("payment_required")
    if not page.get("locked_count") or offer is None:
        return None
    return int(str(offer["resource"]["url"]).rpartition("/")[2])


def require_hash(vault: FundFundVaultRead) -> None:
    """Errors: ValueError for rules that do not hash to what the vault says."""
    text = json.dumps(
        vault["frozen_rules"], sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    if "0x" + hashlib.sha256(text.encode()).hexdigest() != vault["rules_hash"]:
        raise ValueError(f"the rules of vault {vault['id']} do not hash to its rules_hash")


def plan_words(signal: FundSignalShown, plan: FundPlanShown) -> str:
    """A plan in one line."""
    head = (
        f"signal {signal['signal_id']}, {signal['market']} {signal['target_weight']} x "
        f"{signal['target_leverage']}: {plan['disposition']}"
    )
    order = plan["order"]
    if order is None:
        rule = str(plan.get("service", {}).get("rule")).replace("retry_at", str(plan["retry_at"]))
        return f"{head}, {plan['reason']}: {rule}"
    capped = "" if order["capped_by"] is None else f" (capped by {order['capped_by']})"
    if plan["reason"] is not None:
        capped = f" (it only closes: {plan['reason']})"
    return (
        f"{head}, {order['side']} {order['capped_notional_usd']}{capped}, impact "
        f"{plan['impact_bps'] or 'unknown'} bps, grade {plan['grade']}"
    )


def board_price(agent: Client) -> Callable[[str], Decimal]:
    """The mid of a market, by the public board. Errors: ValueError where it is not known."""

    def price_of(market: str) -> Decimal:
        _, base, quote = market.split("_")
        found = agent.board.rows(q=f"{base}/{quote}".upper(), limit=50)["rows"]
        prices = [one["price"] for one in found if one["token_id"] == market]
        if not prices or prices[0] is None:
            raise ValueError(f"the board has no price of {market} now")
        return Decimal(str(prices[0]))

    return price_of


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Mirror a fund's signals in a paper account.")
    parser.add_argument("directory", nargs="?", default=".local", help="of stack.json, by make up")
    parser.add_argument("--vault", type=int, help="its id; without it the oldest spot vault")
    parser.add_argument("--looks", type=int, default=5, help="how often it looks")
    parser.add_argument("--every", type=float, default=30, help="seconds between two looks")
    parser.add_argument("--max-order", default="50000", help="the largest order, in USD")
    parser.add_argument(
        "--worth", default="100000", help="of the paper account at first, in USD: as the address's"
    )
    return parser.parse_args()


def first_vault(agent: Client) -> int:
    """The oldest spot vault that may be mirrored. Errors: SystemExit."""
    found: list[Any] = list(agent.items(agent.fund.vaults, "vaults"))
    spot = [
        int(one["id"]) for one in found if one["kind"] == "spot" and not one["mirroring_paused"]
    ]
    if not spot:
        raise SystemExit("there is no spot vault to mirror; run `make up` first")
    return min(spot)


def main() -> None:
    wanted = arguments()
    stack = read_stack(wanted.directory)
    with Client(stack["base_url"]) as client, client.connect("follower") as agent:
        # its 100,000 test USDC are what the service sizes plans by
        address = str(stack["accounts"]["owner"]["address"])
        worth = Decimal(wanted.worth)
        follower = FundFollower(
            agent, wanted.vault or first_vault(agent), address, Decimal(wanted.max_order),
            PaperAccount(worth), PaperAccount(worth), board_price(agent),
        )  # fmt: skip
        follower.consent()
        for number in range(wanted.looks):
            if number:
                time.sleep(wanted.every)
            try:
                follower.look()
            except (Refused, ValueError) as error:
                raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
