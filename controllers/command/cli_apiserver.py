# SPDX-License-Identifier: Apache-2.0
"""`controllers apiserver`: the embedded API server, with the controllers and the garbage collection of a cluster."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from controllers.command import hosting
from embedded_apiserver import command as bare
from embedded_apiserver import serve


def _serve(hosted: str, **options: Any) -> None:
    names = hosting.select_hosted(hosted)
    serve(beside=partial(hosting.hosted, names=names), cluster_objects=True, **options)


apiserver = click.Command(
    "apiserver",
    help="Serve an embedded Kubernetes API on loopback until interrupted, with elections and garbage collection. "
    "Prints one line when it is ready.",
    params=[
        *(param for param in bare.params if param.name != "cluster_objects"),  # it always has them
        click.Option(
            ["--hosted"],
            default=",".join(hosting.HOSTABLE),
            metavar="NAMES",
            show_default=True,
            help="The controllers to run in the server's process; empty for none.",
        ),
    ],
    callback=_serve,
)
