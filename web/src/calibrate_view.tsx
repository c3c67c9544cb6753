// Drop a sheet of quotes, choose what to find, and see the fit, its residuals and the posterior.
import { useMemo, useState } from "preact/hooks";
import { csv, saveText } from "./download";
import { inputMeaning, short, symbol } from "./format";
import { useLatest } from "./latest";
import { MarketView } from "./market_view";
import { PictureButton, Problem, Tile } from "./parts";
import { Plot } from "./plot";
import { entriesOf } from "./points";
import { OtherColumns, readSheet, smiles, type Sheet } from "./sheet";
import type { State } from "./state";
import type { Calibration, CalibrationRequest, Numbers, Solution } from "./types";
import type { ViewProps } from "./views";

const MOST_SMILES = 12;
const BINS = 24;
export const POSTERIOR_STEPS = 500;

export function CalibrateView(props: ViewProps) {
  const { source, solution, state, theme, onState } = props;
  const [market, setMarket] = useState<{ name: string; text: string } | null>(null);
  const [sheet, setSheet] = useState<Sheet | null>(null);
  const [free, setFree] = useState<string[]>([]);
  const [posterior, setPosterior] = useState(false);
  const [problem, setProblem] = useState("");
  const [asked, setAsked] = useState<CalibrationRequest | null>(null);
  const { data, key, busy, error } = useLatest(asked && JSON.stringify([solution.id, asked]), (signal) =>
    source.server!.calibrate(solution, asked!, signal),
  );
  const wanted = sheet && free.length ? request(solution, state, sheet, free, posterior ? POSTERIOR_STEPS : 0) : null;
  const found = wanted && key === JSON.stringify([solution.id, wanted]) && !error ? data : null;
  const open = async (file: File | undefined) => {
    if (!file) return;
    setAsked(null);
    setMarket(null);
    setProblem("");
    const text = await file.text();
    try {
      const read = readSheet(file.name, text, solution);
      setSheet(read);
      setFree(candidates(solution, read).slice(0, 1));
    } catch (wrong) {
      setSheet(null);
      if (solution.quoted && wrong instanceof OtherColumns) setMarket({ name: file.name, text });
      else setProblem((wrong as Error).message);
    }
  };
  const fit = () => setAsked(wanted);
  return (
    <section class="card view">
      <header class="row wrap spread">
        <h2>Calibration</h2>
        {found && sheet && (
          <span class="row">
            <PictureButton name="fit" />
            <button type="button" class="quiet" onClick={() => saveText("fit.csv", table(sheet, found))}>CSV</button>
          </span>
        )}
      </header>
      <Drop onFile={open} quoted={!!solution.quoted}
        what={sheet ? `${sheet.name}: ${sheet.rows} quotes` : market ? market.name : "Drop a quote sheet here, or choose a file"} />
      <Problem text={problem || error} />
      {market && <MarketView key={solution.id + market.name + market.text.length} {...props} text={market.text} />}
      {sheet && (
        <div class="row wrap spread">
          <fieldset class="row wrap">
            <legend>Find</legend>
            {candidates(solution, sheet).map((name) => (
              <label class="check" key={name}>
                <input type="checkbox" checked={free.includes(name)}
                  onChange={(e) => setFree(e.currentTarget.checked ? [...free, name] : free.filter((n) => n !== name))} />
                {symbol(name)}
              </label>
            ))}
          </fieldset>
          <span class="row">
            <label class="check">
              <input type="checkbox" checked={posterior} onChange={(e) => setPosterior(e.currentTarget.checked)} />
              posterior
            </label>
            <button type="button" class="primary" disabled={!free.length || busy} onClick={fit}>{busy ? "Fitting…" : "Fit"}</button>
          </span>
        </div>
      )}
      {found && <Estimates found={found} {...props} residuals={found.residual_rms} unit="" />}
      {sheet && <SheetSmiles sheet={sheet} found={found} theme={theme} />}
      {found?.posterior && <Posterior found={found} theme={theme} />}
      {[...(found?.warnings ?? []), ...(found?.posterior?.warnings ?? [])].map((warning) => <p class="hint" key={warning}>{warning}</p>)}
    </section>
  );
}

