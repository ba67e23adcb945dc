"""What every test shares: float64 in JAX, repeatable examples, and clean skips for what is not installed here."""

import importlib.util
import os
import shutil
from collections.abc import Iterable

os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


def pytest_collection_modifyitems(items: Iterable[pytest.Item]) -> None:
    """Without torch, its tests are skipped and say so."""
    if importlib.util.find_spec("torch") is None:
        absent = pytest.mark.skip(reason="torch is not installed: the torch lane of .ci/run installs it")
        for item in items:
            if item.get_closest_marker("torch"):
                item.add_marker(absent)


def _program(*names: str) -> str:
    for name in names:
        if found := shutil.which(name):
            return found
    pytest.skip(f"{names[0]} is not installed here")


@pytest.fixture(scope="session")
def libreoffice() -> str:
    """The path of LibreOffice; without it the test is skipped."""
    return _program("soffice", "libreoffice")


@pytest.fixture(scope="session")
def gnumeric() -> str:
    """The path of Gnumeric's converter; without it the test is skipped."""
    return _program("ssconvert")


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of Chromium; without it the test is skipped."""
    return _program("chromium", "chromium-browser", "google-chrome")
