"""A headless Chromium, spoken to over a pipe: opens a page at a width, says what it measures and what went wrong."""

import base64
import itertools
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Self

NAMES = ("chromium-headless-shell", "chromium", "google-chrome")
PROGRAM = next((path for path in map(shutil.which, NAMES) if path), None)
SWITCHES = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe")


class Browser:
    """One process; a page at a time."""

    def __init__(self, profile: Path) -> None:
        assert PROGRAM is not None
        (hears, says), (reads, writes) = os.pipe(), os.pipe()
        plumbing = 'exec 3<&"$1" 4>&"$2"; shift 2; exec "$@"'
        self.process = subprocess.Popen(
            ["bash", "-c", plumbing, "-", str(hears), str(writes), PROGRAM, *SWITCHES, f"--user-data-dir={profile}"],
            pass_fds=(hears, writes),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(hears), os.close(writes)
        self.says, self.reads = os.fdopen(says, "wb", buffering=0), os.fdopen(reads, "rb", buffering=0)
        self.numbers, self.rest, self.events = itertools.count(1), b"", []
        self.session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.session = None
        self.call("Browser.close")
        self.process.wait(20)
        self.says.close()
        self.reads.close()

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; what happens meanwhile is kept in `events`."""
        number = next(self.numbers)
        sent = {"id": number, "method": method, "params": params} | (
            {"sessionId": self.session} if self.session else {}
        )
        self.says.write(json.dumps(sent).encode() + b"\0")
        while (answer := self._next()).get("id") != number:
            self.events.append(answer)
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self.rest:
            more = os.read(self.reads.fileno(), 1 << 16)
            assert more, "the browser has gone"
            self.rest += more
        line, _, self.rest = self.rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def open(self, page: Path, width: int, height: int, *, is_dark: bool = False) -> list[str]:
        """Open a file at a size; what the console and the log complained of."""
        self.events.clear()
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.call("Page.navigate", url=page.resolve().as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        kinds = ("Runtime.exceptionThrown", "Log.entryAdded")
        errors = [event for event in self.events if event.get("method") in kinds]
        errors += [
            event
            for event in self.events
            if event.get("method") == "Runtime.consoleAPICalled" and event["params"]["type"] == "error"
        ]
        return [json.dumps(event["params"])[:300] for event in errors]

    def evaluate(self, script: str) -> Any:
        """Value of an expression of JavaScript in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def picture(self, path: Path) -> None:
        """What is seen, as a PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
