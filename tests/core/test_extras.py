# SPDX-License-Identifier: Apache-2.0
"""A missing package of an extra is named in one line; any other missing module stays what it is."""

from __future__ import annotations

import pytest

from apimachinery.errors import UsageError
from controller_runtime.core.extras import BY_THEMSELVES, EXTRAS, needed_by
from controller_runtime.core.library import installed_library


@pytest.mark.parametrize(("module", "found"), EXTRAS.items())
def test_a_missing_package_is_named_with_its_extra(module: str, found: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as raised, needed_by("the live view"):
        raise ModuleNotFoundError(f"No module named '{module}.part'", name=f"{module}.part")

    distribution, extra, *_ = found
    assert str(raised.value) == f"the live view needs {distribution}: {installed_library().remedy(extra)}"


@pytest.mark.parametrize("module", BY_THEMSELVES)
def test_a_missing_package_that_no_extra_installs_is_named(module: str) -> None:
    with pytest.raises(UsageError) as raised, needed_by("check_round_trips"):
        raise ModuleNotFoundError(f"No module named '{module}'", name=module)

    assert str(raised.value) == f"check_round_trips needs {module}: pip install {module}"


def test_another_missing_module_is_raised_as_it_is() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"), needed_by("the live view"):
        import no_such_module  # type: ignore[import-not-found]  # noqa: F401
