// A quote sheet as people have it: the server reads it, fits all parameters, and answers with smiles.
import { useState } from "preact/hooks";
import { Estimates, Posterior, POSTERIOR_STEPS, Smiles } from "./calibrate_view";
import { csv, saveText } from "./download";
import { parse, short } from "./format";
import { useLatest } from "./latest";
import { PictureButton, Problem } from "./parts";
import type { MarketFit, MarketRequest } from "./types";
import type { ViewProps } from "./views";

const CARRY = ["spot", "forward", "rate", "dividend"] as const;

export function MarketView({ text, ...props }: ViewProps & { text: string }) {
  const { source, solution, theme } = props;
  const [typed, setTyped] = useState<Record<string, string>>({});
  const [posterior, setPosterior] = useState(false);
  const [asked, setAsked] = useState<MarketRequest | null>({ sheet: text, posterior: 0 });
  const wanted = request(text, typed, posterior);
  const { data, key, busy, error } = useLatest(asked && JSON.stringify([solution.id, asked]), (signal) =>
    source.server!.quotes(solution, asked!, signal),
  );
  const found = !error && asked && key === JSON.stringify([solution.id, asked]) ? data : null;
  return (
    <>
      <div class="row wrap spread">
        <span class="row wrap">
          {[...CARRY, "date"].map((name) => (
            <label class="choice" key={name}>
              <span>{name}</span>
              <input class="value" value={typed[name] ?? ""} aria-label={name}
                placeholder={name}
                onInput={(e) => setTyped({ ...typed, [name]: e.currentTarget.value })} />
            </label>
          ))}
        </span>
        <span class="row">
          <label class="check">
            <input type="checkbox" checked={posterior} onChange={(e) => setPosterior(e.currentTarget.checked)} />
            posterior
          </label>
          <button type="button" class="primary" disabled={busy} onClick={() => setAsked(wanted)}>{busy ? "Fitting…" : "Fit"}</button>
          {found && <PictureButton name="fit" />}
          {found && <button type="button" class="quiet" onClick={() => saveText("fit.csv", table(found))}>CSV</button>}
        </span>
      </div>
      <Problem text={error} />
      {found && (
        <>
          <Estimates found={found} {...props} residuals={100 * rms(found)} unit={`points of ${found.level}, `} />
          <Fits found={found} theme={theme} />
          {found.posterior && <Posterior found={found} theme={theme} />}
          <Read found={found} />
        </>
      )}
    </>
  );
}

function request(sheet: string, typed: Record<string, string>, posterior: boolean): MarketRequest {
  const numbers = CARRY.filter((name) => Number.isFinite(parse(typed[name] ?? ""))).map((name) => [name, parse(typed[name]!)]);
  const date = typed.date?.trim() ? { date: typed.date.trim() } : {};
  return { sheet, ...Object.fromEntries(numbers), ...date, posterior: posterior ? POSTERIOR_STEPS : 0 };
}

type Row = MarketFit["quotes"][number];
const quoted = (row: Row, level: string) => row[level] as number | null;
const fitted = (row: Row, level: string) => row[`fitted_${level}`] as number | null;
const percent = (value: number | null) => (value === null ? null : 100 * value);

function rms({ quotes, level }: MarketFit): number {
  const gaps = quotes.flatMap((row) => {
    const [a, b] = [quoted(row, level), fitted(row, level)];
    return a === null || b === null ? [] : [(a - b) ** 2];
  });
  return Math.sqrt(gaps.reduce((sum, gap) => sum + gap, 0) / Math.max(1, gaps.length));
}

/** Smiles of each maturity, or the curve of yields. */
function Fits({ found, theme }: { found: MarketFit; theme: string }) {
  const { level } = found;
  const times = [...new Set(found.quotes.map((row) => row.t))].toSorted((a, b) => a - b);
  const strikes = found.quotes.some((row) => row.strike !== undefined);
  const groups = strikes ? times.map((t) => found.quotes.filter((row) => row.t === t)) : [found.quotes];
  const along = (row: Row) => (strikes ? row.strike! : row.t);
  return (
    <Smiles x={strikes ? "strike" : "maturity"} y={`${level} in %`} theme={theme} groups={groups.map((group) => {
      const rows = group.toSorted((a, b) => along(a) - along(b));
      return {
        title: strikes ? `t = ${short(rows[0]!.t, 3)}` : "Yields",
        x: rows.map(along),
        quotes: rows.map((row) => percent(quoted(row, level))),
        fit: rows.map((row) => percent(fitted(row, level))),
      };
    })} />
  );
}

/** How the sheet was understood. */
function Read({ found: { sheet, notes, warnings, posterior, check } }: { found: MarketFit }) {
  const columns = Object.entries(sheet.columns).map(([role, name]) => `${role} = ${name}`).join(", ");
  const dropped = sheet.dropped.length ? [`${sheet.dropped.length} rows were left out; the first is row ${sheet.dropped[0]!.row}: ${sheet.dropped[0]!.reason}.`] : [];
  const checked = check ? [`Fitted prices were checked by ${check.by}: largest error ${short(1e4 * check.largest_error, 2)} basis points.`] : [];
  const lines = [`Columns: ${columns}.`, ...sheet.notes, ...dropped, ...notes, ...checked, ...warnings, ...(posterior?.warnings ?? [])];
  return <>{lines.map((line) => <p class="hint" key={line}>{line}</p>)}</>;
}

function table({ quotes, level }: MarketFit): string {
  const names = ["t", "strike", "price", "fitted_price", level, `fitted_${level}`].filter((name) => name in (quotes[0] ?? {}));
  return csv(Object.fromEntries(names.map((name) => [name, quotes.map((row) => row[name] as number | null)])));
}
