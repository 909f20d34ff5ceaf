# SPDX-License-Identifier: Apache-2.0
"""Extensions of the server: webhooks and policies of admission, and API services."""
