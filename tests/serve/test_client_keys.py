"""Where a key is needed, every client brings it in its own way."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError

import openai
import pytest
from huggingface_hub import InferenceClient
from huggingface_hub.errors import HfHubHTTPError
from libretranslatepy import LibreTranslateAPI
from openai import OpenAI

from regard.serve.settings import ServeSettings
from tests.serve.client_bundles import Server, served

KEY = "a-key-of-ours"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("keys")
    (folder / "keys.txt").write_text(f"{KEY}\n", "utf-8")
    with served(["en-to-de", "story"], folder, ServeSettings(api_key_file=folder / "keys.txt")) as running:
        yield running


def test_openais_client_sends_it_as_its_own(server: Server) -> None:
    with OpenAI(base_url=f"{server.url}/v1", api_key=KEY, max_retries=0) as client:
        assert client.completions.create(model="story", prompt="Who", max_tokens=1).choices
    other = OpenAI(base_url=f"{server.url}/v1", api_key="another", max_retries=0)
    with other, pytest.raises(openai.AuthenticationError):
        other.completions.create(model="story", prompt="Who")


def test_libretranslates_client_sends_it_in_the_body(server: Server) -> None:
    client = LibreTranslateAPI(server.url, KEY)
    assert client.translate("Who?", "en", "de")
    assert client.detect("Who?")[0]["language"] == "en"
    assert client.languages()
    for key in (None, "another"):
        with pytest.raises(HTTPError) as caught:
            LibreTranslateAPI(server.url, key).translate("Who?", "en", "de")
        assert caught.value.code in (401, 403)
        assert json.loads(caught.value.read())["error"]
        caught.value.close()


def test_hugging_faces_client_sends_it_as_its_token(server: Server) -> None:
    assert InferenceClient(model=f"{server.url}/hf/en-to-de", token=KEY).translation("Who?")
    with pytest.raises(HfHubHTTPError) as caught:
        InferenceClient(model=f"{server.url}/hf/en-to-de", token="another").translation("Who?")
    assert caught.value.response.status_code == 401
