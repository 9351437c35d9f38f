"""How a variable of the environment is read: what is around its text, and the texts that several
settings are.

One file of settings is read by a shell, systemd and compose, which leave different things around a
value: blanks, a carriage return, quotes. None of them belongs to it. Nor does what copying from a page
leaves there, which nobody sees: it is refused.
"""

import unicodedata
from ipaddress import ip_network
from typing import Annotated, Any, ClassVar, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from core.errors import InvalidParameterError
from core.hexes import read_account

DRIVER = "postgresql+psycopg"
QUOTES = ("'", '"')
_TYPOGRAPHIC = ("Pi", "Pf")  # categories of quotes


def unquoted(text: str) -> str:
    """Without the blanks around it, or one pair of quotes; what they enclose is taken as it is.

    Errors: ValueError for a quote at one end alone; and without quotes those of `_typed`.
    """
    bare = text.strip()
    ends = {end for end in (bare[:1], bare[-1:]) if end in QUOTES}
    if not ends:
        return _typed(bare)
    if len(bare) < 2 or bare[0] != bare[-1]:
        raise ValueError("it has a quote at one end only; remove it, or write one at each end")
    return bare[1:-1]


def _typed(bare: str) -> str:
    """The same. Errors: ValueError for a typographic quote at an end, and for what nobody sees."""
    for one in bare:
        if unicodedata.category(one) == "Cf" or (one < " " and one not in "\t\r\n"):
            raise ValueError(
                f"it has U+{ord(one):04X}, which nobody sees; type it again, or in quotes to keep it"
            )
    for end in {bare[:1], bare[-1:]} - {""}:
        if unicodedata.category(end) in _TYPOGRAPHIC:
            raise ValueError(f"U+{ord(end):04X} is at an end of it; drop it, or write \" or '")
    return bare


class Environment(BaseSettings):
    """Settings as the environment has them; an empty one is as one that is not set."""

    takes_half_quotes: ClassVar[bool] = False

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Errors: InvalidParameterError naming the variable."""
        assert isinstance(env_settings, EnvSettingsSource)
        read = {
            name: cls._read(name, text)
            for name, text in env_settings.env_vars.items()
            if name in settings_cls.model_fields and text is not None
        }
        env_settings.env_vars = {name: text for name, text in read.items() if text.strip()}
        return init_settings, env_settings

    @classmethod
    def _read(cls, name: str, text: str) -> str:
        try:
            return unquoted(text)
        except ValueError as error:
            if cls.takes_half_quotes:
                return text
            raise InvalidParameterError(name.upper(), str(error)) from None


def optional(says: str) -> Any:
    """A field that need not be set."""
    return Field(default=None, description=says)


def split(value: Any) -> Any:
    """A list is written with commas."""
    if not isinstance(value, str):
        return value
    return [part.strip() for part in value.split(",") if part.strip()]


def _http_url(text: str) -> str:
    try:
        parts = urlsplit(text)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    if not is_url or not text.isprintable() or " " in text:
        raise ValueError("write http(s)://host:port")
    return text


def _database_url(text: str) -> str:
    try:
        is_ours = make_url(text).drivername == DRIVER
    except (ArgumentError, ValueError):
        is_ours = False
    if not is_ours:
        raise ValueError(f"write {DRIVER}://user:password@host:port/database")
    return text


def _network(text: str) -> str:
    try:
        return str(ip_network(text, strict=False))
    except ValueError:
        raise ValueError("write an IP address or a network, 10.0.0.0/8") from None


BY_COMMAS: Final = BeforeValidator(split)
DatabaseUrl = Annotated[str, AfterValidator(_database_url)]
HttpUrl = Annotated[str, AfterValidator(_http_url)]
Account = Annotated[str, AfterValidator(read_account)]
Network = Annotated[str, AfterValidator(_network)]
