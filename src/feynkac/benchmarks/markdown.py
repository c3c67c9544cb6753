"""Tables as Markdown."""


def markdown_table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Columns and rows as Markdown.

    Example:
        >>> print(markdown_table(("a", "b"), [("1", "2")]))
        | a | b |
        | --- | --- |
        | 1 | 2 |
    """
    lines = [columns, ("---",) * len(columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
