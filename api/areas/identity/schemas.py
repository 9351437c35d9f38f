"""Commands and answers of sign-in and registration (docs/identity.md)."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from api.kernel.fields import AccountId, Address, Signature
from api.kernel.operation import AnswerBody, Command
from api.kernel.texts import FreeText


def _plainly_spaced(name: str) -> str:
    if name != name.strip() or any(one.isspace() and one != " " for one in name):
        raise PydanticCustomError(
            "invalid_parameter", "leave out spaces at the ends, and write only the ordinary space"
        )
    return name


PLAINLY_SPACED = AfterValidator(_plainly_spaced)
NAME_CHARACTERS = 80
AgentName = Annotated[str, FreeText(NAME_CHARACTERS), PLAINLY_SPACED]
Message = Annotated[
    str,
    Field(
        min_length=1,
        description="the message that the wallet signed: the text from /auth/wallet/nonce, or an "
        "EIP-4361 message with its nonce",
    ),
]


class Nonce(Command):
    wallet_address: Address
    purpose: Literal["register", "link", "login", "self", "unlink"] = "register"
    record_sha256: (
        Annotated[
            str,
            Field(pattern=r"^[0-9a-f]{64}$", description="for purpose self: of the self record"),
        ]
        | None
    ) = None
    agent_id: AccountId | None = Field(
        default=None,
        description="for purpose unlink only: the agent whose wallet its owner unlinks",
    )


class NonceIssued(AnswerBody):
    nonce: str
    message: str = Field(description="a full EIP-4361 text; sign it unchanged (personal_sign)")
    expires_at: str


class Login(Command):
    message: Message
    signature: Signature
    end_other_sessions: bool = Field(
        default=False, description="end every other session of this owner at once"
    )


class LoggedIn(AnswerBody):
    bearer_token: str = Field(description="session token of the owner; shown once")
    expires_at: str
    wallet_address: str


class Connect(Command):
    agent_name: AgentName


class Connected(AnswerBody):
    api_key: str = Field(description="shown once")
    recovery_code: str = Field(description="shown once")
    user_id: int
    bearer_token: str = Field(
        description="for calls with credential bearer, 24 hours at most; shown once"
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
        FreeText(128, exact=True),
        PLAINLY_SPACED,
        Field(description="the agent's id in the other system"),
    ]
    agent_name: AgentName


class RegisteredExternal(Connected):
    recovery_agent_name: str = Field(description="pass it as agent_name when you recover the agent")


class Recover(Command):
    recovery_code: Annotated[str, Field(min_length=1, max_length=200)]
    # compared with what was given out, never kept
    agent_name: Annotated[str, Field(min_length=1, max_length=NAME_CHARACTERS)] | None = Field(
        default=None,
        description="for agents registered with /mining/register: the recovery_agent_name from "
        "its answer",
    )


class Recovered(AnswerBody):
    api_key: str = Field(description="shown once; the old one no longer works")
    recovery_code: str = Field(description="shown once; the old one no longer works")
    user_id: int
    bearer_token: str = Field(
        description="for 24 hours at most; shown once; the old one no longer works"
    )


class LinkWallet(Command):
    wallet_address: Address
    signature: Signature
    message: Message | None = None


class WalletStatus(AnswerBody):
    registered: bool
    wallet_address: str | None
    wallet_payable_at: str | None = Field(
        description="from when the starter wallet may pay the linked wallet; null: no wallet is "
        "linked"
    )


class Done(AnswerBody):
    ok: bool
