"""The Python client of the service: typed calls, credentials, safe repetition, payment within
limits.

It is independent: nothing of it imports the service. httpx is needed; eth-account only to sign in,
to sign terms and to pay.
"""

from api.client.client import Client
from api.client.payments import Payer, Receipt
from api.client.refusal import ClientError, NotPaid, Refused, Unreachable
from api.client.signing import sign_text, sign_typed_data
from api.client.transport import Retries
from api.client.wallet import Wallet

__all__ = [
    "Client",
    "ClientError",
    "NotPaid",
    "Payer",
    "Receipt",
    "Refused",
    "Retries",
    "Unreachable",
    "Wallet",
    "sign_text",
    "sign_typed_data",
]
