"""Numbers that look random and are a function of their keys, so that any moment is computed again
without those before it.

    key     a hash of names (seed, exchange, base, purpose), one per row
    noise   value noise in (-1, 1): hashed values at whole multiples of a period, eased in between

Rows are keys (R, 1), columns are times (1, C); an answer is (R, C) float64.
"""

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]
Seconds = NDArray[np.int64]

_STEP: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX_1: Final = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2: Final = np.uint64(0x94D049BB133111EB)
_UNIT: Final = 2.0**-53


@lru_cache(maxsize=65_536)
def key_of(*names: str | int) -> int:
    """64 bits of the names, the same on every machine."""
    text = "\x1f".join(map(str, names)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def keys_of(names: Iterable[tuple[str | int, ...]]) -> Keys:
    """A column of keys, (R, 1)."""
    return np.array([key_of(*one) for one in names], dtype=np.uint64).reshape(-1, 1)


def mixed(keys: Keys, numbers: NDArray[np.int64]) -> Keys:
    """A hash of each key with each number: SplitMix64's finaliser."""
    z = np.asarray(keys + numbers.astype(np.uint64) * _STEP)
    for shift, factor in ((np.uint64(30), _MIX_1), (np.uint64(27), _MIX_2)):
        z ^= z >> shift
        z *= factor
    z ^= z >> np.uint64(31)
    return z


def uniform(hashes: Keys) -> Floats:
    """In [0, 1)."""
    return np.asarray((hashes >> np.uint64(11)).astype(np.float64) * _UNIT)


def noise(keys: Keys, at_s: Seconds, period_s: int) -> Floats:
    """Smooth, in (-1, 1), with a new value each `period_s`."""
    whole, rest = np.divmod(at_s, period_s)
    eased = rest / period_s
    eased = eased * eased * (3.0 - 2.0 * eased)
    first, last = int(whole.min()), int(whole.max())
    if last - first < whole.size:  # several moments have the same values beside them
        values = _values(keys, np.arange(first, last + 2))
        before, after = (np.take(values, whole - first + more, axis=1) for more in (0, 1))
    else:
        before, after = _values(keys, whole), _values(keys, whole + 1)
    after -= before
    after *= eased
    after += before
    return after


def _values(keys: Keys, knots: NDArray[np.int64]) -> Floats:
    found = uniform(mixed(keys, knots.reshape(1, -1)))
    found *= 2.0
    found -= 1.0
    return found


def walk(keys: Keys, at_s: Seconds, per_day: float, periods_s: Iterable[int]) -> Floats:
    """Like a random walk with the standard deviation `per_day`: each period adds the square root of
    its share of a day.
    """
    total = np.zeros((keys.shape[0], at_s.size))
    for number, period_s in enumerate(periods_s):
        step = noise(mixed(keys, np.array([[number]])), at_s, period_s)
        step *= per_day * (period_s / 86_400) ** 0.5
        total += step
    return total
