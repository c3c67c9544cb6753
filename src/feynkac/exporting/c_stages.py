"""Each kind of stage in C: a function, and the calls that a record becomes.

The functions work in place on the row `h`, or write a new row to `o`. Add a kind to `WRITERS` (and
its function to `FUNCTIONS`) when there is a new stage.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from feynkac.exporting.stage import Record

FUNCTIONS = {
    "order": """
static void fk_order(double *h, const int *places, int count, int n) {
    for (int i = 1; i < n; i++)  /* insertion sort: stable */
        for (int j = i; j > 0 && h[places[0] + j - 1] > h[places[0] + j]; j--)
            for (int k = 0; k < count; k++) {
                double *e = h + places[k] + j, kept = e[0];
                e[0] = e[-1];
                e[-1] = kept;
            }
}""",
    "root": """
static void fk_root(double *h, const int *columns, int n, double least) {
    for (int i = 0; i < n; i++)
        h[columns[i]] = sqrt(h[columns[i]] > least ? h[columns[i]] : least);
}""",
    "log": """
static void fk_log(double *h, const int *columns, int n, double least) {
    for (int i = 0; i < n; i++)
        h[columns[i]] = log(h[columns[i]] > least ? h[columns[i]] : least);
}""",
    "normalise": """
static void fk_normalise(double *h, const double *mean, const double *factor, int n) {
    for (int i = 0; i < n; i++) h[i] = (h[i] - mean[i]) * factor[i];
}""",
    "linear": """
static void fk_linear(const double *h, const float *w, const float *b, int in, int out, double *o) {
    for (int i = 0; i < out; i++, w += in) {
        double sum = b ? b[i] : 0.0;
        for (int j = 0; j < in; j++) sum += w[j] * h[j];
        o[i] = sum;
    }
}""",
    "times": """
static void fk_times(const double *p, double *q, int n) {
    for (int i = 0; i < n; i++) q[i] *= p[i];
}""",
    "copy": """
static void fk_copy(const double *p, double *q, int n) {
    for (int i = 0; i < n; i++) q[i] = p[i];
}""",
    "add": """
static void fk_add(const double *p, double *q, int n) {
    for (int i = 0; i < n; i++) q[i] += p[i];
}""",
    "scale": """
static void fk_scale(double *h, const float *shift, const float *scale, int n) {
    for (int i = 0; i < n; i++) h[i] = shift[i] + scale[i] * h[i];
}""",
    "layer-norm": """
static void fk_layer_norm(double *h, const float *w, const float *b, double epsilon, int n) {
    double mean = 0.0, square = 0.0;
    for (int i = 0; i < n; i++) mean += h[i] / n;
    for (int i = 0; i < n; i++) square += (h[i] - mean) * (h[i] - mean) / n;
    for (int i = 0; i < n; i++) h[i] = w[i] * (h[i] - mean) / sqrt(square + epsilon) + b[i];
}""",
    "radius": """
static void fk_radius(double *h, int count, double least, int n) {
    double square = least;
    for (int i = 0; i < count; i++) square += h[i] * h[i];
    h[0] = sqrt(square);
    for (int i = count; i < n; i++) h[i - count + 1] = h[i];
}""",
    "units": """
static double fk_units(const double *h, const int *pivots, int m, const int *kept, int n,
                       const double *powers, double least, double *o) {
    for (int j = 0; j <= n; j++) {
        double sum = 0.0;
        for (int i = 0; i < m; i++)
            sum += powers[i * (n + 1) + j] * log(h[pivots[i]] > least ? h[pivots[i]] : least);
        if (j == n) return exp(sum);
        o[j] = h[kept[j]] * exp(sum);
    }
    return 1.0;
}""",
    "in-units": """
static void fk_in_units(double *h, double unit, int n) {
    for (int i = 0; i < n; i++) h[i] *= unit;
}""",
    "option": """
