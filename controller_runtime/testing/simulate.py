# SPDX-License-Identifier: Apache-2.0
"""`python -m controller_runtime.testing.simulate`: runs simulated systems under faults; see `fault_runs.command`."""

from controller_runtime.testing.fault_runs.command import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
