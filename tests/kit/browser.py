"""A headless Chromium driven over its DevTools protocol (WebSocket, RFC 6455) by the standard library."""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.request import ProxyHandler, build_opener

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
PROGRAM = os.environ.get("RAMPION_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
PATIENCE = 60  # seconds

# A key's name -> its code on Windows, by which the protocol knows keys.
KEYS = {
    "Tab": 9, "Enter": 13, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
}  # fmt: skip


class Socket:
    """Text messages to and from a WebSocket of this machine."""

    def __init__(self, url: str) -> None:
        host, _, path = url.removeprefix("ws://").partition("/")
        name, _, port = host.partition(":")
        self.line = socket.create_connection((name, int(port)), timeout=PATIENCE)
        key = base64.b64encode(os.urandom(16)).decode()
        head = f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        self.line.sendall(f"{head}Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        self.stream = self.line.makefile("rb")
        status = self.stream.readline()
        assert b" 101 " in status, status
        while self.stream.readline().strip():
            pass

    def send(self, text: str) -> None:
        content, mask = text.encode(), os.urandom(4)
        size = len(content)
        length = struct.pack(">BB", 0x81, 0x80 | size) if size < 126 else struct.pack(">BBH", 0x81, 0xFE, size)
        assert size < 1 << 16
        self.line.sendall(length + mask + bytes(byte ^ mask[n % 4] for n, byte in enumerate(content)))

    def receive(self) -> str:
        content, last = b"", False
        while not last:
            first, size = self.stream.read(2)
            size &= 0x7F
            if size > 125:
                size = int.from_bytes(self.stream.read(2 if size == 126 else 8))
            content += self.stream.read(size)
            last = bool(first & 0x80)
        return content.decode()

    def close(self) -> None:
        self.stream.close()
        self.line.close()


class Tab:
    """A page that is open. `events` are those of the protocol, in order; `complaints` are errors and warnings."""

    def __init__(self, url: str) -> None:
        self.socket, self.number, self.events = Socket(url), 0, list[dict[str, Any]]()
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """What the browser answers."""
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.receive())
            if message.get("id") == self.number:
                assert "error" not in message, message
                return message["result"]
            if "method" in message:
                self.events.append(message)

    def open(self, path: Path, ready: str = "document.readyState === 'complete'") -> None:
        self.ask("Page.navigate", url=path.as_uri())
        self.wait(f"location.protocol === 'file:' && {ready}")

    def see(self, expression: str) -> Any:
        """The value of an expression of JavaScript."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, condition: str) -> None:
        end = monotonic() + PATIENCE
        while not self.see(condition):
            assert monotonic() < end, f"never came true: {condition}"
            sleep(0.05)

    def press(self, *keys: str) -> None:
        """Keys by name, or letters."""
        for key in keys:
            code = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS.get(key, ord(key[0].upper()))}
            text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
            self.ask("Input.dispatchKeyEvent", type="keyDown", **code, **text)
            self.ask("Input.dispatchKeyEvent", type="keyUp", **code)

    @property
    def complaints(self) -> list[str]:
        told = [json.dumps(event["params"]) for event in self.events if event["method"] == "Runtime.exceptionThrown"]
        logs = [event["params"]["entry"] for event in self.events if event["method"] == "Log.entryAdded"]
        calls = [event["params"] for event in self.events if event["method"] == "Runtime.consoleAPICalled"]
        return told + [str(one) for one in (*logs, *calls) if one.get("level", one.get("type")) in ("error", "warning")]

    @property
    def fetched(self) -> list[str]:
        """The addresses that were asked for."""
        sent = [event for event in self.events if event["method"] == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    def picture(self, path: Path) -> None:
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))


@contextmanager
def browser(folder: Path) -> Iterator[Tab]:
    """A tab of a browser that keeps its files in the folder."""
    command = [
        PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
        "--remote-debugging-port=0", f"--user-data-dir={folder}", "--window-size=1200,900", "about:blank",
    ]  # fmt: skip
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            tab = Tab(_address(folder / "DevToolsActivePort", process))
            try:
                yield tab
            finally:
                tab.socket.close()
        finally:
            process.terminate()
            process.wait(PATIENCE)


def _address(announced: Path, process: subprocess.Popen[bytes]) -> str:
    """Where the tab listens, which the browser says in a file."""
    end = monotonic() + PATIENCE
    while not (announced.exists() and "\n" in announced.read_text()):
        assert process.poll() is None, (announced.parent / "log").read_text(errors="replace")
        assert monotonic() < end, "the browser does not say where it listens"
        sleep(0.05)
    port = announced.read_text().split("\n")[0]
    with build_opener(ProxyHandler({})).open(f"http://127.0.0.1:{port}/json/list", timeout=PATIENCE) as answer:
        tabs = json.load(answer)
    return next(str(tab["webSocketDebuggerUrl"]) for tab in tabs if tab["type"] == "page")
