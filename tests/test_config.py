"""Settings that refuse what they do not know, and parts chosen by name, each mistake in one sentence."""

from typing import Any, Literal

import pydantic
import pytest

from regard.config import Part, Settings, make
from regard.errors import ConfigError
from tests.attention.build import refused


class Inner(Settings):
    width: int = 8
    kind: Literal["lstm", "gru"] = "lstm"


class Outer(Settings):
    encoder: Inner = Inner()
    score: Part = Part(name="dot")
    rate: float = 0.1


class Plain:
    def __init__(self, size: int) -> None:
        self.size = size


class Rich(Plain):
    def __init__(self, size: int, *, hidden: int | None = None, flavours: tuple[Any, ...] = ("sweet",)) -> None:
        super().__init__(size)
        self.hidden, self.flavours = hidden, flavours


KNOWN = {"plain": Plain, "rich": Rich}


# --- settings ------------------------------------------------------------------------------------------------------


def test_what_is_missing_is_named_and_not_shown() -> None:
    class Needing(Settings):
        model: str
        other: int = 1

    with pytest.raises(ConfigError, match=r"^a recipe: model is missing\.$"):
        Needing.read({"other": 2}, "a recipe")


def test_settings_are_read_from_plain_values() -> None:
    found = Outer.read({"encoder": {"width": 4}, "score": "additive"})
    assert found.encoder == Inner(width=4)
    assert found.score == Part(name="additive")
    assert found.rate == 0.1


def test_settings_are_frozen() -> None:
    with pytest.raises(pydantic.ValidationError):
        Outer.read({}).rate = 0.2


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"rat": 0.2}, ["Unknown setting 'rat'", "Did you mean 'rate'?"]),
        ({"encoder": {"widht": 16}}, ["Unknown setting 'encoder.widht'", "Did you mean 'encoder.width'?"]),
        ({"zzz": 1}, ["Unknown setting 'zzz'", "Known: encoder, rate, score"]),
        ({"rate": "much"}, ["rate = 'much'", "number"]),
        ({"encoder": {"width": 1.5}}, ["encoder.width = 1.5", "integer"]),
        ({"encoder": {"width": 10**200}}, ["encoder.width = 10000", "at most 63 bits"]),
        ({"encoder": {"kind": "rnn"}}, ["encoder.kind = 'rnn'", "'lstm'", "'gru'"]),
        ({"encoder": 3}, ["encoder = 3"]),
        ({"score": {"hidden": 4}}, ["score.name", "{'hidden': 4}"]),
        ({"score": 3}, ["score = 3"]),
    ],
)
def test_a_wrong_setting_is_refused_by_name_and_value(values: dict[str, Any], words: list[str]) -> None:
    refused(ConfigError, lambda: Outer.read(values), *words)


def test_every_mistake_is_told_at_once_a_line_each() -> None:
    with pytest.raises(ConfigError) as caught:
        Outer.read({"rat": 1, "rate": "much", "encoder": {"width": "wide"}}, "recipe.toml")
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert all(line.startswith("recipe.toml: ") and line.endswith(".") for line in lines)


def test_the_value_of_a_mistake_stays_on_one_line() -> None:
    refused(ConfigError, lambda: Outer.read({"rate": "a\nb"}), "rate = 'a\\nb'")


# --- parts ---------------------------------------------------------------------------------------------------------


def test_a_part_is_a_name_or_a_table() -> None:
    assert Part.of("rich") == Part.of({"name": "rich"}) == Part(name="rich")
    table = Part.of({"name": "rich", "hidden": 4})
    assert table.options == {"hidden": 4}
    assert Part.of(table) is table
    assert Part.of("rich").options == {}


def test_a_part_prints_as_it_was_chosen() -> None:
    assert str(Part.of("rich")) == "rich"
    assert str(Part.of({"name": "rich", "hidden": 4, "flavours": ["sour"]})) == "rich(hidden=4, flavours=['sour'])"


@pytest.mark.parametrize("choice", [{}, {"hidden": 3}, {"name": 3}])
def test_what_names_no_part_is_refused(choice: Any) -> None:
    refused(ConfigError, lambda: Part.of(choice), repr(choice), "name")


@pytest.mark.parametrize("choice", ["rich", {"name": "rich"}, Part(name="rich")])
def test_a_part_is_made_with_its_own_defaults(choice: Any) -> None:
    made = make("flavour", KNOWN, choice, 5)
    assert isinstance(made, Rich)
    assert (made.size, made.hidden, made.flavours) == (5, None, ("sweet",))


def test_a_part_is_made_with_what_it_was_given() -> None:
    made = make("flavour", KNOWN, {"name": "rich", "hidden": 3, "flavours": ["sour", {"name": "salty"}]}, 5)
    assert (made.hidden, made.flavours) == (3, ("sour", {"name": "salty"}))


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ("rihc", ["Unknown flavour 'rihc'", "Did you mean 'rich'?", "Known: plain, rich"]),
        ({"name": "rich", "hiden": 3}, ["flavour rich: ", "'hiden'", "Did you mean 'hidden'?"]),
        ({"name": "rich", "hidden": "many"}, ["flavour rich: hidden = 'many'", "integer"]),
        ({"name": "rich", "size": 3}, ["flavour rich: ", "'size'"]),
        ({"name": "plain", "hidden": 3}, ["flavour plain: ", "'hidden'", "No setting is known"]),
    ],
)
def test_a_part_that_cannot_be_made_is_refused(choice: Any, words: list[str]) -> None:
    refused(ConfigError, lambda: make("flavour", KNOWN, choice, 5), *words)


class Deep(Settings):
    parts: tuple[Part, ...] = (Part(name="a"),)
    clip: float | None = 1.0
    rate: float | None = None
    switch: bool | str | None = None


class Wide(Settings):
    inner: Deep | None = Deep()
    choice: Part = Part(name="x")


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"inner": None},
        {"inner": {"clip": None, "rate": 2.0, "switch": False}},
        {"choice": {"name": "y", "size": 3, "deep": {"a": [1, {"b": None}]}}},
    ],
)
def test_settings_as_plain_values_read_back_as_they_were(given: dict[str, Any]) -> None:
    import tomllib

    import tomli_w

    settings = Wide.read(given)
    again = Wide.read(tomllib.loads(tomli_w.dumps(settings.plain())))
    assert again.inner == settings.inner
    assert again.choice.name == settings.choice.name


def test_false_says_none_where_a_setting_is_no_switch() -> None:
    assert Deep.read({"clip": False}).clip is None
    assert Deep.read({"switch": False}).switch is False
    assert Wide.read({"inner": False}).inner is None