static double fk_law(double z) { return 0.5 * erfc(-z * sqrt(0.5)); }
static double fk_sum(const double *h, const double *c, int n) {
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += c[i] * h[i];
    return sum;
}
static void fk_option(double *f, const double *h, int n, int black, double sign, int asset,
                      int strike, int time, const double *growth, const double *rates,
                      const double *powers, double factor, double far, double least, double low) {
    double t = h[time], forward = h[asset] * exp(t * fk_sum(h, growth, n)), k = h[strike];
    double w = factor * (t > 0.0 ? sqrt(t) : 0.0) * exp(f[0]), x = forward - k, v, d;
    for (int i = 0; i < n; i++)
        if (powers[i] != 0.0) w *= exp(powers[i] * log(h[i] > low ? h[i] : low));
    if (black) x = log((forward > low ? forward : low) / (k > low ? k : low));
    v = fmax(fmax(w, fabs(x) / far), least);
    d = sign * x / v;
    f[0] = exp(-t * fk_sum(h, rates, n));
    if (black)
        f[0] *= sign * (forward * fk_law(d + 0.5 * sign * v) - k * fk_law(d - 0.5 * sign * v));
    else
        f[0] *= sign * x * fk_law(d) + w * exp(-0.5 * d * d) / sqrt(8.0 * atan(1.0));
}""",
    "sin": "static double fk_sin(double z) { return sin(z); }",
    "silu": "static double fk_silu(double z) { return z / (1.0 + exp(-z)); }",
    "relu": "static double fk_relu(double z) { return z > 0.0 ? z : 0.0; }",
    "gelu": "static double fk_gelu(double z) { return 0.5 * z * (1.0 + erf(z * sqrt(0.5))); }",
    "exp": "static double fk_exp(double z) { return exp(z); }",
    "tanh": "static double fk_tanh(double z) { return tanh(z); }",
    "each": """
