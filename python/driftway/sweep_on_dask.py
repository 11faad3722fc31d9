"""Performs the runs of a study on a Dask cluster, for ``driftway sweep --dask``.

The command starts it with the study and its options as JSON on standard input. It performs the runs that the command's
cache does not have, and puts their records there; the command then takes all runs from its cache.
"""

from __future__ import annotations

import json
import sys


def main() -> int:
    """Perform the runs; the exit status is that of the command."""
    request = json.load(sys.stdin)
    try:
        from driftway import _dask, _driftway
        from driftway._aids import registry
        from driftway._errors import RunError, ScenarioError
    except ImportError as error:
        return _refuse(f"the package driftway cannot be imported: {error}")
    if request["version"] != _driftway.version():
        message = f"the package is driftway {_driftway.version()}, and the command {request['version']}"
        return _refuse(f"{message}\nhelp: install the package that belongs to the command: pip install ./python")
    try:
        import distributed
    except ImportError:
        return _refuse("the package distributed is missing\nhelp: pip install distributed")
    try:
        client = distributed.Client(request["address"], timeout=10)
    except (OSError, ValueError) as error:
        return _refuse(f"there is no scheduler at {request['address']}: {error}")
    try:
        part = (request["runs"], request["quick"])
        assignments = [tuple(pair) for pair in request["set"]]
        if request["vary"]:
            study = _driftway.Study.vary(
                request["file"],
                [(keys, values) for keys, values in request["vary"]],
                assignments,
                request["metrics"],
                request["runs"],
                request["step"],
                request["quick"],
                registry(),
            )
        else:
            study = _driftway.Study.load(request["file"], assignments, request["figures"], *part, registry())
        _dask.perform(client, study, fresh=request["fresh"], cache=request["cache"], progress=True)
    except _dask.WorkerError as error:
        return _refuse(str(error))
    except (ScenarioError, RunError) as error:
        print(error)
        return 2 if isinstance(error, ScenarioError) else 1
    except KeyboardInterrupt:
        return 130
    finally:
        client.close()
    return 0


def _refuse(message: str) -> int:
    # The command prints it with its own.
    print(message)
    return 2


if __name__ == "__main__":
    sys.exit(main())
