"""Forking after tokenizing."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import os, signal
from regard.text import Tokenizer, TokenizerSettings

tokenizer = Tokenizer.learn(TokenizerSettings(size=50), ["some text"] * 20, seed=1)
tokenizer.encode_many(["some text"] * 2000)
child = os.fork()
if child == 0:
    signal.alarm(20)
    os._exit(len(tokenizer.encode_many(["some text"] * 2000)) - 2000)
print(os.waitpid(child, 0)[1], os.environ.get("TOKENIZERS_PARALLELISM"))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize("setting", [None, "true", "false"])
def test_a_forked_child_tokenizes_in_silence_and_the_parents_setting_stays(setting: str | None) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "TOKENIZERS_PARALLELISM"}
    if setting:
        environment["TOKENIZERS_PARALLELISM"] = setting
    run = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=60)
    assert run.stdout.split() == ["0", str(setting)]
    assert run.stderr == ""