interface DropProps {
  onFile: (file: File | undefined) => void;
  what: string;
  quoted: boolean;
}

function Drop({ onFile, what, quoted }: DropProps) {
  const [over, setOver] = useState(false);
  return (
    <label class={`drop${over ? " over" : ""}`}
      onDragOver={(event) => (event.preventDefault(), setOver(true))} onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        onFile(event.dataTransfer?.files[0]);
      }}>
      <input type="file" accept=".csv,.tsv,text/csv" aria-label="Sheet of quotes"
        onChange={(event) => onFile(event.currentTarget.files?.[0])} />
      <strong>{what}</strong>
      <span class="hint">
        {quoted && "A sheet as you have it: strikes and maturities beside prices or volatilities (or maturities beside yields). Or a "}
        {quoted ? "" : "A "}CSV file with a column for each known input, “value”, and perhaps “noise”; other inputs are then taken from the sliders.
      </span>
    </label>
  );
}

/** What the sheet leaves open: whole variables, or single numbers. */
function candidates(solution: Solution, sheet: Sheet): string[] {
  const given = new Set(Object.keys(sheet.columns));
  const begun = new Set([...given].map((name) => name.replace(/\[.*/, "")));
  const order = (name: string) => (/^[xt]\b/.test(name) ? 1 : 0);
  return solution.variables
    .filter((v) => !v.fixed && !given.has(v.name))
    .flatMap((v) => (begun.has(v.name) ? v.entries.filter((entry) => !given.has(entry)) : [v.name]))
    .toSorted((a, b) => order(a) - order(b));
}

function request(solution: Solution, state: State, sheet: Sheet, free: string[], posterior: number): CalibrationRequest {
  const given = new Set(Object.keys(sheet.columns));
  const known: Record<string, any> = {};
  for (const entry of entriesOf(solution)) {
    if (free.includes(entry.variable) || free.includes(entry.name) || given.has(entry.variable) || given.has(entry.name) || entry.fixed) continue;
    known[entry.name] = state.point[entry.column]!;
  }
  for (const name of given) if (name !== "value" && name !== "noise") known[name] = sheet.columns[name]!;
  const output = solution.outputs > 1 ? { output: state.output } : {};
  return { free, values: sheet.columns.value!, known, noise: sheet.columns.noise ?? null, posterior, ...output };
}

/** The point with the estimate in place of what was free. */
function moved(solution: Solution, point: number[], found: Pick<Calibration, "estimate">): number[] {
  const next = point.slice();
  for (const entry of entriesOf(solution)) {
    const estimate = found.estimate[entry.name] ?? found.estimate[entry.variable];
    if (estimate) next[entry.column] = Math.min(entry.high, Math.max(entry.low, estimate.value));
  }
  return next;
}

type EstimateProps = ViewProps & { found: Pick<Calibration, "estimate" | "confidence">; residuals: number; unit: string };

/** The parameters and their intervals, and a way to look around there. */
export function Estimates({ found, solution, state, onState, residuals, unit }: EstimateProps) {
  return (
    <>
      <div class="tiles">
        {Object.entries(found.estimate).map(([name, e]) => (
          <Tile key={name} name={symbol(name)} value={short(e.value, 5)}
            note={`${short(100 * found.confidence, 3)} %: ${short(e.interval[0], 4)} … ${short(e.interval[1], 4)}`} />
        ))}
        <Tile name="residuals" value={short(residuals, 3)} note={`${unit}root mean square`} />
      </div>
      <button type="button" onClick={() => onState({ point: moved(solution, state.point, found), view: "curve" })}>
        Explore at this estimate
      </button>
    </>
  );
}

export interface SmileOfQuotes {
  title: string;
  x: number[];
  quotes: Numbers;
  half?: number[] | undefined;
  fit: Numbers | null;
}

/** Quotes with their fit, a plot each. */
export function Smiles({ groups, x, y, theme }: { groups: SmileOfQuotes[]; x: string; y: string; theme: string }) {
  return (
    <>
      <div class="multiples">
        {groups.slice(0, MOST_SMILES).map((group) => (
          <figure key={group.title}>
            <figcaption>{group.title}</figcaption>
            <Plot x={group.x} xLabel={x} yLabel={y} height={220} theme={theme} title={`Quotes ${group.title}`}
              lines={[{ label: "fit", values: group.fit ?? group.x.map(() => null), colour: "--accent" }]}
              bars={{ label: "quotes", x: group.x, y: group.quotes, half: group.half ?? group.x.map(() => 0), colour: "--second" }} />
          </figure>
        ))}
      </div>
      <p class="legend"><span class="key second">quotes</span>{groups[0]?.fit && <span class="key accent">fit</span>}
        {groups.length > MOST_SMILES && <span class="hint">The first {MOST_SMILES} of {groups.length} smiles.</span>}</p>
    </>
  );
}

/** One smile for each combination of the columns that vary least. */
function SheetSmiles({ sheet, found, theme }: { sheet: Sheet; found: Calibration | null; theme: string }) {
  const { along, groups } = useMemo(() => smiles(sheet), [sheet]);
  const column = (values: number[], rows: number[]) => rows.map((i) => values[i]!);
  const { value, noise } = sheet.columns as { value: number[]; noise?: number[] };
  return (
    <>
      <Smiles x={along ? inputMeaning(along) : "quote"} y="value" theme={theme} groups={groups.map(({ label, rows }) => ({
        title: label || "Quotes",
        x: along ? column(sheet.columns[along]!, rows) : rows,
        quotes: column(value, rows),
        half: noise && column(noise, rows),
        fit: found && column(found.fitted, rows),
      }))} />
      {found && (
        <figure>
          <figcaption>Residuals, quote − fit</figcaption>
          <Plot x={value.map((_, i) => i + 1)} xLabel="quote" yLabel="residual" height={220} theme={theme} title="Residuals"
            lines={[{ label: "zero", values: value.map(() => 0), colour: "--muted", width: 1 }]}
            bars={{ label: "residuals", x: value.map((_, i) => i + 1), y: value.map((v, i) => v - found.fitted[i]!),
              half: noise ?? value.map(() => 0), colour: "--second" }} />
        </figure>
      )}
    </>
  );
}

export function Posterior({ found, theme }: { found: Pick<Calibration, "estimate" | "posterior">; theme: string }) {
  return (
    <div class="multiples">
      {Object.entries(found.posterior!.draws).map(([name, draws]) => {
        const { middles, heights } = histogram(draws);
        return (
          <figure key={name}>
            <figcaption>Posterior of {symbol(name)}</figcaption>
            <Plot x={middles} xLabel={symbol(name)} yLabel="density" height={220} theme={theme} title={`Posterior of ${name}`}
              lines={[{ label: "posterior", values: heights, colour: "--accent" }]} marker={found.estimate[name]?.value ?? null} />
          </figure>
        );
      })}
    </div>
  );
}

export function histogram(draws: number[]): { middles: number[]; heights: number[] } {
  const [low, high] = [Math.min(...draws), Math.max(...draws)];
  const width = (high - low) / BINS || 1;
  const heights = new Array<number>(BINS).fill(0);
  for (const draw of draws) heights[Math.min(BINS - 1, Math.floor((draw - low) / width))]! += 1 / (draws.length * width);
  return { middles: heights.map((_, i) => low + (i + 0.5) * width), heights };
}

function table(sheet: Sheet, found: Calibration): string {
  return csv({ ...sheet.columns, fit: found.fitted, "quote - fit": sheet.columns.value!.map((v, i) => v - found.fitted[i]!) });
}
