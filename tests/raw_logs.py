"""Logs as the domain has them, of plain JSON."""

import json
from collections.abc import Mapping
from typing import Any

from core.chain import results
from core.chain.blocks import RawLog


def log_of(raw: Mapping[str, Any]) -> RawLog:
    (log,) = results.logs(json.dumps([raw]).encode())
    return log
