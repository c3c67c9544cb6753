// u or a Greek along one input, with the closed form or certified points over it.
import { useMemo, useState } from "preact/hooks";
import { csv, saveText } from "./download";
import { inputMeaning, quantityLabel, quantityMeaning, short, symbol } from "./format";
import { useLatest } from "./latest";
import { useNarrow } from "./narrow";
import { Busy, InputSelect, PictureButton, Problem, QuantitySelect } from "./parts";
import { Plot, type Bars, type Line } from "./plot";
import { axisPoints, entriesOf } from "./points";
import type { ViewProps } from "./views";
import { quantities } from "./state";
import type { Certificate, Numbers } from "./types";

const POINTS = 101;
const CERTIFIED = 9; // points along a curve
const SECONDS = 0.4; // for each of them

export function CurveView({ source, solution, state, onState, onEntry, theme }: ViewProps) {
  const [hover, setHover] = useState<number | null>(null);
  const { quantity, along } = state;
  const entry = entriesOf(solution).find((e) => e.name === along)!;
  // The curve does not depend on where the point stands along it.
  const others = state.point.map((v, i) => (i === entry.column ? entry.default : v));
  const question = { solution, point: state.point, quantities: [quantity], output: state.output };
  const key = JSON.stringify([solution.id, quantity, along, others, state.output]);
  const { data, key: found, busy, error } = useLatest(key, (signal) =>
    source.slice(question, [{ name: along, points: POINTS }], signal),
  );
  const [asked, setAsked] = useState("");
  const certified = useLatest(asked === key && quantity === "value" ? key : null, async (signal) => {
    const x = axisPoints(entry, CERTIFIED);
    return { x, found: await source.server!.certify(question, along, x, SECONDS, signal) };
  });
  const proof = certified.key === key && asked === key ? certified.data : null;
  const own = data?.over[0]?.name === along && quantity in data.values ? data : null;
  const x = own?.over[0]?.points ?? [];
  const values = (own?.values[quantity] ?? []) as Numbers;
  const truth = (state.reference ? own?.closed_form?.[quantity] ?? null : null) as Numbers | null;
  const of = [...quantities(solution).greeks, ...quantities(solution).slopes].find((c) => c.name === quantity)?.of;
  const bars = useMemo(() => proof && toBars(proof.x, proof.found, (c) => c.value), [proof]);
  const gaps = useMemo(() => proof && toBars(proof.x, proof.found, (c) => c.network - c.value), [proof]);
  const difference = useMemo(
    () => truth && values.map((v, i) => (v === null || truth[i] === null ? null : v - truth[i]!)),
    [values, truth],
  );
  const lines: Line[] = [{ label: "network", values, colour: "--accent", width: 2.5 }];
  if (truth) lines.push({ label: "closed form", values: truth, colour: "--second", dash: [6, 5], width: 2 });
  const name = `${solution.id}-${quantity}-${along}`.replaceAll(/[^\w.-]+/g, "_");
  const at = hover ?? null;
  const narrow = useNarrow();
  const below = !narrow && (difference || gaps);
  return (
    <section class="card view" data-key={found} data-wanted={key}>
      <header class="row wrap spread">
        <span class="row wrap">
          <QuantitySelect solution={solution} value={quantity} onChange={(quantity) => onState({ quantity })} />
          <InputSelect label="along" solution={solution} value={along} onChange={(along) => onState({ along })} />
          {solution.closed_form && (
            <label class="check">
              <input type="checkbox" checked={state.reference} onChange={(e) => onState({ reference: e.currentTarget.checked })} />
              closed form
            </label>
          )}
          {source.server && quantity === "value" && (
            <button type="button" disabled={certified.busy} onClick={() => setAsked(key)}
              title="Simulate independent values at nine points, with their confidence intervals">
              {certified.busy ? "Simulating…" : "Certify"}
            </button>
          )}
        </span>
        <span class="row">
          <PictureButton name={name} />
          <button type="button" class="quiet" onClick={() => saveText(`${name}.csv`, csv({
            [along]: x, [quantity]: values, ...(truth ? { "closed form": truth } : {}),
          }))}>CSV</button>
        </span>
      </header>
      <Problem text={error || certified.error} />
      <Busy on={busy}>
        <Plot x={x} lines={lines} bars={bars} xLabel={below ? "" : inputMeaning(along)} yLabel={axisLabel(quantity, of)} logX={entry.log}
          marker={state.point[entry.column]!} height={narrow ? 230 : below ? 330 : 460} theme={theme}
          title={`${quantityLabel(quantity)} along ${along}`} onHover={setHover}
          onPick={(value) => onEntry(entry, value)} />
        <p class="legend" aria-live="off">
          <span class="key accent">network</span>
          {truth && <span class="key second dashed">closed form</span>}
          {bars && <span class="key third">certified, {short(100 * (proof!.found[0]?.confidence ?? 0), 3)} %</span>}
          <span class="hint">
            {at !== null && x[at] !== undefined
              ? `${symbol(along)} = ${short(x[at], 5)}   ${quantityLabel(quantity)} = ${short(values[at])}` +
                (truth ? `   closed form ${short(truth[at])}` : "")
              : narrow ? "" : "Click on the plot to move the point."}
          </span>
        </p>
        {below && (
          <Plot x={x} lines={[{ label: "difference", values: difference ?? x.map(() => null), colour: "--accent", width: 1.5 }]}
            bars={gaps} xLabel={inputMeaning(along)} yLabel="error" logX={entry.log} height={170} theme={theme}
            marker={state.point[entry.column]!} title="Difference between network and truth" />
        )}
      </Busy>
      {proof && <p class="hint">{verdict(proof.found)}</p>}
    </section>
  );
}

function axisLabel(quantity: string, of?: string[]): string {
  const meaning = quantityMeaning(quantity, of);
  return quantity === "value" ? meaning : `${quantityLabel(quantity)}  (${meaning})`;
}

function toBars(x: number[], found: Certificate[], y: (c: Certificate) => number): Bars {
  return { label: "certified", x, y: found.map(y), half: found.map((c) => c.half_width), colour: "--third" };
}

function verdict(found: Certificate[]): string {
  const worst = found.reduce((a, b) => (Math.abs(b.network - b.value) > Math.abs(a.network - a.value) ? b : a));
  return `The network differs from ${found.length} simulated values by at most ` +
    `${short(Math.abs(worst.network - worst.value), 2)} ± ${short(worst.half_width, 2)}.`;
}
