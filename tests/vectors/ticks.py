"""Write tests/vectors/ticks.json: amounts at prices of 1.0001^tick, and the factors of
contracts/libraries/TickLib.sol.

`python -m tests.vectors.ticks`

Computed with 200 digits, by no formula of the contract's. `quotes[n]` is `amounts[n]` times
1.0001^`ticks[n]`, rounded down; `factors[n]` is 1.0001^(2^n) in units of 2^-64, rounded down.
"""

import json
from decimal import Context, Decimal
from pathlib import Path

FILE = Path(__file__).resolve().with_suffix(".json")
EXACT = Context(prec=200)
BASE = Decimal("1.0001")
MOST = 887_272  # of either sign, by Uniswap
BITS = 20
STEP = 4_409  # a prime, so that all bits of a tick change


def power(tick: int) -> Decimal:
    return EXACT.power(BASE, tick)


def ticks() -> list[int]:
    edges = {0, 1, MOST - 1, MOST, *(2**bit + by for bit in range(1, BITS) for by in (-1, 0, 1))}
    return sorted({sign * tick for tick in edges | {*range(7, MOST, STEP)} for sign in (1, -1)})


def amount_at(tick: int) -> int:
    """Large enough that the quote has six digits at least, so that its rounding does not hide an
    error.
    """
    return 10**18 + 7 * abs(tick) if tick >= 0 else (10**12 << 128) + 7 * abs(tick)


def vectors() -> dict[str, list[str]]:
    found = ticks()
    quotes = [int(EXACT.multiply(amount_at(tick), power(tick))) for tick in found]
    factors = [int(EXACT.multiply(power(2**bit), 2**64)) for bit in range(BITS)]
    return {
        "ticks": [str(tick) for tick in found],
        "amounts": [str(amount_at(tick)) for tick in found],
        "quotes": [str(quote) for quote in quotes],
        "factors": [hex(factor) for factor in factors],
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(vectors(), indent=1) + "\n")
