"""Models that go on from others, and word vectors."""

from pathlib import Path

import pytest
import torch

import regard
from regard.api import Materials, Training, read
from regard.api.checks import check
from regard.api.recipes import merged
from regard.errors import ConfigError, RegardError

FILMS = ["a fine film", "a dull film", "fine and warm", "dull and cold", "so warm", "so cold"]


def table(folder: Path, labels: list[str], name: str = "train.tsv") -> str:
    rows = [f"{text}\t{label}" for text, label in zip(FILMS, labels, strict=True)] * 4
    (folder / name).write_text("text\tlabel\n" + "\n".join(rows) + "\n")
    return str(folder / name)


def recipe(path: str, **more: object) -> dict[str, object]:
    return {
        "task": "classification",
        "data": {"train": {"path": path, "columns": {"text": "text", "label": "label"}}, "valid": {"share": [0, 0.3]}},
        "tokenizer": {"kind": "words", "size": 40},
        "model": {"name": "recurrent", "width": 8},
        "train": {"updates": 3, "every": 3},
        **more,
    }


TWO = ["good", "bad", "good", "bad", "good", "bad"]
THREE = ["good", "bad", "good", "bad", "warm", "cold"]


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("start")
    regard.train(recipe(table(folder, TWO)), folder / "run")
    return folder / "run"


def begun(path: str, start: Path, folder: Path, **more: object) -> tuple[Training, list[str]]:
    told: list[str] = []
    training = Training(read(recipe(path, model={"start": str(start)}, **more)), folder / "run", tell=told.append)
    training.claim()
    _ = training.learner
    return training, told


def test_a_run_goes_on_with_the_settings_tokenizer_and_parameters_of_its_start(start: Path, tmp_path: Path) -> None:
    training, told = begun(table(tmp_path, TWO), start, tmp_path)
    before = regard.load(start)
    assert training.recipe.model.name == "recurrent"
    assert training.task.files() == before.task.files()
    for name, tensor in before.model.state_dict().items():
        assert torch.equal(training.model.state_dict()[name], tensor), name
    assert any("new: none" in line for line in told)


WHOLE: dict[str, dict[str, object]] = {
    "transformer": {"name": "transformer", "width": 8, "layers": 1, "attention": {"heads": 2}, "decoder_layers": 2},
    "recurrent": {"name": "recurrent", "encoder": {"width": 8}, "decoder": {"width": 12}, "embedding": {"width": 6}},
    "convolutional": {"name": "convolutional", "width": 8, "layers": 1, "output_bias": False},
    "transformer_language": {"name": "transformer_language", "width": 8, "layers": 1, "attention": {"heads": 2}},
}


def whole(folder: Path, model: dict[str, object], columns: dict[str, str], **more: object) -> Path:
    """A run of a model that reads one text and writes another."""
    rows = ["\t".join(columns), *("\t".join([film, "O " * len(film.split())]) for film in FILMS * 4)]
    (folder / "whole.tsv").write_text("".join(f"{row.strip()}\n" for row in rows))
    data = {"train": {"path": str(folder / "whole.tsv"), "columns": columns}, "valid": {"share": [0, 0.3]}}
    short = {"tokenizer": {"kind": "words", "size": 40}, "train": {"updates": 1, "every": 1}}
    asked = {"search": {"longest_extra": 2, "longest_factor": 0}, "model": model, "data": data, **short, **more}
    regard.train(asked, folder / "whole")
    return folder / "whole"


@pytest.mark.parametrize("kind", ["transformer", "recurrent", "convolutional"])
def test_the_encoder_of_a_whole_model_begins_a_task_that_reads(kind: str, tmp_path: Path) -> None:
    columns = {"turns": "turns", "reply": "reply"}
    start = whole(tmp_path, WHOLE[kind], columns, task="dialogue")
    training, told = begun(table(tmp_path, TWO), start, tmp_path)
    before, after = regard.load(start), training.model.state_dict()
    assert training.task.files()["tokenizer.json"] == before.task.files()["tokenizer.json"]
    inside = {name: tensor for name, tensor in before.model.state_dict().items() if name.startswith("encoder.")}
    assert set(inside) == {name for name in after if name.startswith("encoder.")}
    for name, tensor in inside.items():
        assert torch.equal(after[name], tensor), name
    assert any("new: head." in line for line in told)


