# SPDX-License-Identifier: Apache-2.0
"""`python -m controller_runtime.testing.perturb`: tries faults against an operator in any language; see
`docs/perturbation.md`.
"""

from controller_runtime.testing.perturbation.others.command import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
