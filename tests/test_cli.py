"""The command as a user meets it: real processes, their output and exit codes."""

import os
import re
import signal
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import regard
from regard.cli.app import app

ENVIRONMENT = {**os.environ, "NO_COLOR": "1", "COLUMNS": "120", "TERM": "dumb"}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return python("-m", "regard", *arguments)


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=120, check=False)


def with_command(body: str) -> str:
    """A program that is `regard` with one more command, `extra`."""
    return f"""
import sys, time
from regard.cli import main
from regard.cli.app import app
from regard.errors import DataError

@app.command()
def extra() -> None:
    {body}

sys.argv = ["regard", "extra"]
main()
"""


COMMANDS = [
    "train",
    "predict",
    "evaluate",
    "compare",
    "explain",
    "audit",
    "preflight",
    "check",
    "inspect",
    "recipes",
    "demo",
    "import",
]


def test_help_names_the_commands() -> None:
    result = run("--help")
    assert result.returncode == 0
    for command in COMMANDS:
        assert f" {command} " in result.stdout
    assert "--install-completion" in result.stdout


def test_the_installed_script_is_the_module() -> None:
    script = os.path.join(os.path.dirname(sys.executable), "regard")
    installed = subprocess.run([script, "--help"], capture_output=True, text=True, env=ENVIRONMENT, check=True)
    assert installed.stdout == run("--help").stdout


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["train", "--help"], ["predict", "--help"], ["dmo"]])
def test_help_imports_no_torch(arguments: list[str]) -> None:
    program = f"""
import sys
from regard.cli import main
sys.argv = ["regard", *{arguments!r}]
try:
    main()
except SystemExit:
    pass
print("heavy:", sorted({{"torch", "numpy", "matplotlib", "safetensors"}} & set(sys.modules)))
"""
    assert python("-c", program).stdout.splitlines()[-1] == "heavy: []"


def test_version_is_the_package_version() -> None:
    result = run("--version")
    assert (result.returncode, result.stdout) == (0, f"regard {regard.__version__}\n")


def test_demo_help_states_its_defaults() -> None:
    result = run("demo", "--help")
    assert result.returncode == 0
    assert "regard-demo" in result.stdout
    assert "--seed" in result.stdout


def test_every_command_helps_with_examples_and_without_a_flag_that_repeats_a_setting() -> None:
    runner = CliRunner(env=ENVIRONMENT)
    for command in sorted({*COMMANDS, "align", "prune"} - {"demo", "import"}):
        told = runner.invoke(app, [command, "--help"]).stdout
        assert f"  regard {command} " in told
        assert ("--set" in told) == (command not in ("inspect", "recipes"))
        assert not re.search(r"--(beams?|device|width|seed|epochs|batch)\b", told)


def test_an_unknown_command_offers_the_nearest() -> None:
    result = run("dmeo")
    assert result.returncode == 2
    assert "No such command 'dmeo'. Did you mean 'demo'?" in result.stderr


@pytest.mark.parametrize("arguments", [[], ["demo", "--seed", "-1"], ["demo", "--out", __file__], ["--nonsense"]])
def test_a_command_typed_wrongly_leaves_with_2(arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr


def test_an_error_of_ours_is_one_line_and_leaves_with_1() -> None:
    result = python("-c", with_command("raise DataError('train.de line 812: 1 column, expected 2.')"))
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == "regard: train.de line 812: 1 column, expected 2.\n"


def test_a_bug_of_ours_keeps_its_traceback() -> None:
    result = python("-c", with_command("raise ZeroDivisionError('a bug')"))
    assert result.returncode == 1
    assert "Traceback" in result.stderr
    assert "a bug" in result.stderr


def test_ctrl_c_leaves_with_130_and_no_traceback() -> None:
    # A job started in the background inherits a Ctrl-C that is ignored; the person at the keyboard has one that is not.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    program = with_command(f"{heard}; print('ready', flush=True); time.sleep(240)")
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in complaint
