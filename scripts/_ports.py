"""Ports of the local stack: those that the environment names, or free ones."""

import os
import socket
from dataclasses import dataclass

from scripts._processes import StackError


@dataclass(frozen=True, slots=True)
class Ports:
    api: int
    rpc: int

    @classmethod
    def from_environment(cls) -> "Ports":
        """Errors: StackError for one that is not a port."""
        ports = {}
        for name, default in (("PORT", "8000"), ("RPC_PORT", "8545")):
            given = os.environ.get(name) or default
            if not given.isascii() or not given.isdigit() or not 0 < int(given) < 65_536:
                raise StackError(f"{name} is {given!r}: give a number from 1 to 65535")
            ports[name] = int(given)
        if ports["PORT"] == ports["RPC_PORT"]:
            raise StackError(f"PORT and RPC_PORT are both {ports['PORT']}: give two numbers")
        return cls(api=ports["PORT"], rpc=ports["RPC_PORT"])

    @classmethod
    def free(cls) -> "Ports":
        """Two ports that nobody listens on now."""
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            second.bind(("127.0.0.1", 0))
            return cls(api=first.getsockname()[1], rpc=second.getsockname()[1])

    def require_free(self) -> None:
        for variable, port, what in (
            ("PORT", self.api, "the API"),
            ("RPC_PORT", self.rpc, "the chain"),
        ):
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind(("127.0.0.1", port))
                except PermissionError:
                    raise StackError(
                        f"port {port}, meant for {what}, is one that this account may not open. "
                        f"Choose another, for example: {variable}={port + 8000} make up"
                    ) from None
                except OSError:
                    raise StackError(
                        f"port {port}, meant for {what}, is in use by another program. "
                        f"Choose another, for example: {variable}={port + 100} make up"
                    ) from None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
