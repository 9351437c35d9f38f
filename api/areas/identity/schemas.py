"""Commands and answers of sign-in and registration (docs/identity.md)."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from api.kernel.fields import AccountId, Address, Signature
from api.kernel.operation import AnswerBody, Command

# Printable by Unicode, and they show nothing: fillers of Hangul, Khmer and Mongolian, a joiner of
# graphemes, blank Braille.
BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
# These choose a form of the character before them, as emoji have it; alone they show nothing.
SELECTORS = frozenset(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))


def _printable(name: str) -> str:
    if not name.isprintable() or name != name.strip():
        raise PydanticCustomError(
            "printable", "write printable characters, without spaces at the ends"
        )
    if BLANKS & set(name) or set(name) <= SELECTORS:
        raise PydanticCustomError(
            "printable", "write characters that can be seen; this has one that shows nothing"
        )
    return name


AgentName = Annotated[str, Field(min_length=1, max_length=80), AfterValidator(_printable)]
Message = Annotated[
    str,
    Field(
        min_length=1,
        description="what the wallet signed: the text of /auth/wallet/nonce, or a message of EIP-4361 "
        "with its nonce",
    ),
]


class Nonce(Command):
    wallet_address: Address
    purpose: Literal["register", "link", "login", "self", "unlink"] = "register"
    record_sha256: (
        Annotated[
            str,
            Field(pattern=r"^[0-9a-f]{64}$", description="of the self record, for purpose self"),
        ]
        | None
    ) = None
    agent_id: AccountId | None = Field(
        default=None, description="the agent whose wallet its owner unlinks, for purpose unlink"
    )


class NonceIssued(AnswerBody):
    nonce: str
    message: str = Field(description="a full EIP-4361 text; sign it as it is (personal_sign)")
    expires_at: str


class Login(Command):
    message: Message
    signature: Signature
    end_other_sessions: bool = Field(
        default=False, description="end every other session of this owner at once"
    )


class LoggedIn(AnswerBody):
    bearer_token: str = Field(description="the owner's session; shown once")
    expires_at: str
    wallet_address: str


class Connect(Command):
    agent_name: AgentName


class Connected(AnswerBody):
    api_key: str = Field(description="shown once")
    recovery_code: str = Field(description="shown once")
    user_id: int
    bearer_token: str = Field(
        description="for wallet registration only, for 24 hours at most; shown once"
    )
    welcome_credit_granted: bool


class Register(Command):
    wallet_address: Address
    signature: Signature
    message: Message | None = None
    agent_name: AgentName


class RegisterExternal(Command):
    external_id: Annotated[
        str,
        Field(min_length=1, max_length=128, description="the other system's id"),
        AfterValidator(_printable),
    ]
    agent_name: AgentName


class RegisteredExternal(Connected):
    recovery_agent_name: str = Field(description="send it as agent_name when you recover")


class Recover(Command):
    recovery_code: Annotated[str, Field(min_length=1, max_length=200)]
    agent_name: AgentName | None = Field(
        default=None, description="recovery_agent_name, for agents of /mining/register"
    )


class Recovered(AnswerBody):
    api_key: str = Field(description="shown once; the old key is dead")
    recovery_code: str = Field(description="shown once; the old code is dead")
    user_id: int
    bearer_token: str = Field(description="for 24 hours at most; shown once; the old token is dead")


class LinkWallet(Command):
    wallet_address: Address
    signature: Signature
    message: Message | None = None


class WalletStatus(AnswerBody):
    registered: bool
    wallet_address: str | None
    wallet_payable_at: str | None = Field(
        description="from when the account's starter wallet pays it; null: no wallet is linked"
    )


class Done(AnswerBody):
    ok: bool
