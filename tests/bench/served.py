"""`make bench-api`: the API beside a plain twin, reads of long ledgers, and what a hostile caller costs the
others. The last line is one JSON object with the figures of all. Figures are shown, not judged.
"""

import json

from tests.bench import api, hostile, long_ledgers


def main() -> None:
    print(json.dumps(api.measure() | long_ledgers.measure() | hostile.measure()))


if __name__ == "__main__":
    main()
