"""The program `sojourn`, also started as `python -m sojourn`."""

import os
import sys


class _NoPandas:
    """No command needs pandas, and pyarrow imports it before the first array if there is one."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


def run() -> int:
    """`sojourn.cli.main` in a separate process."""
    sys.meta_path.insert(0, _NoPandas)
    # The threads of numpy's algebra would spin while they wait, and none of it is used.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from sojourn._internal import ending
    from sojourn.cli import main

    return ending.at_once(main())


if __name__ == "__main__":
    sys.exit(run())
