# SPDX-License-Identifier: Apache-2.0
"""`perturb` for operators in any language: a command against an embedded server over TLS, in real time.

`story.py`, `until.py` and `properties.py` read the story file: the actions of the user, the conditions to wait for, and
the properties that have to hold. `operator_process.py` runs the command below a guardian process (`guardian.py`), with
new credentials for each start (`credentials.py`); `server.py` stands between the operator and the API server.
`triggers.py` finds the point of another run at which a plan (one fault at one point) happens. `trial.py` makes one run:
it waits for the start (`starting.py`) and until nothing changes (`quiet.py`), and records changes (`changes.py`).
`calm.py` makes the runs without a fault, `playing.py` those of the plans that `selecting.py` chooses, `results.py`
reports them, and `command.py` has the options. Plans and judgements are the same as those of `pytest --perturb`, except
for sequences of states (`sequences.py`).
"""
