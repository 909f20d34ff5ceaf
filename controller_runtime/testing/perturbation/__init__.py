# SPDX-License-Identifier: Apache-2.0
"""`pytest --perturb`: tests are run again through crashes, stale views and missed changes; see the guide."""
