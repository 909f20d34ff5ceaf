# SPDX-License-Identifier: Apache-2.0
"""Perturbation of operators in any language: a command against an embedded server over TLS, in real time.

`story.py` reads what the user does, `operator_process.py` runs the command, `server.py` stands between it and the API
server, `triggers.py` says when a plan happens in another run, `trial.py` makes one run, and `command.py` all of them.
Plans and judgements are those of `pytest --perturb`.
"""
