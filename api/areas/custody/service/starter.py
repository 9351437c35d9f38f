"""The custodial starter wallet: make it, move its USDC to the agent's own wallet, see what became
of that (docs/custody.md).

    transfer: lock the wallet -> balance and used authorizations at one block -> one row of the outbox, one of the transfer
    keeper:   signs the authorization with the wallet's key, sends it with its own, pays the gas

Laws
- Money leaves for the account's linked wallet and for no other place, and not while that wallet
  waits for its owner.
- A request is of the secrets that asked for it: when they are replaced, it is paid no more
  (core/identity/evictions.py).
- The API makes and seals keys and opens none; nothing of a key is in an answer or a log.
"""

import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NoReturn

from api.areas.custody.schemas import (
    StarterTransfer,
    StarterTransfers,
    StarterWallet,
    TransferAsked,
    TransferOut,
    TransfersQuery,
)
from api.areas.custody.service import room
from api.kernel.caller import AgentCaller
from api.kernel.operation import Answer, Call, NoInput, Refusal, WriteCall
from api.kernel.refusals import feature_off
from api.shared.sessions import lock_caller
from core.custody import queries as custody
from core.custody.keys import KeyMaker, UnknownKeyVersionError, authorization_nonce
from core.custody.queries import Transfer
from core.custody.rules import (
    LEAST_TRANSFER_USDC_E6,
    Authorized,
    SealedKey,
    available_usdc_e6,
    gas_kept_wei,
    transfer_state,
    why_not_paid,
)
from core.custody.views import transfers_of, transfers_under_way
from core.errors import OutsideError
from core.hexes import address_or_none
from core.identity import evictions
from core.identity import queries as identity
from core.identity.tables import Account
from core.keeper import requests as outbox
from core.keeper.intents import OF_REQUESTS
from core.keeper.queue import RequestPayer
from core.money import UnixSeconds, UsdcE6, usdc_text
from core.times import instant_text, next_day, start_of_day

KIND = "custodial_transfer"
GOOD_FOR = timedelta(days=1)
ID_BYTES = 16


@dataclass(frozen=True, slots=True)
class _Funds:
    """The wallet at one block. `used`: nonces of authorizations that the chain has taken."""

    balance_usdc_e6: UsdcE6
    available_usdc_e6: UsdcE6
    used: frozenset[str]
    base_fee_wei: int


def provision(call: WriteCall, caller: AgentCaller, command: NoInput) -> Answer[StarterWallet]:
    """The account's wallet, made at the first call. Errors: Refusal tw_feature_disabled."""
    wallet, created = custody.find_wallet(call.db, caller.account_id), False
    if wallet is None:
        created = custody.add_wallet(call.db, _key_maker(call).new_key(caller.account_id), call.now)
        wallet = _wallet(custody.find_wallet(call.db, caller.account_id))
    return Answer(
        StarterWallet(address=wallet.address, chain_id=call.deps.chain_id, created=created)
    )


def transfer(call: WriteCall, caller: AgentCaller, command: TransferOut) -> Answer[TransferAsked]:
    """Ask for a transfer to the linked wallet.

    Errors: Refusal not_found, wallet_not_linked, wallet_waits, invalid_parameter,
    tw_feature_disabled, temporarily_unavailable, rate_limited, insufficient_idle; auth_invalid when
    the account's secrets were replaced meanwhile.
    """
    wallet = _wallet(custody.lock_wallet(call.db, caller.account_id))
    _require_payee(call, identity.find_account(call.db, caller.account_id))
    _require_worth_its_gas(command.amount_usdc)
    _require_openable(call, wallet)
    _require_place_today(call, caller)
    funds = _funds(call, wallet, ())
    amount = funds.available_usdc_e6 if command.amount_usdc is None else command.amount_usdc
    if amount < LEAST_TRANSFER_USDC_E6 or amount > funds.available_usdc_e6:
        _refuse_amount(command.amount_usdc, funds)
    account = lock_caller(call, caller)
    asked = _ask(
        call,
        wallet,
        account,
        _require_payee(call, account),
        amount,
        gas_kept_wei(funds.base_fee_wei),
    )
    left = usdc_text(funds.available_usdc_e6 - amount)
    return Answer(
        TransferAsked(transfer=_views(call, wallet, [asked], funds.used)[0], available_usdc=left),
        202,
    )


