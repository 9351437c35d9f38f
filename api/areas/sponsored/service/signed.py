"""Whether both signatures are the buyer's own, and the ones that were handed in."""

from api.areas.sponsored.schemas import HandInBuy
from api.areas.sponsored.service.next_calls import quoted_again, state_of_buy
from api.kernel.operation import Call, Refusal
from core.chain.signatures import recovered_address
from core.sponsored import documents
from core.sponsored.tables import SponsoredBuy
from core.times import instant_text


def require_signed(call: Call, found: SponsoredBuy, command: HandInBuy) -> None:
    usdc = call.deps.contracts["usdc"]
    purchase = documents.purchase_document(usdc, found).digest
    fee = documents.fee_document(usdc, found).digest
    for field, signature, digest, other in (
        ("purchase_signature", command.purchase_signature, purchase, fee),
        ("fee_signature", command.fee_signature, fee, purchase),
    ):
        if recovered_address(digest, signature) != found.buyer:
            how = "sign it as it is, with the buyer's own key, s in the lower half"
            if recovered_address(other, signature) == found.buyer:
                how = "it signs the other one of the two, so give each signature in its own field"
            raise Refusal(
                "signature_invalid",
                f"{field}: it is not {found.buyer}'s signature of the document that was prepared; "
                f"{how}, and hand both in before "
                f"{instant_text(found.expires_at)}. Nothing was written.",
                next_calls=(state_of_buy(found), quoted_again(found)),
            )


def require_same(found: SponsoredBuy, command: HandInBuy) -> None:
    for field in ("purchase_signature", "fee_signature"):
        if getattr(command, field).lower() != getattr(found, field):
            raise Refusal(
                "already_handed_in",
                f"{field}: buy {found.id} was already handed in with another signature, "
                "which counts. Read what became of it.",
                next_calls=(state_of_buy(found),),
            )
