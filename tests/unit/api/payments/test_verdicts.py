"""What a facilitator says no with reaches a caller as a sentence."""

from x402.mechanisms.evm.constants import (
    ERR_FAILED_TO_GET_NETWORK_CONFIG,
    ERR_FAILED_TO_VERIFY_SIGNATURE,
    ERR_VALID_BEFORE_EXPIRED,
)
from x402.mechanisms.evm.exact import eip3009_utils, facilitator

from api.payments import own_settler
from api.payments.payment_config import LEAST_LEFT_S
from api.payments.verdicts import NO_REASON, SENTENCES, sentence_of
from tests.each import each

# of the facilitator's own node or settings, not of a payment
OURS = {ERR_FAILED_TO_VERIFY_SIGNATURE, ERR_FAILED_TO_GET_NETWORK_CONFIG}
PENDING = {"settlement_pending"}
COMING = {
    value
    for module in (facilitator, eip3009_utils, own_settler)
    for name, value in vars(module).items()
    if name.startswith("ERR_") and isinstance(value, str)
}


@each("code", sorted(COMING - OURS - PENDING))
def test_each_code_that_can_come__names_a_field_its_rule_and_what_to_do(code: str) -> None:
    field, _, rule = SENTENCES[code].partition(": ")
    assert field.split(".")[0] in ("authorization", "payload", "accepted")
    assert ";" in rule
    assert sentence_of(code).endswith(f"({code})")


def test_a_code_that_nobody_knows__is_said_as_it_came() -> None:
    assert sentence_of("smells_bad") == "the facilitator says smells_bad"
    assert (sentence_of(None), sentence_of("")) == (NO_REASON, NO_REASON)


def test_the_least_time_left__is_in_the_sentence() -> None:
    assert f"at least {LEAST_LEFT_S} s must be left" in sentence_of(ERR_VALID_BEFORE_EXPIRED)