def test_of_two_tokenizers_an_encoder_takes_its_own_along(tmp_path: Path) -> None:
    columns = {"text": "text", "tags": "tags"}
    start = whole(tmp_path, {**WHOLE["transformer"], "tied": "output"}, columns, task="tagging_generative")
    training, _ = begun(table(tmp_path, TWO), start, tmp_path)
    files = regard.load(start).task.files()
    assert "tokenizer.json" not in files
    assert training.task.files()["tokenizer.json"] == files["source.tokenizer.json"]


def test_an_encoder_leaves_the_slots_of_a_copying_model_behind(tmp_path: Path) -> None:
    columns = {"document": "document", "summary": "summary"}
    start = whole(tmp_path, {**WHOLE["recurrent"], "copying": True}, columns, task="summarization", slots=3)
    training, _ = begun(table(tmp_path, TWO), start, tmp_path)
    name = "encoder.embedding.vectors"
    before, after = regard.load(start).model.state_dict()[name], training.model.state_dict()[name]
    assert torch.equal(after, before[:-3])


def test_a_model_without_an_encoder_begins_no_task_that_needs_one(tmp_path: Path) -> None:
    columns = {"turns": "turns", "reply": "reply"}
    start = whole(tmp_path, WHOLE["transformer_language"], columns, task="dialogue")
    with pytest.raises(ConfigError, match=r"model\.start = .*transformer_language has no encoder.*name a start"):
        begun(table(tmp_path, TWO), start, tmp_path)


def test_a_head_for_other_labels_begins_afresh(start: Path, tmp_path: Path) -> None:
    training, told = begun(table(tmp_path, THREE), start, tmp_path)
    before = regard.load(start).model.state_dict()
    after = training.model.state_dict()
    assert after["head.classify.weight"].shape[0] == 4
    assert torch.equal(after["encoder.embedding.vectors"], before["encoder.embedding.vectors"])
    assert any("new: head." in line for line in told)


def test_a_head_for_other_types_of_names_begins_afresh(tmp_path: Path) -> None:
    heads = []
    for number, types in enumerate([("PER", "LOC"), ("DRUG", "PLACE"), ("PER", "LOC")]):
        path = tmp_path / f"{number}.tsv"
        path.write_text("".join(f"{who} sees Rome\tB-{types[0]} O B-{types[1]}\n" for who in ("Ada", "Bo", "Cy", "Di")))
        own = {"start": str(tmp_path / "0")} if number else {"name": "recurrent", "width": 8}
        told = {
            "task": "tagging",
            "data": {"train": {"path": str(path), "columns": {"text": 1, "tags": 2}}, "valid": {"share": [0, 0.3]}},
            "model": own,
            "train": {"updates": 1, "every": 1},
        }
        training = Training(read(told), tmp_path / str(number))
        training.claim()
        heads.append(training.learner.model.state_dict()["head.classify.weight"].clone())
        if not number:
            regard.train(told, tmp_path / "0", resume=True)
            heads[0] = regard.load(tmp_path / "0").model.state_dict()["head.classify.weight"]
    assert torch.equal(heads[0], heads[2])
    assert not torch.equal(heads[0], heads[1])


def test_a_tagger_that_reads_letters_goes_on_with_others_by_those_it_knows(tmp_path: Path) -> None:
    for number, words in enumerate([("Ada", "Bo", "Cy"), ("Özil", "Çelik", "Ada")]):
        path = tmp_path / f"{number}.tsv"
        path.write_text("".join(f"{who} sees Rome\tB-PER O B-LOC\n" for who in words) * 2, "utf-8")
        corpus = {"path": str(path), "columns": {"text": 1, "tags": 2}}
        values = {
            "task": "tagging",
            "data": {"train": corpus, "valid": corpus},
            "model": {"start": str(tmp_path / "0")} if number else {"name": "recurrent", "width": 8},
            "head": {"characters": {"width": 4, "out": 4}},
            "train": {"updates": 1, "every": 1},
        }
        if not number:
            before = regard.train(values, tmp_path / "0")
    training = Training(read(values), tmp_path / "1")
    training.claim()
    after = training.learner.model.state_dict()
    assert training.task.files()["letters.json"] == before.task.files()["letters.json"]
    assert torch.equal(after["characters.vectors"], before.model.state_dict()["characters.vectors"])


