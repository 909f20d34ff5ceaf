# SPDX-License-Identifier: Apache-2.0
"""`pytest --perturb`: a test is run again through crashes, stale views and missed changes; see `docs/perturbation.md`."""
