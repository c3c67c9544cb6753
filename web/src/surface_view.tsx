// u, a Greek, or the error of the network over two inputs.
import { useMemo, useState } from "preact/hooks";
import { csv, saveText } from "./download";
import { inputMeaning, quantityLabel, short, symbol } from "./format";
import { Heat } from "./heat";
import { useLatest } from "./latest";
import { useNarrow } from "./narrow";
import { Busy, InputSelect, PictureButton, Problem, QuantitySelect } from "./parts";
import { entriesOf, type Entry } from "./points";
import type { Numbers } from "./types";
import type { ViewProps } from "./views";

const POINTS = 41;

export function SurfaceView({ source, solution, state, onState, onEntry, theme }: ViewProps) {
  const [hover, setHover] = useState<{ x: number; y: number; value: number | null } | null>(null);
  const { quantity, along, second } = state;
  const entries = entriesOf(solution);
  const [a, b] = [along, second].map((name) => entries.find((e) => e.name === name) ?? entries[0]!) as [Entry, Entry];
  const lacking = !second || along === second;
  const others = state.point.map((v, i) => (i === a.column || i === b.column ? 0 : v));
  const question = { solution, point: state.point, quantities: [quantity], output: state.output };
  const key = JSON.stringify([solution.id, quantity, along, second, others, state.output]);
  const { data, key: found, busy, error } = useLatest(lacking ? null : key, (signal) =>
    source.slice(question, [{ name: along, points: POINTS }, { name: second, points: POINTS }], signal),
  );
  const own = data && data.over[0]!.name === along && data.over[1]?.name === second && quantity in data.values ? data : null;
  const values = own?.values[quantity] as Numbers[] | undefined;
  const truth = own?.closed_form?.[quantity] as Numbers[] | undefined;
  const shows = state.error && truth ? "error" : "value";
  const table = useMemo(
    () => (shows === "error"
      ? values!.map((row, i) => row.map((v, j) => gap(v, truth![i]![j])))
      : values),
    [values, truth, shows],
  );
  const narrow = useNarrow();
  const label = shows === "error" ? "|error|" : quantityLabel(quantity);
  const name = `${solution.id}-${label}-${along}-${second}`.replaceAll(/[^\w.-]+/g, "_");
  return (
    <section class="card view" data-key={found} data-wanted={key}>
      <header class="row wrap spread">
        <span class="row wrap">
          <QuantitySelect solution={solution} value={quantity} onChange={(quantity) => onState({ quantity })} />
          <InputSelect label="over" solution={solution} value={along}
            onChange={(next) => onState(next === second ? { along: next, second: along } : { along: next })} />
          <InputSelect label="and" solution={solution} value={second}
            onChange={(next) => onState(next === along ? { second: next, along: second } : { second: next })} />
          {solution.closed_form && (
            <label class="check">
              <input type="checkbox" checked={state.error} onChange={(e) => onState({ error: e.currentTarget.checked })} />
              error
            </label>
          )}
        </span>
        <span class="row">
          <PictureButton name={name} />
          <button type="button" class="quiet" onClick={() => own && table && saveText(`${name}.csv`, long(own.over, label, table))}>CSV</button>
        </span>
      </header>
      <Problem text={error} />
      {lacking && <p class="hint">A surface needs two inputs that vary.</p>}
      <Busy on={busy}>
        {own && table && (
          <Heat x={{ label: inputMeaning(along), points: own.over[0]!.points, log: a.log }}
            y={{ label: inputMeaning(second), points: own.over[1]!.points, log: b.log }}
            table={table} valueLabel={label} marker={[state.point[a.column]!, state.point[b.column]!]} height={narrow ? 290 : 480}
            theme={theme} title={`${label} over ${along} and ${second}`} onHover={setHover}
            onPick={(x, y) => {
              onEntry(a, x);
              onEntry(b, y);
            }} />
        )}
        <p class="legend">
          <span class="hint">
            {hover
              ? `${symbol(along)} = ${short(hover.x, 4)}   ${symbol(second)} = ${short(hover.y, 4)}   ${label} = ${short(hover.value)}`
              : shows === "error"
                ? "Absolute difference between network and closed form. Drag to move the point."
                : "Drag on the map to move the point."}
          </span>
        </p>
      </Busy>
    </section>
  );
}

function gap(value: number | null, truth: number | null | undefined): number | null {
  return value === null || truth === null || truth === undefined ? null : Math.abs(value - truth);
}

/** One row per node of the grid. */
function long(over: { name: string; points: number[] }[], label: string, table: Numbers[]): string {
  const [x, y] = [over[0]!, over[1]!];
  return csv({
    [x.name]: x.points.flatMap((v) => y.points.map(() => v)),
    [y.name]: x.points.flatMap(() => y.points),
    [label]: table.flat(),
  });
}
