# SPDX-License-Identifier: Apache-2.0
"""The kubeconfig of the embedded server."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from kubernetes.client import Configuration
from kubernetes.config import load_kube_config

from controller_runtime.client.http.credentials import authorization_of
from embedded_apiserver.shell.kubeconfig import kubeconfig, write_kubeconfig

TEXT = kubeconfig("https://127.0.0.1:6443", b"-----BEGIN CERTIFICATE-----\n", 'tok"en: {x}')


def test_the_official_client_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    configuration = Configuration()

    write_kubeconfig(path, TEXT)
    load_kube_config(str(path), client_configuration=configuration)

    assert configuration.host == "https://127.0.0.1:6443"
    assert authorization_of(configuration) == 'Bearer tok"en: {x}'
    assert Path(str(configuration.ssl_ca_cert)).read_bytes() == b"-----BEGIN CERTIFICATE-----\n"


def test_only_its_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.touch(0o666)

    write_kubeconfig(path, TEXT)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_earlier_one_and_an_empty_file_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.touch()

    write_kubeconfig(path, TEXT)
    write_kubeconfig(path, TEXT + "# newer\n")

    assert path.read_text().endswith("# newer\n")
    assert list(tmp_path.iterdir()) == [path]


def test_somebodys_own_kubeconfig_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("apiVersion: v1\nkind: Config\n")

    with pytest.raises(FileExistsError, match="not written by an embedded server"):
        write_kubeconfig(path, TEXT)

    assert path.read_text() == "apiVersion: v1\nkind: Config\n"


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_kubeconfig(tmp_path / "missing" / "kubeconfig", TEXT)
