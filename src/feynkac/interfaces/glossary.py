"""What the words of tables mean, in one line each, below the tables."""

from collections.abc import Iterator, Sequence

GLOSSARY = {
    "L1 error": "mean of |network − u| / (1 + |u|) over random inputs (paper, Eq. 9)",
    "L1, Eq. (9)": "mean of |network − u| / (1 + |u|) over random inputs of the box",
    "absolute, relative": "mean of |network − u|, and that in standard deviations of u",
    "volatility bp (99 %)": "error of implied volatility in basis points, median and 99 % quantile",
    "certified": "inputs at which a certificate shows |network − u| ≤ 0.001 (1 + |u|)",
    "shapes": "inputs that keep the shape (monotone, convex, …) that is violated most",
    "s": "seconds of training",
    "L2 error": "root mean square of the same",
    "reference": "what the network is compared with: closed form, grid or paths",
    "inputs": "points (x, t, parameters) drawn from the domain to measure this",
    "scheme": "how paths are simulated; its error is not part of the errors above",
    "estimate": "u at this input by simulation, independent of the network",
    "statistical": "half width of the confidence interval of the simulated mean",
    "discretisation": "bound of the error of the steps in time",
    "control": "a second network whose martingale makes simulated paths less noisy",
    "variance reduction": "plain paths that one path of this estimator is worth",
    "verdict": "whether the network lies within the interval, or within the tolerance",
    "s.d.": "standard deviation over the seeds",
    "s.e.": "standard error of a mean over inputs",
}


def explained(words: Sequence[str]) -> Iterator[str]:
    """Lines of a footnote.

    Example:
        >>> list(explained(["L2 error"]))
        ['L2 error: root mean square of the same']
    """
    for word in words:
        yield f"{word}: {GLOSSARY[word]}"
