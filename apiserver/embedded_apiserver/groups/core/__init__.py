# SPDX-License-Identifier: Apache-2.0
"""The core group without pods: namespaces, nodes, services, configuration and quotas."""
