"""Joey NMT on our parameters; python decode_joey.py FOLDER, in its environment."""

from typing import Any

import torch
from given import Given, Pieces, Run, answer, apart, given, longest, numbers, renamed, word
from joeynmt.config import parse_global_args
from joeynmt.prediction import predict, prepare

COMMON = {
    ".query.": ".q_layer.",
    ".key.": ".k_layer.",
    ".value.": ".v_layer.",
    "_att.output.": "_att.output_layer.",
    ".feedforward.inner.": ".feed_forward.pwff_layer.0.",
    ".feedforward.outer.": ".feed_forward.pwff_layer.3.",
    ".around_feedforward.norm.": ".feed_forward.layer_norm.",
    "encoder.stack.norm.": "encoder.layer_norm.",
    "decoder.norm.": "decoder.layer_norm.",
}
ENCODER = {
    "encoder.stack.blocks.": "encoder.layers.",
    ".attention.": ".src_src_att.",
    ".around_attention.norm.": ".layer_norm.",
}
DECODER = {
    "decoder.blocks.": "decoder.layers.",
    ".attention.": ".trg_trg_att.",
    ".cross.": ".src_trg_att.",
    ".around_attention.norm.": ".x_layer_norm.",
    ".around_cross.norm.": ".dec_layer_norm.",
}
# It has unknown, padding, begin, end in this order; ours are padding, begin, end, unknown.
FIRST = [3, 0, 1, 2]


def config(known: Given) -> dict[str, Any]:
    folder, facts = known.own("joey"), known.facts
    stack = {"type": "transformer", "num_layers": facts["layers"], "num_heads": facts["heads"], "layer_norm": "pre"}
    stack |= {"hidden_size": facts["width"], "ff_size": facts["hidden"], "dropout": 0.0}
    stack |= {"embeddings": {"embedding_dim": facts["width"], "scale": True}}
    special = {"unk_token": "<unk>", "pad_token": "<blank>", "bos_token": "<s>", "eos_token": "</s>"}
    sides = {}
    for side, which in (("src", "source"), ("trg", "target")):
        path = folder / f"{which}.txt"
        order = [*FIRST, *range(4, facts[which])]
        path.write_text("".join(f"{word(number)}\n" for number in order))
        sides[side] = {"lang": which, "level": "word", "tokenizer_type": "none", "voc_file": str(path)}
    return {
        "name": "timed",
        "joeynmt_version": "2.3.0",
        "model_dir": str(folder),
        "use_cuda": False,
        # It wants the name of some file and does not open it.
        "data": {"dataset_type": "plain", "test": "none", "special_symbols": special, **sides},
        "testing": {"load_model": str(folder / "ours.ckpt"), "beam_alpha": 1.0},
        "training": {"batch_size": 32},
        "model": {"tied_embeddings": False, "tied_softmax": True, "encoder": dict(stack), "decoder": dict(stack)},
    }


def ours(known: Given) -> dict[str, torch.Tensor]:
    """Our parameters under its names."""
    source, target, places, found = apart(known)
    encoder = {name: tensor for name, tensor in found.items() if name.startswith("encoder.")}
    decoder = {name: tensor for name, tensor in found.items() if name.startswith("decoder.")}
    result = renamed(encoder, ENCODER, COMMON) | renamed(decoder, DECODER, COMMON)
    for side, vectors in (("src", source), ("trg", target)):
        result[f"{side}_embed.lut.weight"] = torch.cat([vectors[FIRST], vectors[4:]])
    result["decoder.output_layer.weight"] = result["trg_embed.lut.weight"]
    for side in ("encoder", "decoder"):
        result[f"{side}.pe.pe"] = places[:5000].unsqueeze(0)
    return result


def main() -> None:
    known = given()
    told = config(known)
    torch.save({"model_state": ours(known)}, told["testing"]["load_model"])
    args = parse_global_args(told, rank=0, mode="translate")
    model, _, _, stream = prepare(args, rank=0, mode="translate")
    for module in model.modules():
        if isinstance(module, torch.nn.LayerNorm):
            module.eps = known.facts["epsilon"]

    def prepared(batch: int, beams: int) -> Run:
        most = longest(known, max(len(source) for source in known.sources))
        test = args.test._replace(batch_size=batch, beam_size=beams, max_output_length=most)

        def run(sources: Pieces) -> Pieces:
            stream.reset_cache()
            for source in sources:
                # It puts the end there itself.
                stream.set_item(" ".join(word(piece) for piece in source[:-1]))
            found = predict(
                model=model, data=stream, compute_loss=False, device=args.device, rank=0, n_gpu=0,
                normalization="none", num_workers=0, args=test, autocast=args.autocast,
            )  # fmt: skip
            return numbers(found[2])

        return run

    answer(known, prepared)


if __name__ == "__main__":
    main()
