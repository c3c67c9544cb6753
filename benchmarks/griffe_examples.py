"""Renders the examples of docstrings as code on the site (mkdocs.yml names this file).

Griffe knows code in a section "Examples:" and takes ours, "Example:", for a quotation.
"""

import re
from typing import Any

from griffe import Extension, Object


class Examples(Extension):
    """Another word for the heading, on the pages alone."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Called once per module, class, function and attribute."""
        if obj.docstring:
            obj.docstring.value = re.sub(
                r"^( *)Example:$", r"\1Examples:", obj.docstring.value, flags=re.M
            )
