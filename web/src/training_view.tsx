// Follows a training that writes into a folder the server watches.
import { useEffect, useState } from "preact/hooks";
import { csv, saveText } from "./download";
import { short } from "./format";
import { useLatest } from "./latest";
import { PictureButton, Problem, Select, Tile } from "./parts";
import { Plot } from "./plot";
import type { Source } from "./source";
import type { Progress, Record_, Run } from "./types";

const PERIOD = 1000; // milliseconds between two looks

interface Props {
  source: Source;
  run: string;
  theme: string;
  onRun: (id: string) => void;
  onSolution: (id: string) => void;
}

export function TrainingView({ source, run, theme, onRun, onSolution }: Props) {
  const [tick, setTick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setTick((n) => n + 1), PERIOD);
    return () => clearInterval(timer);
  }, []);
  const { data: runs, error } = useLatest(`${tick}`, (signal) => source.server!.runs(signal));
  const id = run || runs?.find((r) => r.state === "running")?.id || runs?.[0]?.id || "";
  const follow = useProgress(source, id, tick);
  if (!runs) return <section class="card view"><Problem text={error} /></section>;
  if (runs.length === 0) {
    return (
      <section class="card view">
        <h2>Training</h2>
        <p class="hint">No run to follow. Start one with <code>feynkac solve FAMILY --watch</code>.</p>
      </section>
    );
  }
  return (
    <section class="card view">
      <header class="row wrap spread">
        <Select label="Run" value={id} onChange={onRun}>
          {runs.map((r: Run) => <option key={r.id} value={r.id}>{r.id} ({r.state})</option>)}
        </Select>
        <span class="row">
          <PictureButton name={id} />
          <button type="button" class="quiet" onClick={() => saveText(`${id}.csv`, table(follow.records))}>CSV</button>
        </span>
      </header>
      <Problem text={error || follow.error} />
      <History records={follow.records} theme={theme} />
      <footer class="row spread">
        <span class={`state ${follow.state}`}>{follow.state || "waiting"}</span>
        {follow.solution && (
          <button type="button" class="primary" onClick={() => onSolution(follow.solution!)}>Explore the solution</button>
        )}
      </footer>
    </section>
  );
}

/** The errors measured so far: numbers and their curve. */
export function History({ records, theme }: { records: Record_[]; theme: string }) {
  const last = records.at(-1);
  const known = records.filter((r) => typeof r.l1 === "number" && r.l1 > 0);
  const column = (name: string) => known.map((r) => r[name] ?? null);
  return (
    <>
      <div class="tiles">
        <Tile name="L1 error" value={short(last?.l1, 3)} {...(last?.l1_se ? { note: `± ${short(last.l1_se, 2)}` } : {})} />
        <Tile name="step" value={last ? String(last.step) : "–"} />
        <Tile name="seconds" value={short(last?.seconds, 4)} />
      </div>
      {known.length > 0 && (
        <Plot x={column("seconds").map((s, i) => s ?? i)} xLabel="seconds" yLabel="error, relative to 1 + |u|" logY height={360}
          lines={[{ label: "L1", values: column("l1"), colour: "--accent" }]} theme={theme} title="Error during training"
          bars={{ label: "measured", x: column("seconds").map((s, i) => s ?? i), y: column("l1"), half: known.map(() => 0), colour: "--accent" }} />
      )}
    </>
  );
}

interface Follow {
  records: Record_[];
  state: string;
  solution: string | null;
  error: string;
}

/** All records of a run; each look asks only for what is new. */
function useProgress(source: Source, id: string, tick: number): Follow {
  const [seen, setSeen] = useState<{ id: string; records: Record_[]; last: Progress | null }>({ id: "", records: [], last: null });
  const old = seen.id === id ? seen.records : [];
  const done = seen.id === id && seen.last?.state === "finished";
  const { data, error } = useLatest(id && !done ? `${id} ${tick}` : null, async (signal) => {
    const news = await source.server!.progress(id, old.length, signal);
    return { id, from: old.length, news };
  });
  useEffect(() => {
    if (!data) return;
    setSeen((was) => {
      const before = was.id === data.id ? was.records.slice(0, data.from) : [];
      return { id: data.id, records: [...before, ...data.news.records], last: data.news };
    });
  }, [data]);
  const last = seen.id === id ? seen.last : null;
  return { records: old, state: last?.state ?? "", solution: last?.solution ?? null, error };
}

function table(records: Record_[]): string {
  const names = [...new Set(records.flatMap((r) => Object.keys(r)))];
  return csv(Object.fromEntries(names.map((name) => [name, records.map((r) => r[name] ?? null)])));
}
