"""`regard serve` as it is typed."""

import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

from regard.cli.app import app
from regard.errors import ConfigError, DataError
from regard.serve.asking import changes
from regard.serve.running import address, listen
from regard.serve.settings import ServeSettings
from tests.cli.toy import regard


def test_help_tells_defaults_that_are_true() -> None:
    told = CliRunner(env={"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "120"}).invoke(app, ["serve", "--help"]).stdout
    settings = ServeSettings()
    for value in (settings.host, settings.port, settings.workers):
        assert f"[default: ({value})]" in told or f"[default: {value}]" in told


def test_a_taken_port_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(ConfigError, match="--port"):
        listen(ServeSettings(port=taken.getsockname()[1]))


def test_the_address_is_one_a_browser_can_open() -> None:
    with listen(ServeSettings(port=0, host="0.0.0.0")) as listening:
        assert address(listening) == f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--set", "serve.quue=5"], "Did you mean 'queue'"),
        (["--port", "70000"], "port = 70000"),
        (["--set", "serve.deadline=0"], "deadline = 0"),
        (["--api-key-file", "/nowhere/keys"], "API keys"),
    ],
)
def test_a_wrong_setting_is_told_before_anything_is_loaded(words: list[str], sentence: str) -> None:
    told = regard("serve", "/nowhere", *words)
    assert isinstance(told.exception, ConfigError)
    assert sentence in str(told.exception)


def test_a_bundle_that_is_not_there_is_an_error_of_ours(tmp_path: Path) -> None:
    told = regard("serve", tmp_path / "none", "--port", "0")
    assert isinstance(told.exception, DataError)


def test_listening_for_other_machines_without_a_key_warns_loudly(tmp_path: Path) -> None:
    warned = regard("serve", tmp_path / "none", "--port", "0", "--host", "0.0.0.0")
    assert "ANYONE WHO REACHES THIS MACHINE" in warned.stderr
    keys = tmp_path / "keys"
    keys.write_text("a-long-enough-key\n", "utf-8")
    quiet = regard("serve", tmp_path / "none", "--port", "0", "--host", "0.0.0.0", "--api-key-file", keys)
    assert "ANYONE" not in quiet.stderr
    assert "ANYONE" not in regard("serve", tmp_path / "none", "--port", "0").stderr


def test_settings_of_a_request_become_changes_that_read_back() -> None:
    from regard.config import override

    given = {
        "search": {"length": {"name": "wu", "alpha": 0.6}},
        "predict.system": 'say "hi"\n\t\\ 你好 \x00',
        "search.top_k": None,
    }
    made = override({}, changes(given))
    assert made["search"]["length"] == {"name": "wu", "alpha": 0.6}
    assert made["search"]["top_k"] is False
    assert made["predict"]["system"] == given["predict.system"]
