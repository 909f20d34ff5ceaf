# SPDX-License-Identifier: Apache-2.0
"""The admission plugin PodSecurity: levels of the Pod Security Standards, which the labels of a namespace choose."""
