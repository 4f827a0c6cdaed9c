# SPDX-License-Identifier: BSD-3-Clause
"""A headless Chromium, driven by its chromedriver. Tests end with status 77 where these are not installed."""
import base64
import json
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any


class Browser:
    """A session of the WebDriver protocol."""
    def __init__(self, top: str) -> None:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        driver = shutil.which("chromedriver")
        if chromium is None or driver is None:
            print("skipped: no chromium or no chromedriver (scripts/install-deps.sh browser)")
            sys.exit(77)
        self.driver = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            self.base = self.address()
            args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                    f"--user-data-dir={top}/profile"]
            self.base += "/session/" + self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
                "goog:chromeOptions": {"binary": chromium, "args": args},
                "goog:loggingPrefs": {"browser": "ALL"}}}})["sessionId"]
        except BaseException:
            self.driver.kill()
            raise

    def address(self) -> str:
        for line in self.driver.stdout or ():
            port = re.search(r"started successfully on port (\d+)", line)
            if port:
                return f"http://127.0.0.1:{port.group(1)}"
        raise RuntimeError("chromedriver does not start")

    def call(self, method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(self.base + path, method=method,
                                         data=None if body is None else json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=300) as answer:
            return json.load(answer)["value"]

    def close(self) -> None:
        try:
            self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()

    def cdp(self, command: str, **params: Any) -> Any:
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def js(self, script: str, *args: Any) -> Any:
        return self.call("POST", "/execute/sync", {"script": script, "args": list(args)})

    def open(self, page: Path, width: int = 1280, scheme: str = "light") -> None:
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("POST", "/url", {"url": page.as_uri()})
        errors = [e["message"] for e in self.call("POST", "/se/log", {"type": "browser"}) if e["level"] != "INFO"]
        assert not errors, errors

    def press(self, css: str, keys: str) -> None:
        element = self.call("POST", "/element", {"using": "css selector", "value": css})
        self.call("POST", f"/element/{next(iter(element.values()))}/value", {"text": keys})

    def picture(self, path: Path, clip: dict[str, float] | None = None) -> None:
        how = {"captureBeyondViewport": True, "format": "png"}
        size = self.js("return [document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
        data = self.cdp("Page.captureScreenshot", **how, clip=clip or
                        {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1})["data"]
        path.write_bytes(base64.b64decode(data))
