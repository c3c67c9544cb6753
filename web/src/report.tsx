// A report: what was trained and how good it is, then the explorer on the embedded network.
import { render } from "preact";
import { useMemo } from "preact/hooks";
import { App, Logo, ThemeButton } from "./app";
import { ErrorProfiles } from "./errors_view";
import { inputMeaning, quantityLabel, short } from "./format";
import { localSource } from "./local";
import type { Network } from "./network";
import { Plot, type Line } from "./plot";
import { entriesOf } from "./points";
import "./style.css";
import { useTheme } from "./theme";
import { History } from "./training_view";
import type { Certificate, ErrorMap, Numbers, Record_, Slice, Solution } from "./types";

export interface ReportTable {
  title: string;
  note: string;
  columns: string[];
  rows: string[][];
}

export interface ReportData {
  title: string;
  created: string;
  version: string;
  solution: Solution;
  /** Null: why there is none stands in `note`. */
  network: Network | null;
  note: string;
  settings: ReportTable;
  tables: ReportTable[];
  curves: { slice: Slice; at: string; certificates: Certificate[] | null; points: number[] }[];
  error_map: ErrorMap | null;
  history: Record_[];
}

function Report({ data }: { data: ReportData }) {
  const [theme, toggle] = useTheme();
  // Without Python there is no closed form: the curves below carry theirs.
  const source = useMemo(
    () => data.network && localSource({ ...data.solution, closed_form: false }, data.network), [data],
  );
  return (
    <div class="report">
      <header class="top">
        <span class="brand"><Logo />feynkac</span>
        <h1>{data.title}</h1>
        <ThemeButton theme={theme} onToggle={toggle} />
      </header>
      <section class="notes lead">
        <p>{data.solution.description}</p>
        {data.solution.warnings.map((warning) => <p class="warning" key={warning}>{warning}</p>)}
      </section>
      <h2>Explore</h2>
      {source
        ? <App source={source} theme={theme} onToggleTheme={toggle} health={{ state: "well" }} embedded />
        : <p class="hint">{data.note}</p>}
      <h2>Accuracy</h2>
      {data.tables.map((table) => <Figures key={table.title} table={table} />)}
      {data.error_map && (
        <section class="card view">
          <h3>Error map</h3>
          <ErrorProfiles map={data.error_map} solution={data.solution} theme={theme} />
        </section>
      )}
      {data.curves.length > 0 && <h2>Curves</h2>}
      <div class="multiples wide">
        {data.curves.map((curve, i) => <Curve key={i} curve={curve} solution={data.solution} theme={theme} />)}
      </div>
      {data.history.length > 0 && (
        <>
          <h2>Training</h2>
          <section class="card view"><History records={data.history} theme={theme} /></section>
        </>
      )}
      <h2>Settings</h2>
      <Figures table={data.settings} />
      <footer class="notes"><p class="hint">Written by feynkac {data.version}, {data.created}. This file needs no server and loads nothing.</p></footer>
    </div>
  );
}

function Figures({ table }: { table: ReportTable }) {
  return (
    <section class="card view">
      {table.title && <h3>{table.title}</h3>}
      <div class="scroll">
        <table>
          <thead><tr>{table.columns.map((name) => <th key={name}>{name}</th>)}</tr></thead>
          <tbody>{table.rows.map((row, i) => <tr key={i}>{row.map((cell, j) => <td key={j}>{cell}</td>)}</tr>)}</tbody>
        </table>
      </div>
      {table.note && <p class="hint">{table.note}</p>}
    </section>
  );
}

function Curve({ curve, solution, theme }: { curve: ReportData["curves"][number]; solution: Solution; theme: string }) {
  const axis = curve.slice.over[0]!;
  const [quantity] = Object.keys(curve.slice.values) as [string];
  const entry = entriesOf(solution).find((e) => e.name === axis.name);
  const truth = curve.slice.closed_form?.[quantity] as Numbers | undefined;
  const lines: Line[] = [{ label: "network", values: curve.slice.values[quantity] as Numbers, colour: "--accent" }];
  if (truth) lines.push({ label: "closed form", values: truth, colour: "--second", dash: [6, 5] });
  const found = curve.certificates;
  const bars = found && {
    label: "certified", x: curve.points, y: found.map((c) => c.value), half: found.map((c) => c.half_width), colour: "--third",
  };
  return (
    <figure class="card">
      <figcaption>{quantityLabel(quantity)} along {axis.name}</figcaption>
      <Plot x={axis.points} lines={lines} bars={bars} xLabel={inputMeaning(axis.name)} yLabel={quantityLabel(quantity)}
        logX={entry?.log ?? false} height={260} theme={theme} title={`${quantity} along ${axis.name}`} />
      <p class="legend">
        <span class="key accent">network</span>
        {truth && <span class="key second dashed">closed form</span>}
        {found && <span class="key third">certified, {short(100 * (found[0]?.confidence ?? 0), 3)} %</span>}
        <span class="hint">{curve.at}</span>
      </p>
    </figure>
  );
}

const embedded = document.getElementById("report")!;
render(<Report data={JSON.parse(embedded.textContent!) as ReportData} />, document.getElementById("app")!);
