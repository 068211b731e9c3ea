"""Transformers' `generate` on our export; python decode_transformers.py FOLDER, whose `huggingface` holds it."""

import torch
from given import Pieces, Run, answer, given, longest
from transformers import AutoModelForSeq2SeqLM


def main() -> None:
    known = given()
    model = AutoModelForSeq2SeqLM.from_pretrained(known.folder / "huggingface").eval()

    @torch.inference_mode()
    def batched(sources: Pieces, beams: int) -> Pieces:
        width = max(len(source) for source in sources)
        ids = torch.tensor([source + [0] * (width - len(source)) for source in sources])
        options = {"num_beams": beams, "do_sample": False, "max_new_tokens": longest(known, width)}
        options |= {"length_penalty": 1.0, "early_stopping": False} if beams > 1 else {}
        found = model.generate(input_ids=ids, attention_mask=(ids != 0).long(), **options)
        return [row[1:] for row in found.tolist()]

    def prepared(batch: int, beams: int) -> Run:
        def run(sources: Pieces) -> Pieces:
            starts = range(0, len(sources), batch)
            return [one for start in starts for one in batched(sources[start : start + batch], beams)]

        return run

    answer(known, prepared)


if __name__ == "__main__":
    main()
