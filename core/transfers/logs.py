"""Transfer logs of a token, read from a receipt. Only the token's own contract is believed."""

from core.chain.abi import events_by_topic, topic_of
from core.chain.blocks import TransactionReceipt
from core.transfers.rules import TokenTransfer

TRANSFER = events_by_topic()[topic_of("Transfer")]


def transfers_of(receipt: TransactionReceipt, token: str) -> tuple[TokenTransfer, ...]:
    """Every transfer of that token in the transaction, in order.

    Errors: AbiDecodeError when the token breaks its own ABI.
    """
    return tuple(
        TokenTransfer(
            from_=values["from"],
            to=values["to"],
            amount_e6=values["value"],
            log_index=log.log_index,
        )
        for log in receipt.logs
        if log.address == token and log.topics and log.topics[0] == TRANSFER.topic
        for values in [TRANSFER.decode(log.topics, log.data)]
    )
