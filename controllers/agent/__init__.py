# SPDX-License-Identifier: Apache-2.0
"""The node agent: registers its machine as a Node, posts the Node's status and renews its lease, as a kubelet does."""
