"""Eole on our parameters; python decode_eole.py FOLDER, in its environment.

Its own training makes a model of the right shape in one update; then our parameters take the place of its own.
"""

import json
import subprocess
import sys
from pathlib import Path

import torch
from eole.config.run import PredictConfig
from eole.inference_engine import InferenceEnginePY
from given import Given, Pieces, Run, answer, apart, given, lines, longest, numbers, renamed, vocabularies
from safetensors.torch import load_file, save_file

NAMES = {
    ".attention.": ".self_attn.",
    ".cross.": ".context_attn.",
    ".query.": ".linear_query.",
    ".key.": ".linear_keys.",
    ".value.": ".linear_values.",
    "_attn.output.": "_attn.final_linear.",
    ".feedforward.inner.": ".mlp.gate_up_proj.",
    ".feedforward.outer.": ".mlp.down_proj.",
    ".around_attention.norm.": ".input_layernorm.",
    ".around_cross.norm.": ".precontext_layernorm.",
    ".around_feedforward.norm.": ".post_attention_layernorm.",
    "encoder.stack.norm.": "encoder.layer_norm.",
    "decoder.norm.": "decoder.layer_norm.",
    "encoder.stack.blocks.": "encoder.transformer_layers.",
    "decoder.blocks.": "decoder.transformer_layers.",
}


def config(known: Given, folder: Path) -> dict[str, object]:
    source, target = vocabularies(known, folder)
    (folder / "text").write_text("p9 p10 p11\n" * 4)
    corpus = {"path_src": str(folder / "text"), "path_tgt": str(folder / "text"), "transforms": []}
    facts = known.facts
    training = {"model_path": str(folder / "model"), "train_steps": 1, "save_checkpoint_steps": 1, "valid_steps": 100}
    training |= {"batch_size": 4, "bucket_size": 4, "num_workers": 0, "compute_dtype": "fp32", "optim": "adam"}
    return {
        "data": {"corpus_1": corpus},
        "save_data": str(folder / "samples"),
        "overwrite": True,
        "src_vocab": str(source),
        "tgt_vocab": str(target),
        "training": training,
        "model": {
            "architecture": "transformer",
            "layers": facts["layers"],
            "heads": facts["heads"],
            "hidden_size": facts["width"],
            "transformer_ff": facts["hidden"],
            "embeddings": {"word_vec_size": facts["width"], "position_encoding_type": "SinusoidalInterleaved"},
            "add_qkvbias": True,
            "add_final_linear_bias": True,
            "add_ffnbias": True,
            "norm_eps": facts["epsilon"],
            "share_decoder_embeddings": True,
        },
    }


def model(known: Given) -> Path:
    """The folder of its model with our parameters."""
    folder = known.own("eole")
    stored = folder / "model" / "model.00.safetensors"
    if (folder / "ready").exists():
        return stored.parent
    (folder / "config.yaml").write_text(json.dumps(config(known, folder)))
    subprocess.run([Path(sys.executable).parent / "eole", "train", "-c", folder / "config.yaml"], check=True, stdout=2)
    theirs, wanted = load_file(stored), ours(known)
    # A factor of each layer's output, one unless a model brings its own.
    wanted |= {name: tensor for name, tensor in theirs.items() if name.endswith(".layer_scalar")}
    wanted = {name: tensor for name, tensor in wanted.items() if name in theirs or not name.startswith("generator.")}
    different = {name for name in theirs if name not in wanted or wanted[name].shape != theirs[name].shape}
    if different or wanted.keys() - theirs.keys():
        raise SystemExit(f"parameters that do not fit: {sorted(different | (wanted.keys() - theirs.keys()))}")
    save_file(wanted, stored)
    (folder / "ready").touch()
    return stored.parent


def ours(known: Given) -> dict[str, torch.Tensor]:
    """Our parameters under its names."""
    source, target, places, found = apart(known)
    result = renamed(found, NAMES)
    for side, vectors in (("src", source), ("tgt", target)):
        result[f"{side}_emb.embeddings.weight"] = vectors
        result[f"{side}_emb.pe.pe"] = places[:5000].unsqueeze(1).clone()
    result["generator.weight"], result["generator.bias"] = target.clone(), torch.zeros(len(target))
    return result


def main() -> None:
    known = given()
    path = model(known)

    def prepared(batch: int, beams: int) -> Run:
        most = longest(known, max(len(source) for source in known.sources))
        told = {"model_path": [str(path)], "src": str(path.parent / "text"), "output": str(path.parent / "output")}
        told |= {"batch_size": batch, "batch_type": "sents", "beam_size": beams, "max_length": most}
        told |= {"length_penalty": "avg", "alpha": 1.0, "compute_dtype": "fp32"}
        engine = InferenceEnginePY(PredictConfig(**told))

        def run(sources: Pieces) -> Pieces:
            _, _, found = engine.infer_list(lines(sources))
            return numbers(best[0] for best in found)

        return run

    answer(known, prepared)


if __name__ == "__main__":
    main()
