"""The version of the package."""

from __future__ import annotations

from driftway import _driftway

#: The version of the package and of the command that it belongs to.
__version__: str = _driftway.version().rsplit("-", 1)[0]


def version() -> str:
    """Return the version with a digest of the code: runs of equal versions are equal to the byte."""
    return _driftway.version()
