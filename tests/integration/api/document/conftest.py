"""The stage of the mandate tests, for the rows of the wallet's document."""

from tests.integration.api.mandates.conftest import chain, deps, stage

__all__ = ["chain", "deps", "stage"]