def test_what_is_frozen_does_not_move_and_lora_leaves_a_plain_bundle(start: Path, tmp_path: Path) -> None:
    tuning = {"frozen": ["encoder.embedding"]}
    made = regard.train(recipe(table(tmp_path, TWO), model={"start": str(start)}, tuning=tuning), tmp_path / "run")
    before = regard.load(start).model.state_dict()
    assert torch.equal(made.model.state_dict()["encoder.embedding.vectors"], before["encoder.embedding.vectors"])
    assert not torch.equal(made.model.state_dict()["head.classify.weight"], before["head.classify.weight"])
    assert set(regard.load(tmp_path / "run").model.state_dict()) == set(before)


def test_a_bundle_that_came_from_a_start_loads_without_it(start: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    moved.mkdir()
    regard.load(start).save(moved / "bundle")
    made = regard.train(recipe(table(tmp_path, TWO), model={"start": str(moved / "bundle")}), tmp_path / "run")
    for path in (moved / "bundle").iterdir():
        path.unlink()
    assert regard.load(tmp_path / "run").predict(FILMS) == made.predict(FILMS)


@pytest.mark.parametrize("wrong", ["nowhere", "."])
def test_a_start_that_is_no_bundle_is_one_sentence(wrong: str, tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=r"bundle|folder"):
        begun(table(tmp_path, TWO), tmp_path / wrong, tmp_path)


def test_embeddings_have_one_beginning(start: Path, tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("fine 1 2 3 4 5 6 7 8\n")
    with pytest.raises(ConfigError, match=r"vectors.path = .* model.start = .*leave one of the two out"):
        begun(table(tmp_path, TWO), start, tmp_path, vectors={"path": str(tmp_path / "vectors.txt")})
    assert not (tmp_path / "run").exists()


def test_word_vectors_begin_the_embeddings_and_their_coverage_is_told(tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("fine 1 2 3\ndull 4 5 6\nelsewhere 7 8 9\n")
    told: list[str] = []
    given = recipe(
        table(tmp_path, TWO),
        model={"name": "recurrent", "width": 8, "embedding": {"width": 3}},
        vectors={"path": str(tmp_path / "vectors.txt"), "frozen": True},
    )
    training = Training(read(given), tmp_path / "run", tell=told.append)
    training.claim()
    table_of = training.model.encoder.embedding.vectors
    assert table_of[training.task.reading.tokenizer.id("fine")].tolist() == [1.0, 2.0, 3.0]
    assert not table_of.requires_grad
    assert any("2 of" in line and "frozen" in line for line in told)


def test_a_recipe_names_a_model_or_a_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="start"):
        read(recipe(table(tmp_path, TWO), model={"width": 8}))


def test_validation_never_has_what_a_test_share_has(tmp_path: Path) -> None:
    rows = [f"text number {number}\t{'good' if number % 2 else 'bad'}" for number in range(300)]
    (tmp_path / "all.tsv").write_text("text\tlabel\n" + "\n".join(rows) + "\n")
    given = recipe(str(tmp_path / "all.tsv"))
    given["data"]["valid"] = {"share": [0.0, 0.3]}  # type: ignore[index]
    given["data"]["test"] = {"fold": {"share": [0.0, 0.5], "salt": "other"}}  # type: ignore[index]
    materials = Materials(read(given))
    parts = [materials.train[0], materials.valid, materials.test("fold")]
    sets = [{row.fields["text"] for row in part} for part in parts]
    assert all(sets)
    assert not (sets[0] & sets[1] | sets[0] & sets[2] | sets[1] & sets[2])


def test_a_corpus_in_another_place_replaces_that_of_the_base() -> None:
    base = {"data": {"valid": {"share": [0.0, 0.1], "salt": "x"}, "policy": "skip"}}
    above = {"data": {"valid": {"path": "valid.tsv"}}}
    assert merged(base, above) == {"data": {"valid": {"path": "valid.tsv"}, "policy": "skip"}}


def test_fixed_vectors_stand_in_the_bundle_and_never_move(tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("fine 1 2 3\ndull -1 -2 -3\nbright 4 5 6\n")
    model = {"name": "recurrent", "width": 8, "embedding": {"width": 4, "fixed": 3, "seldom": 0.5}}
    given = recipe(table(tmp_path, TWO), model=model, lexicon=3, vectors={"path": str(tmp_path / "vectors.txt")})
    told: list[str] = []
    training = Training(read(given), tmp_path / "run", tell=told.append)
    for _ in training.steps():
        pass
    made = training.finish()
    assert any("beside vectors of their own, and as they are" in line for line in told)
    pieces = [piece.removeprefix("▁") for piece in made.task.reading.tokenizer.pieces]
    found = regard.load(tmp_path / "run").model.state_dict()
    numbers = [pieces.index(word) for word in ("fine", "dull", "bright")]
    assert found["encoder.embedding.fixed"][numbers].tolist() == [[1, 2, 3], [-1, -2, -3], [4, 5, 6]]
    # What training has moved; what it never showed is known by what stands beside it alone.
    assert found["encoder.embedding.vectors"][numbers].abs().sum(1).gt(0).tolist() == [True, True, False]


def test_room_for_fixed_vectors_wants_a_file_of_them(tmp_path: Path) -> None:
    model = {"name": "recurrent", "width": 8, "embedding": {"width": 4, "fixed": 3}}
    with pytest.raises(ConfigError, match=r"embedding\.fixed = 3 .*name a file with vectors\.path"):
        Training(read(recipe(table(tmp_path, TWO), model=model)), tmp_path / "run")


def test_seldom_words_are_counted_where_texts_are_read_and_refused_elsewhere(tmp_path: Path) -> None:
    model = {"name": "recurrent", "width": 8, "embedding": {"seldom": 1.0}}
    training = Training(read(recipe(table(tmp_path, TWO), model=model)), tmp_path / "run")
    training.claim()
    embedding, pieces = training.model.encoder.embedding, training.task.reading.tokenizer.pieces
    film, warm = (next(n for n, piece in enumerate(pieces) if piece.endswith(word)) for word in ("film", "warm"))
    rates = embedding.mistaken[[film, warm]]
    assert 0 < rates.min() < rates.max() < 0.5
    # What training never has was put there on purpose, such as a mask.
    assert embedding.mistaken[embedding.unknown] == 0
    columns = {"document": "document", "summary": "summary"}
    for name, value in (("seldom", 1.0), ("fixed", 3)):
        with pytest.raises(ConfigError, match=rf"embedding\.{name} = {value} is for models that only read"):
            whole(tmp_path, {**WHOLE["recurrent"], "embedding": {name: value}}, columns, task="summarization")


def test_a_run_with_seldom_words_goes_on_as_if_never_stopped(tmp_path: Path) -> None:
    model = {"name": "recurrent", "width": 8, "embedding": {"seldom": 5.0}}
    given = recipe(table(tmp_path, TWO), model=model, train={"updates": 6, "every": 3})
    whole_run = regard.train(given, tmp_path / "whole").model.state_dict()
    for step in Training(read(given), tmp_path / "broken").steps():
        if step.progress.update == 4:
            break
    resumed = regard.train(given, tmp_path / "broken", resume=True).model.state_dict()
    assert all(torch.equal(resumed[name], value) for name, value in whole_run.items())


def test_what_is_seldom_is_no_trouble_to_a_check_nor_to_frozen_vectors(tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("fine 1 2 3\ndull -1 -2 -3\n")
    model = {"name": "recurrent", "width": 8, "embedding": {"width": 3, "seldom": 1e6, "piece_dropout": 0.5}}
    vectors = {"path": str(tmp_path / "vectors.txt"), "frozen": True}
    training = Training(read(recipe(table(tmp_path, TWO), model=model, vectors=vectors)), tmp_path / "run")
    for _ in training.steps():
        assert training.model.encoder.embedding.training
    training.finish()
    (found,) = check(tmp_path / "run", "looking")
    assert found.kept, found.text


def test_a_start_without_fixed_vectors_gives_none(start: Path, tmp_path: Path) -> None:
    model = {"start": str(start), "embedding": {"fixed": 3}}
    with pytest.raises(ConfigError, match=r"has no fixed vectors for encoder\.embedding\.fixed"):
        regard.train(recipe(table(tmp_path, TWO), model=model), tmp_path / "run")
