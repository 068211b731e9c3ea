"""Says whether there are kernels, and builds them if there are not."""

from regard.nn.native.building import Missing, found

try:
    print(f"Kernels: {found()._name}")
except Missing as reason:
    print(f"No kernels: {reason}")
