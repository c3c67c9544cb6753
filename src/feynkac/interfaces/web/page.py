"""One HTML file with script, style and data inside: it loads nothing, and nothing else may run."""

import base64
import hashlib
import html
import json
from pathlib import Path
from typing import Any

HOME = Path(__file__).parent
"""Where the built files are; see `web/build.mjs`."""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="data:image/svg+xml;base64,{icon}">
<style>{style}</style>
</head>
<body>
<div id="app"></div>
<noscript>This report needs JavaScript.</noscript>
<script type="application/json" id="report">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def make_page(title: str, data: dict[str, Any]) -> str:
    """The report with `data`, which holds finite numbers only."""
    script = (HOME / "report.js").read_text("utf-8")
    style = (HOME / "dist" / "assets" / "app.css").read_text("utf-8")
    icon = (HOME / "dist" / "assets" / "icon.svg").read_bytes()
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return PAGE.format(
        policy=policy,
        title=html.escape(title),
        icon=base64.b64encode(icon).decode(),
        style=style,
        data=_inside_html(data),
        script=script,
    )


def _hash(text: str) -> str:
    """As a content-security policy names an inline script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _inside_html(data: dict[str, Any]) -> str:
    """JSON that cannot end the element around it."""
    text = json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")
