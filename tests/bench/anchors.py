"""The tree of 100,000 heads: `python -m tests.bench.anchors`.

Built from nothing (at most 60 s), an hour in which 1,000 mandates changed, and proofs (at most 1 KB of text).
"""

import random
import re
import time
from pathlib import Path

from core.anchors.rules import (
    KEY_BITS,
    HeadProof,
    grown,
    is_anchored,
    key_of,
    leaf_of,
    path_of,
    paths_above,
    proof_of,
    value_of,
)

MANDATES, CHANGED, PROOFS = 100_000, 1_000, 2_000
MOST_BUILD_S, MOST_PROOF, MOST_GAS = 60.0, 1_024, 50_000
ROW = bytes(32)
GAS = Path(__file__).parents[2] / "docs" / "gas.md"


def main() -> None:
    names = [f"m_{number:010}" for number in range(MANDATES)]
    begun = time.monotonic()
    leaves = {key: leaf_of(key, value_of(1, ROW)) for key in map(key_of, names)}
    keys = sorted(leaves)
    root, nodes = grown(keys, leaves, keys, {})
    built_s = time.monotonic() - begun
    most = 0
    for name in random.Random(1).sample(names, PROOFS):
        key = key_of(name)
        paths = {depth: path_of(key, depth) for depth in range(KEY_BITS)}
        proof = proof_of(key, {d: nodes[path] for d, path in paths.items() if path in nodes})
        assert is_anchored(root, name, 1, ROW, HeadProof.of_text(proof.text()))
        most = max(most, len(proof.text()))
    begun = time.monotonic()
    changed = sorted(map(key_of, names[:CHANGED]))
    leaves |= {key: leaf_of(key, value_of(2, ROW)) for key in changed}
    before = {path: nodes[path] for path in set(paths_above(keys, changed))}
    grown(keys, leaves, changed, before)
    hour_s = time.monotonic() - begun
    told = re.search(r"\| `anchor` \| ([\d,]+) \|", GAS.read_text())
    assert told is not None
    gas = int(told[1].replace(",", ""))
    print(f"built in {built_s:.1f} s, an hour in {hour_s:.2f} s, proof {most} bytes, gas {gas:,}")
    assert built_s <= MOST_BUILD_S
    assert most <= MOST_PROOF
    assert gas <= MOST_GAS


if __name__ == "__main__":
    main()
