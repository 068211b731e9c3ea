"""Who may ask, from where."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from regard.errors import ConfigError
from regard.serve.keys import Keys, in_body
from regard.serve.problems import HUGGING_FACE, LIBRETRANSLATE
from regard.serve.settings import ServeSettings
from tests.serve.conftest import Server, serving

KEY = "correct-horse-battery"


@pytest.fixture(scope="module")
def locked(bundles: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service that asks for a key, and lets pages of one site ask."""
    file = tmp_path_factory.mktemp("keys") / "keys.txt"
    file.write_text(f"# ours\n\nanother-key\n  {KEY}  \n", "utf-8")
    settings = ServeSettings(api_key_file=file, cors=("https://example.org",))
    with serving([bundles["translation"], bundles["language"]], settings) as running:
        yield running


def routes(server: Server) -> list[tuple[str, str]]:
    described = httpx.get(f"{server.url}/openapi.json").json()["paths"]
    return [(method.upper(), path) for path, methods in described.items() for method in methods]


def test_every_route_that_carries_data_needs_a_key(locked: Server) -> None:
    checked = 0
    for method, path in routes(locked):
        answer = httpx.request(method, locked.url + path.replace("{name}", "translation"), json={})
        if path.startswith("/health/"):
            assert answer.status_code == 200
        else:
            assert answer.status_code == 401, path
            assert answer.headers["www-authenticate"] == "Bearer"
            error = answer.json()["error"]
            plain = path in LIBRETRANSLATE or path.startswith(HUGGING_FACE)
            assert "API key" in (error if plain else error["message"])
            assert plain or error["type"] == "invalid_api_key"
            checked += 1
    assert checked >= 8
    assert httpx.get(f"{locked.url}/metrics").status_code == 401
    assert httpx.get(f"{locked.url}/nowhere").status_code == 401
    assert httpx.post(f"{locked.url}/health/live").status_code == 401


@pytest.mark.parametrize(
    "path", ["/docs", "/docs/reference.js", "/docs/reference.css", "/health/ready", "/openapi.json"]
)
def test_what_carries_no_data_is_open(locked: Server, path: str) -> None:
    assert httpx.get(locked.url + path).status_code == 200


@pytest.mark.parametrize(
    "headers", [{"authorization": f"Bearer {KEY}"}, {"x-api-key": KEY}, {"x-api-key": "another-key"}]
)
def test_a_key_of_the_file_lets_in(locked: Server, headers: dict[str, str]) -> None:
    assert httpx.get(f"{locked.url}/v1/models", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer wrong"},
        {"authorization": f"Basic {KEY}"},
        {"authorization": "Bearer"},
        {"authorization": f"Bearer {KEY[:-1]}"},
        {"x-api-key": "# ours"},
        {"x-api-key": ""},
        {},
    ],
)
def test_anything_else_does_not(locked: Server, headers: dict[str, str]) -> None:
    assert httpx.get(f"{locked.url}/v1/models", headers=headers).status_code == 401
    assert httpx.get(f"{locked.url}/v1/models?api_key={KEY}", headers=headers).status_code == 401


def test_translate_finds_its_key_in_a_form_or_in_json(locked: Server) -> None:
    asked = {"q": "dog", "source": "en", "target": "de"}
    for body in ({"data": asked}, {"json": asked}, {"data": {**asked, "api_key": "wrong"}}, {"json": {"api_key": 5}}):
        assert httpx.post(f"{locked.url}/translate", **body).status_code == 401  # type: ignore[arg-type]
    parts = {name: (None, text) for name, text in {**asked, "api_key": KEY}.items()}
    for body in ({"data": {**asked, "api_key": KEY}}, {"json": {**asked, "api_key": KEY}}, {"files": parts}):
        assert httpx.post(f"{locked.url}/translate", **body, timeout=60).status_code != 401  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "part",
    [
        b'Content-Disposition: form-data; name="api_key"\r\n\r\n',
        b'Content-Disposition: form-data; name="api_key"\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n',
        b'Content-Type: text/plain\r\ncontent-disposition: form-data; name=api_key; filename="x"\r\n\r\n',
    ],
)
def test_a_key_is_found_in_a_part_of_a_form_however_it_is_headed(part: bytes) -> None:
    before = b'--x\r\nContent-Disposition: form-data; name="q"\r\n\r\nmy api_key\r\n--x\r\n'
    assert in_body(before + part + KEY.encode() + b"\r\n--x--\r\n", b"") == KEY
    assert in_body(before, b"") is None
    other = part.replace(b"api_key", b"old_api_key")
    assert in_body(before + other + KEY.encode() + b"\r\n--x--\r\n", b"") is None


def test_pages_of_other_sites_may_read_only_where_they_are_let(locked: Server, server: Server) -> None:
    asking = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}
    for url, origin, let in [
        (locked.url, "https://example.org", True),
        (locked.url, "https://evil.example", False),
        (locked.url, "null", False),
        (server.url, "https://example.org", False),
    ]:
        for answer in (
            httpx.options(f"{url}/v1/predict", headers={"origin": origin, **asking}),
            httpx.get(f"{url}/health/live", headers={"origin": origin}),
        ):
            assert answer.headers.get("access-control-allow-origin") == (origin if let else None)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "user@localhost", "a b"]
)
def test_without_a_key_another_name_for_this_machine_is_refused(server: Server, host: str) -> None:
    assert httpx.get(f"{server.url}/v1/models", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1", "[::1]:80"])
def test_this_machine_by_its_own_names_is_not(server: Server, host: str) -> None:
    assert httpx.get(f"{server.url}/health/live", headers={"host": host}).status_code == 200


def test_behind_a_proxy_a_path_before_ours_changes_nothing_about_keys(bundles: dict[str, Path], tmp_path: Path) -> None:
    file = tmp_path / "keys.txt"
    file.write_text(KEY, "utf-8")
    with serving([bundles["tagging"]], ServeSettings(api_key_file=file, root="/regard")) as one:
        for prefix in ("", "/regard"):
            assert httpx.get(f"{one.url}{prefix}/health/live").status_code == 200
            assert httpx.get(f"{one.url}{prefix}/docs").status_code == 200
            assert httpx.get(f"{one.url}{prefix}/v1/models").status_code == 401
            assert httpx.get(f"{one.url}{prefix}/v1/models", headers={"x-api-key": KEY}).status_code == 200


def test_a_file_of_keys_has_to_hold_some(tmp_path: Path) -> None:
    empty = tmp_path / "keys"
    empty.write_text("# none\n\n", "utf-8")
    for path in (empty, tmp_path / "missing", tmp_path):
        with pytest.raises(ConfigError, match="API key"):
            Keys.read(path)


def test_keys_are_not_kept_as_they_are() -> None:
    assert KEY not in repr(vars(Keys([KEY])))


@pytest.mark.parametrize(
    ("host", "public"),
    [
        ("127.0.0.1", False),
        ("::1", False),
        ("localhost", False),
        ("0.0.0.0", True),
        ("::", True),
        ("example.org", True),
        ("10.0.0.1", True),
    ],
)
def test_it_is_known_whether_other_machines_can_reach_it(host: str, public: bool) -> None:
    assert ServeSettings(host=host).public == public
