# SPDX-License-Identifier: BSD-3-Clause
"""The web pages: Sphinx with MyST reads the guide, the manual pages, and what these link to.

The source directory is the top of the tree, so that links are those of the Markdown files. cmake/Html.cmake has
the call: it sets release, html_title and scr_filled."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "SCR"
project_copyright = "the SCR developers"
extensions = ["myst_parser", "sphinx_copybutton", "pages", "debian_furo"]
source_suffix = {".md": "markdown", ".md.in": "markdown"}
root_doc = "doc/guide/index"
include_patterns = ["doc/**", "examples/**", "*.md"]
exclude_patterns = ["build", "build-*", ".*", "README.md"]

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
smartquotes = False  # options begin with two hyphens
highlight_language = "text"

html_theme = "furo"
html_theme_options = {"dark_css_variables": {
    # Debian's Furo has these for its button only, not for browsers that are set to dark.
    "color-foreground-primary": "#dde3ea", "color-foreground-secondary": "#a8b2bf", "color-foreground-muted": "#8d98a6",
    "color-foreground-border": "#667080", "color-background-primary": "#14181f", "color-background-secondary": "#1a2029",
    "color-background-hover": "#222a35", "color-background-hover--transparent": "#222a3500",
    "color-background-border": "#2d3643", "color-background-item": "#3a4453", "color-brand-primary": "#5cc3d6",
    "color-brand-content": "#5cc3d6", "color-problematic": "#ff8a80", "color-highlighted-background": "#17414d",
    "color-highlight-on-target": "#2f3318", "color-admonition-background": "#1a2029", "color-card-background": "#1a2029",
    "color-guilabel-background": "#17414d80", "color-guilabel-border": "#5cc3d680",
    "color-api-keyword": "var(--color-foreground-secondary)", "color-code-background": "#1a2029",
}, "light_css_variables": {"color-brand-primary": "#0b6b7d", "color-brand-content": "#0b6b7d"}}
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_additional_pages = {"index": "start.html"}
templates_path = ["."]
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False  # browsers fetch pages from servers only
pygments_style = "friendly"
pygments_dark_style = "native"

copybutton_selector = "div:not(.output) > div.highlight > pre"
copybutton_prompt_text = r"\$ |> "
copybutton_prompt_is_regexp = True
