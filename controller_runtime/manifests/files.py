# SPDX-License-Identifier: Apache-2.0
"""Files that were made, in a folder that may have others: only those that were made are ever overwritten or removed."""

from __future__ import annotations

from pathlib import Path

from apimachinery.errors import UsageError
from controller_runtime.manifests.bundles import MARK, TEMPLATE_MARK, Files


def write_files(folder: Path, files: Files) -> list[Path]:
    """Write generated files into a folder, and remove generated files of earlier calls that are not in `files`.

    Nothing is written if a file that was not generated has the name of one of them.

    Returns:
        The paths of the removed files.

    Raises:
        UsageError: There is such a file, or the folder is not writable.
    """
    try:
        return _write(folder, files)
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error}") from error


def _write(folder: Path, files: Files) -> list[Path]:
    foreign = [name for name in files if (folder / name).exists() and not is_made(folder / name)]
    if foreign:
        raise UsageError(
            f"{', '.join(str(folder / name) for name in foreign)} was not made by this command: move it away, or name "
            "another folder"
        )
    stale = [path for path in _made_in(folder) if str(path.relative_to(folder)) not in files]
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in stale:
        path.unlink()
    return stale


def is_made(path: Path) -> bool:
    """Return whether a file was generated: whether it begins with the mark of generated files."""
    if not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.readline() in (MARK, TEMPLATE_MARK)


def _made_in(folder: Path) -> list[Path]:
    """Return the files in a folder, and in its folder `templates`, that were made."""
    places = [folder.glob("*.yaml"), (folder / "templates").glob("*.yaml")]
    return sorted(path for place in places for path in place if is_made(path))
