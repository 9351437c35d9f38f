"""The venues that this service knows: one declaration each, `VENUE` of a module in this folder,
found by the folder.

Every adapter is read alike, by contracts/interfaces/IAdapter.sol (VaultReader.adapter_readings).
Declared is what that interface does not say: what the deployment calls the adapter and how it is
made there, whose ABI it has, how its positions are left, and what leaving costs. An adapter of no
declared venue is `listed`: it is read too, and left by any declared exit that its rules allow.
"""

import pkgutil
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import core.mandate.venues
from core.chain.abi import call_by_signature
from core.mandate.rules.close_plan import ClosedBy
from core.selectors import selector_of

ADAPTER_NAME_END = "_adapter"


# An address, or a number, by the deployment's addresses.
Derived = Callable[[Mapping[str, str]], str | int]


def _whole(units: int) -> tuple[Any, ...]:
    return (units,)


@dataclass(frozen=True, slots=True)
class Exit:
    """A function of an adapter by which the owner leaves a position.

    `arguments`: of the canonical `signature`, for the units that are closed. `takes_minimum`: the
    least USDC that they may bring follows, in base units; the adapter reverts below it. It returns
    the USDC that the vault received.
    """

    signature: str
    arguments: Callable[[int], tuple[Any, ...]] = _whole
    takes_minimum: bool = False

    @property
    def selector(self) -> str:
        return selector_of(self.signature)

    def data(self, units: int, least_usdc_e6: int = 0) -> str:
        """Call data, 0x hex. `least_usdc_e6` is left out where the exit takes none.

        Errors: AbiEncodeError.
        """
        least = (least_usdc_e6,) if self.takes_minimum else ()
        return call_by_signature(self.signature, (*self.arguments(units), *least))


RELEASE = Exit("release()", lambda units: ())


@dataclass(frozen=True, slots=True)
class Creation:
    """How the deployment makes an adapter, and how its code is checked.

    `arguments`: of the constructor. `immutables`: (variable, its value), in the order of
    declaration. A value is a number, a name (of a contract of the deployment, as `usdc`, else of
    the office whose holder is meant, as `relay`), or what follows from the addresses by name.
    `domain`: of the EIP-712 domain, version 1, whose immutables follow. `chosen`: names of the
    arguments after the first, where an operator may have more adapters of this contract, with
    arguments of its own; empty: the deployment has the one.
    """

    arguments: tuple[str | int, ...] = ("usdc",)
    immutables: tuple[tuple[str, str | int | Derived], ...] = (("USDC", "usdc"),)
    domain: str | None = None
    chosen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Venue:
    """`name`: of its module, and of its adapter in the deployment, `<name>_adapter`; others of its
    contract, which an operator chose, end with `_<name>_adapter`.

    `contract`: the adapter's, by core/chain/abis.

    `title` and `does`: what an owner who chooses venues reads; `title` None: it is not offered.

    `exit` None: the owner cannot close a position there. `closed_by`: who closes one. `spread_bps`:
    what closing costs beside gas, None: not known. `can_release`: the adapter hands the vault its
    tokens by RELEASE once the mandate is over, whatever its venue does. `takes_payments`: the adapter
    buys services (its rules are costs) and holds no position. `is_test`: it is deployed to test
    chains alone.
    """

    name: str
    contract: str
    title: str | None = None
    does: str = ""
    creation: Creation = Creation()
    exit: Exit | None = None
    closed_by: ClosedBy = ClosedBy.OWNER
    spread_bps: int | None = None
    can_release: bool = False
    takes_payments: bool = False
    is_test: bool = False

    @property
    def adapter(self) -> str:
        return self.name + ADAPTER_NAME_END


class Venues:
    """The declared venues, asked by the deployment's addresses: `contracts` is name -> address."""

    def __init__(self, declared: Iterable[Venue]) -> None:
        self.declared = tuple(declared)

    def of(self, contracts: Mapping[str, str], adapter: str) -> Venue | None:
        """The venue of an adapter's address."""
        names = (self.named(name) for name, address in contracts.items() if address == adapter)
        return next((venue for venue in names if venue is not None), None)

    def named(self, name: str) -> Venue | None:
        """The venue of an adapter by its name in the deployment."""
        return next(
            (
                venue
                for venue in self.declared
                if name == venue.adapter
                or (venue.creation.chosen and name.endswith(f"_{venue.adapter}"))
            ),
            None,
        )

    def exit_of(self, venue: Venue | None, selectors: Collection[str]) -> Exit | None:
        """How to leave an adapter whose rules allow these exits: by its venue's own exit, else by
        any that is known.
        """
        exits = [
            one.exit for one in (venue, *self.declared) if one is not None and one.exit is not None
        ]
        return next((exit_ for exit_ in exits if exit_.selector in selectors), None)

    def spread_bps(self, contracts: Mapping[str, str], adapters: Iterable[str]) -> int | None:
        """The most that closing a position at any of these costs; None: one's is not known."""
        venues = [self.of(contracts, adapter) for adapter in adapters]
        known = [
            venue.spread_bps
            for venue in venues
            if venue is not None and venue.spread_bps is not None
        ]
        return max(known, default=0) if len(known) == len(venues) else None

    def payment_adapter(self, contracts: Mapping[str, str]) -> str | None:
        """The address of the one adapter that takes payments; None: none is deployed."""
        return next(
            (contracts.get(venue.adapter) for venue in self.declared if venue.takes_payments), None
        )


def venue_name(contracts: Mapping[str, str], adapter: str) -> str | None:
    """The venue's name in the deployment, declared or not."""
    names = (
        name.removesuffix(ADAPTER_NAME_END)
        for name, address in contracts.items()
        if address == adapter
    )
    return next(names, None)


def found_in(folder: ModuleType) -> Venues:
    """The venues that a package declares, by the names of their modules."""
    modules = [
        import_module(f"{folder.__name__}.{one.name}")
        for one in pkgutil.iter_modules(folder.__path__)
    ]
    return Venues(module.VENUE for module in modules if hasattr(module, "VENUE"))


@cache
def venues() -> Venues:
    return found_in(core.mandate.venues)
