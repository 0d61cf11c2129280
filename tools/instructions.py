"""The instructions that a unit of work costs, against tests/golden/instructions.json.

`make instructions` says which benchmark is off by more than one per cent; with `--write` the file
is written anew. Counts hold for one compiler and one kind of processor, so the file names both, and
tests leave it alone.
"""

import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
GOLDEN = ROOT / "tests/golden/instructions.json"
COMMAND = Path(sys.executable).with_name("sojourn")
WITHIN = 0.01
# Mail that is sent for real takes minutes, and waits for more than it computes.
CASES: dict[str, list[str | None]] = {
    "fabric": [None],
    "array": [None],
    "mail": ["what-if-internet", "what-if-office"],
}


def counted() -> dict[str, float]:
    """The instructions of a unit of work, by benchmark.

    Raises:
        SystemExit: valgrind is not installed, or a benchmark failed.
    """
    found = {}
    for model, cases in CASES.items():
        for case in cases:
            only = ["--case", case] if case else []
            done = subprocess.run(
                [COMMAND, "bench", model, *only, "--repeat", "1", "--json"],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise SystemExit(done.stderr.strip())
            costs: list[dict[str, Any]] = json.loads(done.stdout)
            for cost in costs:
                name = f"{model} {cost['case']}"
                # The ideal scheduler has no loop of packets that could be counted.
                if cost["instructions_per_unit"] is not None:
                    found[name] = round(cost["instructions_per_unit"], 1)
    if not found:
        raise SystemExit("instructions: valgrind is not installed (make programs)")
    return found


def compiler() -> str:
    """The compiler and the machine that counts depend on."""
    said = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True)
    return f"{said.stdout.strip()}, {platform.machine()}"


def main() -> int:
    """Counts, and says what differs; the exit code."""
    now = {"compiler": compiler(), "instructions": counted()}
    if "--write" in sys.argv:
        GOLDEN.write_text(json.dumps(now, indent=1) + "\n")
        return 0
    golden = json.loads(GOLDEN.read_text())
    if golden["compiler"] != now["compiler"]:
        sys.stderr.write(f"counted with {now['compiler']}, golden with {golden['compiler']}\n")
    code = 0
    for name in sorted({*golden["instructions"], *now["instructions"]}):
        was, new = golden["instructions"].get(name), now["instructions"].get(name)
        if was is None or new is None or abs(new / was - 1) > WITHIN:
            sys.stderr.write(f"{name}: {new} instructions a unit, {was} before\n")
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
