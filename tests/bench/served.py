"""`make bench-api`: the kernel's cost, what paying costs, reads of long ledgers, and what a hostile
caller and a flood of the tool endpoint cost the others, and what 500 accounts of one person get.

The last line is one JSON object with the figures of all six. Figures are shown, not judged.
"""

import json

from tests.bench import api, hostile, long_ledgers, payments, sybils, tool_flood

PARTS = (api, payments, long_ledgers, hostile, tool_flood, sybils)


def main() -> None:
    figures: dict[str, object] = {}
    for part in PARTS:
        figures |= part.measure()
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
