# SPDX-License-Identifier: Apache-2.0
"""`pytest --perturb`: runs tests again with crashes, stale caches and missed watch events; see the guide."""
