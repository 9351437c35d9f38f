"""What the API holds its callers to."""

from core.limits import CallerLimits


class Limits(CallerLimits):
    """The operator's figures (docs/operations.md), and two that no setting changes."""

    nonce_s: int = 300
    body_bytes: int = 256 * 1024
