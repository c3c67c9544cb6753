// Value and Greeks at the current point, beside the closed form.
import { useMemo } from "preact/hooks";
import { quantityLabel, short, signed } from "./format";
import { useLatest } from "./latest";
import { Busy, Problem, Tile } from "./parts";
import type { Source } from "./source";
import { quantities, type State } from "./state";
import type { Solution } from "./types";

const MOST = 7; // numbers in a row

export function Readout({ source, solution, state }: { source: Source; solution: Solution; state: State }) {
  const names = useMemo(() => shown(solution, state.quantity, state.along), [solution, state.quantity, state.along]);
  const question = { solution, point: state.point, quantities: names, output: state.output };
  const key = JSON.stringify([solution.id, state.point, names, state.output]);
  const { data, key: found, busy, error } = useLatest(key, (signal) => source.answer(question, signal));
  const closed = state.reference ? data?.closed_form : null;
  return (
    <section class="readout" aria-label="At this point" data-key={found} data-wanted={key}>
      <Busy on={busy}>
        <div class="tiles">
          {names.map((name) => {
            const value = data?.values[name];
            const truth = closed?.[name];
            return (
              <div key={name} data-quantity={name} data-value={value ?? ""}>
                <Tile name={quantityLabel(name)} value={data ? short(value, Math.abs(value ?? 0) < 0.1 ? 4 : 6) : error ? "–" : "…"}
                  note={typeof value === "number" && typeof truth === "number"
                    ? <span title={`closed form ${short(truth, 9)}`}>error {signed(value - truth)}</span>
                    : closed === null || closed === undefined ? undefined : "–"} />
              </div>
            );
          })}
        </div>
      </Busy>
      <Problem text={error} />
    </section>
  );
}

/** The value, what is plotted, and the Greeks or the first derivatives. */
function shown(solution: Solution, quantity: string, along: string): string[] {
  const { greeks, slopes } = quantities(solution);
  const others = (greeks.length ? greeks : slopes).map((choice) => choice.name);
  const first = greeks.length ? [] : [`∂u/∂${along}`];
  const names = [...new Set(["value", ...first, ...others])].slice(0, MOST);
  if (!names.includes(quantity)) names.splice(names.length < MOST ? names.length : MOST - 1, 1, quantity);
  return names;
}
