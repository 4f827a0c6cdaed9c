# SPDX-License-Identifier: BSD-3-Clause
"""Debian's Furo for pages read from a disk. Debian does not bundle it: its script imports a second one, which browsers
allow on a web server only, and its style sheet asks for /javascript/normalize.css."""
from pathlib import Path

import furo
from sphinx.application import Sphinx

SPY = "scripts/gumshoe-patched.js" # defines window.Gumshoe where it is loaded as it is
NORMALIZE = Path("/usr/share/nodejs/normalize.css/normalize.css")
CHANGES = {"scripts/furo.js": ('import Gumshoe from "./gumshoe-patched.js";', ""),
           "styles/furo.css": ("url(/javascript/normalize.css/normalize.css)", "url(../normalize.css)")}


def mend(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.name == "html":
        for name, (old, new) in CHANGES.items():
            path = Path(app.outdir, "_static", name)
            path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    if (Path(furo.__file__).parent / "theme/furo/static" / SPY).is_file() and NORMALIZE.is_file():
        app.connect("config-inited", lambda _, config: config.html_static_path.append(str(NORMALIZE)))
        app.add_js_file(SPY, priority=100)
        app.connect("build-finished", mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
