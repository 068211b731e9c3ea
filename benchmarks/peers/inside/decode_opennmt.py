"""OpenNMT-py on our parameters; python decode_opennmt.py FOLDER, in its environment.

Its own training makes a checkpoint of the right shape in one update; then our parameters take the place of its own.
"""

import json
import os
from argparse import Namespace
from pathlib import Path

# Its checkpoints hold its options as an object, which torch no longer reads unasked; this one was made by itself.
os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"

import torch
from given import Given, Pieces, Run, answer, apart, given, lines, longest, numbers, renamed, vocabularies
from onmt.bin.train import _get_parser as training_parser
from onmt.bin.train import train
from onmt.bin.translate import _get_parser as translating_parser
from onmt.inference_engine import InferenceEnginePY
from onmt.utils.parse import ArgumentParser

COMMON = {
    ".attention.": ".self_attn.",
    ".cross.": ".context_attn.",
    ".query.": ".linear_query.",
    ".key.": ".linear_keys.",
    ".value.": ".linear_values.",
    "_attn.output.": "_attn.final_linear.",
    ".feedforward.inner.": ".feed_forward.w_1.",
    ".feedforward.outer.": ".feed_forward.w_2.",
    ".around_feedforward.norm.": ".feed_forward.layer_norm.",
    ".around_cross.norm.": ".layer_norm_2.",
    "encoder.stack.norm.": "encoder.layer_norm.",
    "decoder.norm.": "decoder.layer_norm.",
}
ENCODER = {"encoder.stack.blocks.": "encoder.transformer.", ".around_attention.norm.": ".layer_norm."}
DECODER = {"decoder.blocks.": "decoder.transformer_layers.", ".around_attention.norm.": ".layer_norm_1."}


def config(known: Given, folder: Path) -> dict[str, object]:
    source, target = vocabularies(known, folder)
    (folder / "text").write_text("p9 p10 p11\n" * 4)
    corpus = {"path_src": str(folder / "text"), "path_tgt": str(folder / "text"), "transforms": []}
    facts = known.facts
    return {
        "data": {"corpus_1": corpus},
        "save_data": str(folder / "samples"),
        "overwrite": True,
        "src_vocab": str(source),
        "tgt_vocab": str(target),
        "save_model": str(folder / "model"),
        "train_steps": 1,
        "batch_size": 4,
        "bucket_size": 4,
        "num_workers": 0,
        "encoder_type": "transformer",
        "decoder_type": "transformer",
        "position_encoding": True,
        "layers": facts["layers"],
        "heads": facts["heads"],
        "hidden_size": facts["width"],
        "word_vec_size": facts["width"],
        "transformer_ff": facts["hidden"],
        "add_qkvbias": True,
        "add_ffnbias": True,
        "norm_eps": facts["epsilon"],
        "share_decoder_embeddings": True,
    }


def checkpoint(known: Given) -> Path:
    """Its model with our parameters."""
    folder = known.own("opennmt")
    path = folder / "model_step_1.pt"
    if path.exists():
        return path
    (folder / "config.yaml").write_text(json.dumps(config(known, folder)))
    options, _ = training_parser().parse_known_args(["-config", str(folder / "config.yaml")])
    train(options)
    state = torch.load(path, weights_only=False)
    wanted = ours(known)
    shapes = {name: tensor.shape for name, tensor in {**state["model"], **_generator(state)}.items()}
    different = {name for name, shape in shapes.items() if name not in wanted or wanted[name].shape != shape}
    if different or wanted.keys() - shapes.keys():
        raise SystemExit(f"parameters that do not fit: {sorted(different | (wanted.keys() - shapes.keys()))}")
    state["model"] = {name: tensor for name, tensor in wanted.items() if not name.startswith("generator.")}
    state["generator"] = {name.removeprefix("generator."): wanted[name] for name in _generator(state)}
    torch.save(state, path)
    return path


def _generator(state: dict[str, dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    return {f"generator.{name}": tensor for name, tensor in state["generator"].items()}


def ours(known: Given) -> dict[str, torch.Tensor]:
    """Our parameters under its names."""
    source, target, places, found = apart(known)
    encoder = {name: tensor for name, tensor in found.items() if name.startswith("encoder.")}
    decoder = {name: tensor for name, tensor in found.items() if name.startswith("decoder.")}
    result = renamed(encoder, ENCODER, COMMON) | renamed(decoder, DECODER, COMMON)
    for side, vectors in (("encoder", source), ("decoder", target)):
        result[f"{side}.embeddings.make_embedding.emb_luts.0.weight"] = vectors
        result[f"{side}.embeddings.make_embedding.pe.pe"] = places[:5000].unsqueeze(1)
    result["generator.weight"], result["generator.bias"] = target, torch.zeros(len(target))
    return result


def options(path: Path, batch: int, beams: int, most: int) -> Namespace:
    told = ["-model", path, "-src", path.parent / "text", "-output", path.parent / "output", "-gpu", -1]
    told += ["-batch_size", batch, "-batch_type", "sents", "-beam_size", beams, "-length_penalty", "avg"]
    told += ["-max_length", most]
    found = translating_parser().parse_args([str(one) for one in told])
    ArgumentParser.validate_translate_opts(found)
    ArgumentParser._get_all_transform_translate(found)
    ArgumentParser._validate_transforms_opts(found)
    ArgumentParser.validate_translate_opts_dynamic(found)
    return found


def main() -> None:
    known = given()
    path = checkpoint(known)

    def prepared(batch: int, beams: int) -> Run:
        most = longest(known, max(len(source) for source in known.sources))
        engine = InferenceEnginePY(options(path, batch, beams, most))

        def run(sources: Pieces) -> Pieces:
            _, found = engine.infer_list(lines(sources))
            return numbers(best[0] for best in found)

        return run

    answer(known, prepared)


if __name__ == "__main__":
    main()
