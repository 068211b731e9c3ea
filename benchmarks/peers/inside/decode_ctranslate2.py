"""CTranslate2 on our export; python decode_ctranslate2.py FOLDER COMPUTE WORKERS THREADS."""

import sys

from ctranslate2 import Translator
from given import Pieces, Run, answer, given, longest


def main(compute: str, workers: str, threads: str) -> None:
    known = given()
    names, written = known.facts["source_pieces"], known.facts["target_pieces"]
    translator = Translator(
        str(known.folder / "ctranslate2"), compute_type=compute, inter_threads=int(workers), intra_threads=int(threads)
    )
    numbers = {piece: number for number, piece in enumerate(written)}

    def prepared(batch: int, beams: int) -> Run:
        options = {"beam_size": beams, "max_input_length": 0, "min_decoding_length": 0, "max_batch_size": batch}

        def run(sources: Pieces) -> Pieces:
            given = [[names[piece] for piece in source] for source in sources]
            calls = [given] if batch > 1 else [[one] for one in given]
            found = []
            for call in calls:
                most = longest(known, max(map(len, call)))
                found += translator.translate_batch(call, max_decoding_length=most, **options)
            return [[numbers[piece] for piece in one.hypotheses[0]] for one in found]

        return run

    answer(known, prepared)


if __name__ == "__main__":
    main(*sys.argv[2:5])
