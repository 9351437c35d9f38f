"""`make bench-api`: the kernel's cost, what paying costs, and reads of long books, one after the other.

The last line is one JSON object with the figures of all three. Figures are shown, not judged.
"""

import json

from tests.bench import api, long_books, payments

PARTS = (api, payments, long_books)


def main() -> None:
    figures: dict[str, object] = {}
    for part in PARTS:
        figures |= part.measure()
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
