"""Unit tests open no socket to a network: whoever tries gets a SocketBlockedError. asyncio's own
socket pairs are Unix sockets.
"""

import pytest_socket


def pytest_runtest_setup() -> None:
    pytest_socket.disable_socket(allow_unix_socket=True)  # taken back by the plugin after each test
