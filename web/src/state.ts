// Everything a link restores. It stands in the fragment of the address, so no server sees it.
import { parse } from "./format";
import { defaultPoint, entriesOf } from "./points";
import type { Point, Solution } from "./types";

export type View = "curve" | "surface" | "errors" | "calibrate" | "training";

export interface State {
  solution: string;
  view: View;
  quantity: string;
  along: string;
  second: string;
  output: number;
  reference: boolean;
  /** The surface shows the error in place of the value. */
  error: boolean;
  point: Point;
  run: string;
}

const VIEWS: View[] = ["curve", "surface", "errors", "calibrate", "training"];

/** What a solution starts with. */
export function initial(solution: Solution, view: View = "curve"): State {
  const free = entriesOf(solution).filter((entry) => !entry.fixed);
  const other = free.find((e) => e.name === "t") ?? free[1];
  return {
    solution: solution.id,
    view,
    quantity: "value",
    along: free[0]?.name ?? "",
    second: (other === free[0] ? free[1] : other)?.name ?? "",
    output: 0,
    reference: true,
    error: false,
    point: defaultPoint(solution),
    run: "",
  };
}

export function toFragment(state: State, solution: Solution): string {
  const start = initial(solution);
  const moved = entriesOf(solution)
    .filter((entry) => state.point[entry.column] !== start.point[entry.column])
    .map((entry) => `${entry.name}:${state.point[entry.column]}`);
  const fields: [string, string][] = [
    ["s", state.solution],
    ["v", state.view === start.view ? "" : state.view],
    ["q", state.quantity === start.quantity ? "" : state.quantity],
    ["a", state.along === start.along ? "" : state.along],
    ["b", state.second === start.second ? "" : state.second],
    ["o", state.output ? String(state.output) : ""],
    ["c", state.reference ? "" : "0"],
    ["e", state.error ? "1" : ""],
    ["r", state.run],
    ["p", moved.join(";")],
  ];
  return new URLSearchParams(fields.filter(([, value]) => value)).toString();
}

/** The state that an address names; what it does not know stays as it starts. */
export function fromFragment(fragment: string, solutions: Solution[]): State | null {
  const fields = new URLSearchParams(fragment.replace(/^#/, ""));
  const solution = solutions.find((each) => each.id === fields.get("s")) ?? solutions[0];
  if (!solution) return null;
  const state = initial(solution);
  const entries = entriesOf(solution);
  const known = (name: string | null) => entries.some((e) => e.name === name && !e.fixed);
  const view = fields.get("v") as View;
  if (VIEWS.includes(view)) state.view = view;
  if (fields.has("q") && isQuantity(solution, fields.get("q")!)) state.quantity = fields.get("q")!;
  if (known(fields.get("a"))) state.along = fields.get("a")!;
  if (known(fields.get("b"))) state.second = fields.get("b")!;
  const output = Number(fields.get("o") ?? 0);
  if (Number.isInteger(output) && output >= 0 && output < solution.outputs) state.output = output;
  state.reference = fields.get("c") !== "0";
  state.error = fields.get("e") === "1";
  state.run = fields.get("r") ?? "";
  for (const part of (fields.get("p") ?? "").split(";")) {
    const cut = part.lastIndexOf(":");
    const entry = entries.find((e) => e.name === part.slice(0, cut));
    const value = parse(part.slice(cut + 1));
    if (entry && value >= entry.low && value <= entry.high) state.point[entry.column] = value;
  }
  return state;
}

export interface Choice {
  name: string;
  /** The inputs it is a derivative in. */
  of: string[];
}

/** All quantities with one number each, in groups. */
export function quantities(solution: Solution): { greeks: Choice[]; slopes: Choice[] } {
  const entries = entriesOf(solution);
  const indices = new Map(solution.variables.map((v) => [v.name, v.entries.map((e) => e.slice(v.name.length))]));
  const greeks = solution.greeks.flatMap((greek) =>
    greek.shape.length === 0
      ? [{ name: greek.name, of: greek.of }]
      : (indices.get(greek.of[0]!) ?? []).map((index) => ({
          name: greek.name + index,
          of: greek.of.map((name) => (indices.get(name)!.length > 1 ? name + index : name)),
        })),
  );
  const slopes = entries.filter((e) => !e.fixed).map((e) => ({ name: `∂u/∂${e.name}`, of: [e.name] }));
  return { greeks, slopes };
}

function isQuantity(solution: Solution, name: string): boolean {
  const { greeks, slopes } = quantities(solution);
  return [...greeks, ...slopes].some((choice) => choice.name === name);
}
