"""What a sponsored buy may be asked for: its amount, and whose it is."""

from api.areas.sponsored.schemas import PrepareBuy
from api.areas.sponsored.service.next_calls import OWN_GAS, asked_again, first_quote
from api.kernel.caller import AgentCaller
from api.kernel.operation import Call, Refusal
from core.money import UsdcE6, usdc_text
from core.sponsored.rules import LEAST_USDC_E6, MOST_USDC_E6


def require_amount(asked: PrepareBuy) -> None:
    least, most = usdc_text(LEAST_USDC_E6), usdc_text(MOST_USDC_E6)
    if asked.usd < LEAST_USDC_E6:
        raise Refusal(
            "below_minimum",
            f"usd: a sponsored buy needs at least {least} USDC, and you asked for "
            f"{usdc_text(asked.usd)}; buy smaller amounts with your own gas.",
            next_calls=(asked_again(asked, usd=LEAST_USDC_E6), OWN_GAS),
        )
    if asked.usd > MOST_USDC_E6:
        raise Refusal(
            "invalid_parameter",
            f"usd: write at most {most}.",
            next_calls=(asked_again(asked, usd=MOST_USDC_E6),),
        )


def require_buyer(call: Call, caller: AgentCaller, asked: PrepareBuy) -> None:
    if not int(asked.buyer, 16):
        own = caller.wallet_address
        raise Refusal(
            "invalid_parameter",
            "buyer: write the address of the wallet that pays and signs; the zero address has no key.",
            next_calls=() if own is None else (asked_again(asked, buyer=own),),
        )
    require_plain(call, caller, asked.buyer, asked.usd)


def require_plain(call: Call, caller: AgentCaller, buyer: str, usd: UsdcE6) -> None:
    if call.deps.chain.code_at(buyer):
        own = caller.wallet_address
        other = () if own is None or own == buyer else (first_quote(own, usd),)
        raise Refusal(
            "buyer_has_code",
            f"buyer: there is code at {buyer} (a contract wallet, or a delegation of "
            "EIP-7702), which may refuse what it signed. Name a wallet that has only a key, "
            "or buy with your own gas.",
            next_calls=(*other, OWN_GAS),
        )
