# SPDX-License-Identifier: Apache-2.0
"""Perturbation of operators in any language: a command against an embedded server over TLS, in real time.

`story.py`, `until.py` and `properties.py` read what the user does, waits for, and says of the run.
`operator_process.py` runs the command below a guardian
(`guardian.py`), with credentials of its own for each start (`credentials.py`); `server.py` stands between it and the
API server. `triggers.py` says when a plan happens in another run. `trial.py` makes one run: it waits for the start
(`starting.py`) and for rests (`quiet.py`), and records changes (`changes.py`). `calm.py` makes the calm runs,
`playing.py` those of the plans that `selecting.py` chooses, `results.py` tells them, and `command.py` has the options.
Plans and judgements are those of `pytest --perturb`.
"""
