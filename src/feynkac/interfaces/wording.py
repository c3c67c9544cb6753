"""Translates advice of the library for the shell: keywords become options."""

import re

SCHEMES = (
    "EulerMaruyama",
    "ExtrapolatedEuler",
    "ExtrapolatedFlows",
    "Milstein",
    "NinomiyaVictoir",
    "LogOde",
    "FamilySteps",
)
OPTIONS = {
    "extrapolate=True": "--extrapolate",
    "retrain=True": "--retrain",
    "choose another folder": "choose another folder (--out)",
    "load(folder, family=…)": "--family path/to/file.py:ClassName",
    "`inputs=`": "--inputs",
    "`paths=`": "--paths",
    "by_formula=True": "--by closed-form",
    "import the file that defines it first": "name the file that defines it (feynkac --use FILE)",
}


def in_shell(text: str) -> str:
    """The same sentence in terms of the command line.

    Example:
        >>> in_shell("use NinomiyaVictoir(steps=4), or give extrapolate=True.")
        'use --scheme ninomiya-victoir:4, or give --extrapolate.'
        >>> in_shell("give `spot=100`, or `columns={'strike': 'K'}`.")
        'give --spot 100, or --column strike=K.'
        >>> in_shell("(`columns={'days': 'Time to Expiry'}` for days)")
        "(--column 'days=Time to Expiry' for days)"
    """
    from feynkac.parts import kebab

    for python, shell in OPTIONS.items():
        text = text.replace(python, shell)
    text = re.sub(r"`columns={'(\S+)': '(\S+)'}`", r"--column \1=\2", text)
    text = re.sub(r"`columns={'(\S+)': '([^']+)'}`", r"--column '\1=\2'", text)
    text = re.sub(r"`(\w+)=([\w.-]+)`", r"--\1 \2", text)
    pattern = rf"(?:a scheme such as )?\b({'|'.join(SCHEMES)})\(steps=(\d+)\)"
    return re.sub(pattern, lambda found: f"--scheme {kebab(found[1])}:{found[2]}", text)
