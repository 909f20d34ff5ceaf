# SPDX-License-Identifier: Apache-2.0
"""`controllers apiserver`: the embedded API server, and what a real one does besides answering."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from controller_runtime.apiserver.__main__ import command as bare
from controller_runtime.apiserver.__main__ import serve
from controllers.command import hosting


def _serve(hosted: str, **options: Any) -> None:
    names = hosting.choose(hosted)
    serve(beside=partial(hosting.hosted, names=names), **options)


apiserver = click.Command(
    "apiserver",
    help="Serve an embedded Kubernetes API on loopback until interrupted, with elections and garbage collection. "
    "Prints one line when it is ready.",
    params=[
        *bare.params,
        click.Option(
            ["--hosted"],
            default=",".join(hosting.HOSTED),
            metavar="NAMES",
            show_default=True,
            help="The controllers to run beside it; empty for none.",
        ),
    ],
    callback=_serve,
)
