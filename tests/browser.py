"""A headless Chromium, driven over its own pipe (the Chrome DevTools Protocol)."""

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from waiting import until

_COMPLAINTS = ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled")


class Page:
    """A page that is open."""

    def __init__(self, out: int, into: int) -> None:
        self._out, self._into = out, into
        self._number = 0
        self._rest = b""
        self._session: str | None = None
        self.complaints: list[str] = []

    def _call(self, method: str, **parameters: object) -> Any:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._into, json.dumps(message).encode() + b"\0")
        while True:
            heard = self._hear()
            if heard.get("method") in _COMPLAINTS:
                self.complaints.append(json.dumps(heard["params"]))
            if heard.get("id") == self._number:
                assert "error" not in heard, heard
                return heard["result"]

    def _hear(self) -> Any:
        while b"\0" not in self._rest:
            more = os.read(self._out, 1 << 20)
            assert more, "the browser is gone"
            self._rest += more
        text, _, self._rest = self._rest.partition(b"\0")
        return json.loads(text)

    def open(self, address: str, width: int = 1280, height: int = 1500) -> None:
        """Go there, in a page of its own."""
        self._session, self.complaints = None, []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")
        size = {"width": width, "height": height}
        self._call("Emulation.setDeviceMetricsOverride", deviceScaleFactor=1, mobile=False, **size)
        self._call("Page.navigate", url=address)

    def value(self, script: str) -> Any:
        """What an expression is worth."""
        result = self._call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def await_(self, script: str) -> Any:
        """The value of an expression, when it has one that is true."""
        return until(lambda: self.value(script), told=lambda: (script, self.complaints))

    def dark(self, dark: bool) -> None:
        """Prefer dark colours, or light ones."""
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[feature])

    def picture(self, path: Path) -> None:
        """Save how it looks (PNG)."""
        path.write_bytes(base64.b64decode(self._call("Page.captureScreenshot")["data"]))


@contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """One with an empty profile in `folder`; skips where there is none."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("no chromium on this machine (Debian's package of that name)")
    told, tell = os.pipe()
    hear, heard = os.pipe()

    def pipes() -> None:
        # It reads from 3 and writes to 4; first out of the way of what is there.
        reads, writes = os.dup(told), os.dup(heard)
        os.dup2(reads, 3)
        os.dup2(writes, 4)

    # no sandbox: a root's browser has none, and what it loads is our own page
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    process = subprocess.Popen(
        [program, *options, f"--user-data-dir={folder}", "--remote-debugging-pipe", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(3, 4, told, heard),
        preexec_fn=pipes,  # noqa: PLW1509 - no threads of ours
    )
    os.close(told)
    os.close(heard)
    try:
        yield Page(hear, tell)
    finally:
        process.kill()
        process.wait()
        os.close(hear)
        os.close(tell)
