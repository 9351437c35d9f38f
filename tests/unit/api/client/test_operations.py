"""The generated calls: all of the catalogue's, and none that it hasn't."""

import inspect
import json

import httpx

from api.catalogue import catalogue
from api.client import Client
from api.client.client import fill_path
from api.main import routed
from scripts import export_client
from tests.unit.api.client.service import Service


def test_the_file_is_what_the_document_says_now() -> None:
    assert export_client.FILE.read_text() == export_client.module(
        json.loads(export_client.DOCUMENT.read_text())
    )


def test_every_operation__is_one_method_of_its_area() -> None:
    client = Client("http://service.example")

    for operation in routed(catalogue()):
        area, _, name = operation.key.partition(".")
        assert inspect.ismethod(getattr(getattr(client, area), name)), operation.key


def test_every_method__sends_the_method_path_and_key_of_its_row() -> None:
    for operation in routed(catalogue()):
        row = operation
        service = Service([httpx.Response(200, json={})])
        area, _, name = row.key.partition(".")
        method = getattr(getattr(service.client(key="k", session="s", bearer="b"), area), name)
        needed = [
            one
            for one in inspect.signature(method).parameters.values()
            if one.default is inspect.Parameter.empty
        ]

        method(**{one.name: "1" for one in needed})

        in_path = {name: "1" for name in operation.command.model_fields if f"{{{name}" in row.path}
        assert (service.calls[0].method, service.calls[0].url.path) == (
            row.method,
            fill_path(row.path, in_path)[0],
        )
        assert ("Idempotency-Key" in service.calls[0].headers) is row.idempotent


def test_the_statuses_that_are_answers__name_rows() -> None:
    assert set(export_client.ALSO_ANSWERS) <= set(catalogue().by_key)