def transfers(call: Call, caller: AgentCaller, command: TransfersQuery) -> Answer[StarterTransfers]:
    """The wallet and its transfers, newest first.

    While no node answers the balance is null and the rest as the keeper has it.
    """
    wallet = _wallet(custody.find_wallet(call.db, caller.account_id))
    found = transfers_of(call.db, caller.account_id, command.cursor, command.limit + 1)
    page = found[: command.limit]
    try:
        funds = _funds(call, wallet, page)
    except OutsideError:
        funds = None
    return Answer(
        StarterTransfers(
            address=wallet.address,
            chain_id=call.deps.chain_id,
            balance_usdc=None if funds is None else usdc_text(funds.balance_usdc_e6),
            available_usdc=None if funds is None else usdc_text(funds.available_usdc_e6),
            transfers=_views(call, wallet, page, frozenset() if funds is None else funds.used),
            next_cursor=str(page[-1].outbox_id) if len(found) > command.limit else None,
        )
    )


# What may leave


def _funds(call: Call, wallet: SealedKey, shown: Sequence[Transfer]) -> _Funds:
    """Balance and authorizations at one block, by one node. It may be behind what the keeper saw of
    another one, so that what was paid is known by that block alone.

    Errors: those of chain reads.
    """
    chain = call.deps.chain
    with chain.rpc.pinned():
        header = chain.newest()
        at = datetime.fromtimestamp(header.timestamp, UTC)
        found = transfers_under_way(call.db, wallet.account_id, header.number, at)
        under_way = [_authorized(one) for one in found]
        nonces = dict.fromkeys(
            [*(one.nonce for one in under_way), *(_authorized(one).nonce for one in shown)]
        )
        held, used = chain.usdc_held(wallet.address, list(nonces), header.hash)
    balance = UsdcE6(held)
    free = available_usdc_e6(balance, under_way, used, UnixSeconds(header.timestamp))
    return _Funds(balance, free, used, header.base_fee_wei or 0)


def _authorized(one: Transfer) -> Authorized:
    return Authorized(
        authorization_nonce(one.key),
        one.amount_usdc_e6,
        UnixSeconds(int(one.expires_at.timestamp())),
    )


def _ask(
    call: WriteCall, wallet: SealedKey, account: Account, to: str, amount: UsdcE6, kept_wei: int
) -> Transfer:
    """Write it down.

    What all callers count in comes last, so that it is locked for as short as can be.
    """
    key = f"{KIND}:{secrets.token_hex(ID_BYTES)}"
    request = outbox.NewRequest(
        key=key,
        chain_id=call.deps.chain_id,
        kind=KIND,
        role=OF_REQUESTS,
        to=call.deps.contracts["usdc"],
        reason={
            "account_id": wallet.account_id,
            "from": wallet.address,
            "to": to,
            "amount_usdc": usdc_text(amount),
        },
    )
    expires_at = (call.now + GOOD_FOR).replace(microsecond=0)
    payer = RequestPayer(account_id=account.id, owner_id=account.owner_id)
    outbox_id = outbox.ask(call.db, request, call.now, payer)
    asked = Transfer(
        outbox_id=outbox_id,
        key=key,
        to=to,
        amount_usdc_e6=amount,
        expires_at=expires_at,
        created_at=call.now,
    )
    custody.add_transfer(call.db, wallet.account_id, asked, account.generation)
    room.take(call, payer, outbox_id, kept_wei)
    return asked


# What is refused


def _wallet(found: SealedKey | None) -> SealedKey:
    if found is None:
        raise Refusal(
            "not_found",
            "This account has no starter wallet; provision one first.",
            next_calls=("custody.provision",),
        )
    return found


def _key_maker(call: Call) -> KeyMaker:
    found = call.deps.parts.find(KeyMaker)
    if found is None:
        raise feature_off(
            "Starter wallets are off: the operator of this service must set CUSTODY_KEY. "
            "Meanwhile you can link a wallet of your own."
        )
    return found


