"""What every test stands on: checked signatures, one thread per worker, fixed seeds."""

import os
import random

import hypothesis
import numpy as np
import pytest
import torch
from jaxtyping import install_import_hook

from tests.signatures import checked

# Before anything imports regard: the hook checks only modules that are imported after it.
install_import_hook("regard", f"{checked.__module__}.{checked.__name__}")

os.environ.setdefault("MPLBACKEND", "Agg")

# Workers, and programs that they start, slow one another down many times over if each uses all cores.
if "PYTEST_XDIST_WORKER" in os.environ:
    torch.set_num_threads(1)
    os.environ.setdefault("OMP_NUM_THREADS", "1")

hypothesis.settings.register_profile(
    "regard",
    deadline=None,
    max_examples=30,
    # In CI the same commit draws the same examples; on a desk every run looks somewhere new.
    derandomize="CI" in os.environ,
    print_blob=True,
)
hypothesis.settings.load_profile("regard")


@pytest.fixture(autouse=True)
def same_seed_for_every_test() -> None:
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
