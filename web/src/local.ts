// Answers of a network inside the page: a report works without Python and without a server.
import { jet, second, unit, type Network } from "./network";
import { axisPoints, entriesOf } from "./points";
import type { Question, Source } from "./source";
import type { Answer, Axis, Point, Slice, Solution, Table } from "./types";

type Quantity = (point: Point) => number;

/** The number that a name stands for: value, ∂u/∂x[1], delta, gamma[2]. */
export function quantity(solution: Solution, network: Network, name: string, output: number): Quantity {
  const column = (entry: string) => network.inputs.indexOf(entry);
  if (name === "value") return (point) => jet(network, point, null, 0, output)[0];
  const derivative = /^∂u\/∂(.*)$/.exec(name);
  if (derivative) return first(network, column(derivative[1]!), 1, output);
  const [, greekName, index] = /^([^[]+)(\[.*\])?$/.exec(name)!;
  const greek = solution.greeks.find((g) => g.name === greekName);
  if (!greek) throw new Error(`There is no quantity ${name}.`);
  const [a, b] = greek.of.map((variable) =>
    Math.max(column(variable + (index ?? "")), column(variable)),
  );
  if (b === undefined) return first(network, a!, greek.sign, output);
  return (point) => greek.sign * second(network, point, a!, b, output);
}

function first(network: Network, column: number, sign: number, output: number): Quantity {
  const direction = unit(network.inputs.length, column);
  return (point) => sign * jet(network, point, direction, 1, output)[1];
}

export function localSource(solution: Solution, network: Network): Source {
  const entries = entriesOf(solution);

  function answer({ point, quantities, output }: Question): Answer {
    const values = quantities.map((name) => [name, quantity(solution, network, name, output)(point)]);
    return { values: Object.fromEntries(values), closed_form: null };
  }

  function slice({ point, quantities, output }: Question, over: Axis[]): Slice {
    const axes = over.map((axis) => {
      const entry = entries.find((e) => e.name === axis.name)!;
      const points = axisPoints(entry, axis.points ?? (over.length > 1 ? 41 : 101));
      return { name: axis.name, column: entry.column, points };
    });
    const table = (f: Quantity): Table => {
      const at = point.slice();
      const along = (k: number): any =>
        k === axes.length
          ? f(at)
          : axes[k]!.points.map((value) => {
              at[axes[k]!.column] = value;
              return along(k + 1);
            });
      return along(0);
    };
    const values = quantities.map((name) => [name, table(quantity(solution, network, name, output))]);
    return {
      over: axes.map(({ name, points }) => ({ name, points })),
      values: Object.fromEntries(values),
      closed_form: null,
    };
  }

  return {
    server: null,
    solutions: async () => [solution],
    answer: async (question) => answer(question),
    slice: async (question, over) => slice(question, over),
  };
}