static void fk_each(double *h, double (*f)(double), int n) {
    for (int i = 0; i < n; i++) h[i] = f(h[i]);
}""",
}


@dataclass
class Writing:
    """A C function under way: the row is in `here`, with `size` numbers."""

    here: str
    size: int
    widest: int = 0
    arrays: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    calls: list[str] = field(default_factory=list)

    def call(self, function: str, *arguments: Any) -> None:
        """Append a call of one of `FUNCTIONS`."""
        self.used.add(function)
        name = function.replace("-", "_")
        self.calls.append(f"    fk_{name}({', '.join(map(str, arguments))});")

    def array(self, kind: str, values: Any) -> str:
        """The name of a new constant array."""
        name = f"fk_{len(self.arrays)}"
        flat = np.asarray(values).reshape(-1).tolist()
        text = ", ".join(map(_TEXTS[kind], flat))
        self.arrays.append(f"static const {kind} {name}[{len(flat)}] = {{{text}}};")
        return name

    def other(self) -> str:
        """The buffer that the row is not in."""
        return "b" if self.here == "a" else "a"

    def write(self, records: list[Record]) -> None:
        """All stages of a list."""
        for record in records:
            WRITERS[record["kind"]](self, record)
            self.widest = max(self.widest, self.size)


def _float(value: float) -> str:
    text = f"{value:.9g}"
    return f"{text}f" if any(mark in text for mark in ".en") else f"{text}.0f"


_TEXTS: dict[str, Callable[[Any], str]] = {"float": _float, "double": repr, "int": str}


def _order(out: Writing, record: Record) -> None:
    (start, stop), *_ = record["places"]
    places = out.array("int", [place[0] for place in record["places"]])
    out.call("order", out.here, places, len(record["places"]), stop - start)


def _columns(out: Writing, record: Record) -> None:
    columns = out.array("int", record["columns"])
    out.call(record["kind"], out.here, columns, len(record["columns"]), repr(record["floor"]))


def _normalise(out: Writing, record: Record) -> None:
    arrays = (out.array("double", record[name]) for name in ("mean", "factor"))
    out.call("normalise", out.here, *arrays, out.size)


def _affine(out: Writing, record: Record, target: str) -> int:
    """W h + b into `target`; how many numbers that are."""
    rows = len(record["bias"])
    bias = out.array("float", record["bias"]) if any(record["bias"]) else "0"
    weight = out.array("float", record["weight"])
    out.call("linear", out.here, weight, bias, out.size, rows, target)
    return rows


def _linear(out: Writing, record: Record) -> None:
    target = out.other()
    out.size, out.here = _affine(out, record, target), target


def _products(out: Writing, record: Record) -> None:
    rows = _affine(out, record["first"], out.other())
    _affine(out, record["second"], f"{out.here} + {out.size}")
    out.call("times", out.other(), f"{out.here} + {out.size}", rows)
    out.size += rows


def _activate(out: Writing, record: Record) -> None:
    out.used |= {record["function"]} | ({"sin"} if record["waves"] else set())
    waves = record["waves"]
    if waves:
        out.call("each", out.here, "fk_sin", waves)
    out.call("each", f"{out.here} + {waves}", f"fk_{record['function']}", out.size - waves)


def _scale(out: Writing, record: Record) -> None:
    arrays = (out.array("float", record[name]) for name in ("shift", "scale"))
    out.call("scale", out.here, *arrays, out.size)


def _layer_norm(out: Writing, record: Record) -> None:
    arrays = (out.array("float", record[name]) for name in ("weight", "bias"))
    out.call("layer-norm", out.here, *arrays, repr(record["epsilon"]), out.size)


def _levels(out: Writing, record: Record) -> None:
    """As `Levels` does it; what each map makes is kept, since the level below may receive it."""
    source, inputs, levels = out.here, out.size, record["levels"]
    width, outputs = (len(levels[0][i][-1]["bias"]) for i in (0, -1))
    rows, row = max(map(len, levels)), max(width, outputs)
    out.calls.append(f"    double made[{len(levels)}][{rows}][{row}], total[{outputs}] = {{0}};")
    work = out.other()
    for number, i, maps in _maps(levels):
        out.here, out.size = source, inputs
        if i:
            out.here, out.size = work, width
            out.call("copy", f"made[{number}][{i - 1}]", work, width)
            if record["residual"] and number + 1 < len(levels) and i >= 2:
                out.call("add", f"made[{number + 1}][{2 * i - 2}]", work, width)
        out.write(maps[:-1])
        _affine(out, maps[-1], f"made[{number}][{i}]")
        if i == len(levels[number]) - 1:
            out.call("add", f"made[{number}][{i}]", "total", outputs)
    out.here, out.size = source, outputs
    out.call("copy", "total", source, outputs)


def _radius(out: Writing, record: Record) -> None:
    out.call("radius", out.here, record["count"], repr(record["floor"]), out.size)
    out.size -= record["count"] - 1


def _units(out: Writing, record: Record) -> None:
    """The stages in units; what u is to be multiplied by is kept meanwhile."""
    pivots, kept = (out.array("int", record[name]) for name in ("pivots", "kept"))
    sizes, target = (len(record["pivots"]), len(record["kept"])), out.other()
    powers = out.array("double", record["powers"])
    given = (out.here, pivots, sizes[0], kept, sizes[1], powers, repr(record["floor"]), target)
    out.call("units", *given)
    out.calls[-1] = out.calls[-1].replace("    fk_units", "    const double unit = fk_units")
    out.here, out.size = target, sizes[1]
    out.write(record["stages"])
    out.call("in-units", out.here, "unit", out.size)


def _option(out: Writing, record: Record) -> None:
    """It is the first stage of all, so that its row are the inputs."""
    dim = out.size
    out.write(record["stages"])
    terms = [out.array("double", record[name]) for name in ("growth", "rates", "powers")]
    numbers = [repr(record[name]) for name in ("factor", "far", "least", "floor")]
    black = int(record["formula"] == "black")
    places = [record[name] for name in ("asset", "strike", "time")]
    given = (out.here, "inputs", dim, black, repr(record["sign"]), *places, *terms, *numbers)
    out.call("option", *given)


def _maps(levels: list[list[list[Record]]]) -> Iterator[tuple[int, int, list[Record]]]:
    """Level, place in it, and stages of each map, the deepest level first."""
    for number, level in reversed(list(enumerate(levels))):
        for i, maps in enumerate(level):
            yield number, i, maps


WRITERS: dict[str, Callable[[Writing, Record], None]] = {
    "order": _order,
    "root": _columns,
    "log": _columns,
    "normalise": _normalise,
    "linear": _linear,
    "products": _products,
    "activate": _activate,
    "scale": _scale,
    "layer-norm": _layer_norm,
    "levels": _levels,
    "radius": _radius,
    "units": _units,
    "option": _option,
}
