// Flat points, the controls' scales, and points by name as the service takes them.
import type { Point, Solution, Variable } from "./types";

export interface Entry {
  name: string;
  variable: string;
  /** Its place in the flat input. */
  column: number;
  low: number;
  high: number;
  default: number;
  log: boolean;
  fixed: boolean;
}

export function entriesOf(solution: Solution): Entry[] {
  let column = 0;
  return solution.variables.flatMap((variable) =>
    variable.entries.map((name, i) => ({
      name,
      variable: variable.name,
      column: column++,
      low: variable.low[i]!,
      high: variable.high[i]!,
      default: variable.default[i]!,
      log: variable.scale === "log" && variable.low[i]! > 0,
      fixed: variable.fixed || variable.low[i] === variable.high[i],
    })),
  );
}

export function defaultPoint(solution: Solution): Point {
  return solution.variables.flatMap((variable) => variable.default);
}

/** Where a value stands between the ends of its range, 0 to 1. */
export function fraction(entry: Entry, value: number): number {
  const { low, high, log } = entry;
  if (low === high) return 0;
  const part = log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  return Math.min(1, Math.max(0, part));
}

export function valueAt(entry: Entry, part: number): number {
  const { low, high, log } = entry;
  if (part <= 0) return low;
  if (part >= 1) return high;
  const value = log ? low * (high / low) ** part : low + part * (high - low);
  // As short as the slider is fine: a value that a person can read and type again.
  const step = 10 ** Math.floor(Math.log10((log ? value : high - low) / 1000));
  const rounded = Number((Math.round(value / step) * step).toPrecision(12));
  return Math.min(high, Math.max(low, rounded));
}

export function axisPoints(entry: Entry, count: number): number[] {
  const { low, high, log } = entry;
  return Array.from({ length: count }, (_, i) => {
    if (i === count - 1) return high;
    const part = i / (count - 1);
    return log ? low * (high / low) ** part : low + part * (high - low);
  });
}

export function randomPoint(solution: Solution): Point {
  return entriesOf(solution).map((e) => (e.fixed ? e.default : valueAt(e, Math.random())));
}

/** Values by name, nested as the variable's shape says. */
export function byName(solution: Solution, point: Point): Record<string, unknown> {
  let start = 0;
  return Object.fromEntries(
    solution.variables.map((variable) => {
      const size = variable.entries.length;
      const flat = point.slice(start, start + size);
      start += size;
      return [variable.name, nested(flat, variable.shape)];
    }),
  );
}

function nested(flat: number[], shape: number[]): unknown {
  if (shape.length === 0) return flat[0];
  if (shape.length === 1) return flat;
  const rows = shape[0]!;
  const size = flat.length / rows;
  return Array.from({ length: rows }, (_, i) =>
    nested(flat.slice(i * size, (i + 1) * size), shape.slice(1)),
  );
}

/** The inverse of `byName`. */
export function flatten(solution: Solution, at: Record<string, unknown>): Point {
  return solution.variables.flatMap((v: Variable) => [at[v.name]].flat(Infinity) as number[]);
}