def _require_openable(call: Call, wallet: SealedKey) -> None:
    try:
        _key_maker(call).require_known(wallet)
    except UnknownKeyVersionError as error:
        detail = (
            "The key of this wallet cannot be opened right now; nothing was moved. The "
            f"operator of this service must set the custody key of version {error.version} "
            "(CUSTODY_KEY or CUSTODY_OLD_KEYS). Send the call again later."
        )
        raise Refusal("temporarily_unavailable", detail) from None


def _require_place_today(call: Call, caller: AgentCaller) -> None:
    """Each transfer costs the service gas."""
    limit = call.deps.limits.custodial_transfers_per_day
    if custody.count_transfers(call.db, caller.account_id, start_of_day(call.now)) >= limit:
        detail = (
            f"This account has already asked for {limit} transfers today, the most that the "
            f"service pays gas for; ask again from 00:00 UTC on. {room.MEANWHILE}"
        )
        raise Refusal("rate_limited", detail, retry_at=next_day(call.now), next_calls=room.NEXT)


def _require_payee(call: Call, account: Account | None) -> str:
    """The wallet that may be paid now. Errors: Refusal wallet_not_linked, wallet_waits."""
    linked = None if account is None else address_or_none(account.wallet_address)
    if account is None or linked is None:
        _refuse_unlinked()
    if evictions.waits(account, call.now):
        detail = (
            f"{linked} was linked with the bearer token of connect, and your agent has an "
            "owner: the starter wallet pays it after a wait, or as soon as the owner "
            f"confirms it with POST /agents/{account.id}/wallet/confirm. Nothing was moved."
        )
        raise Refusal(
            "wallet_waits", detail, retry_at=account.wallet_payable_at, missing="owner_confirmation"
        )
    return linked


def _require_worth_its_gas(amount: UsdcE6 | None) -> None:
    if amount is not None and amount < LEAST_TRANSFER_USDC_E6:
        least = usdc_text(LEAST_TRANSFER_USDC_E6)
        detail = (
            f"amount_usdc: write at least {least}, or null for all; the service pays the "
            "gas, and a smaller transfer is not worth it."
        )
        raise Refusal("invalid_parameter", detail, next_calls=("custody.transfers",))


def _refuse_unlinked() -> NoReturn:
    raise Refusal(
        "wallet_not_linked",
        "The starter wallet pays only the linked wallet of its account, and none is linked: "
        "get a message from POST /auth/wallet/nonce with purpose link, sign it with your "
        "own wallet, and send it to POST /auth/wallet/link with connect's bearer token.",
        missing="linked_wallet",
    )


def _refuse_amount(asked: UsdcE6 | None, funds: _Funds) -> NoReturn:
    """`asked` None: all."""
    available, least = usdc_text(funds.available_usdc_e6), usdc_text(LEAST_TRANSFER_USDC_E6)
    wanted = "all" if asked is None else usdc_text(asked)
    detail = (
        f"amount_usdc: {available} is available and {wanted} was asked for; the balance is "
        f"{usdc_text(funds.balance_usdc_e6)}, the rest is under way. A transfer moves at least "
        f"{least}."
    )
    raise Refusal(
        "insufficient_idle", detail, remaining=available, next_calls=("custody.transfers",)
    )


# What is shown


def _views(
    call: Call, wallet: SealedKey, page: Sequence[Transfer], used: Collection[str]
) -> list[StarterTransfer]:
    states = outbox.states_of(call.db, [one.key for one in page])
    return [
        _view(wallet, one, states[one.key], authorization_nonce(one.key) in used) for one in page
    ]


def _view(
    wallet: SealedKey, one: Transfer, of: outbox.RequestState, is_used: bool
) -> StarterTransfer:
    state = transfer_state(of.state, is_used=is_used)
    was_paid_by_another = state is not transfer_state(of.state, is_used=False)
    return StarterTransfer(
        id=one.key.partition(":")[2],
        state=state,
        amount_usdc=usdc_text(one.amount_usdc_e6),
        from_address=wallet.address,
        to_address=one.to,
        tx_hash=None if was_paid_by_another else of.tx_hash,
        reason=why_not_paid(of.state, of.refused, state),
        created_at=instant_text(one.created_at),
        expires_at=instant_text(one.expires_at),
    )
