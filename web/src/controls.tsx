// One control per input: a slider with a value box, in groups for vectors and matrices.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { parse, short, symbol } from "./format";
import { entriesOf, fraction, randomPoint, valueAt, type Entry } from "./points";
import type { Point, Solution, Variable } from "./types";

const STEPS = 1000; // positions of a slider
const OPEN = 6; // groups up to this size start open
const SEARCH = 8; // from this many inputs on there is a search field

interface Props {
  solution: Solution;
  point: Point;
  onPoint: (change: (old: Point) => Point) => void;
  onReset: () => void;
}

export function Controls({ solution, point, onPoint, onReset }: Props) {
  const [search, setSearch] = useState("");
  const entries = entriesOf(solution);
  const wanted = search.trim().toLowerCase();
  const matches = (entry: Entry) =>
    !wanted || [entry.name, symbol(entry.name)].some((name) => squeezed(name).includes(squeezed(wanted)));
  const set = (columns: number[], value: number) =>
    onPoint((old) => {
      const next = old.slice();
      for (const column of columns) next[column] = value;
      return next;
    });
  const shown = solution.variables
    .map((variable) => ({
      variable,
      entries: entries.filter((e) => e.variable === variable.name && matches(e)),
    }))
    .filter((group) => group.entries.length > 0);
  return (
    <section class="card controls" aria-label="Inputs">
      <header class="row spread">
        <h2>Inputs</h2>
        <span class="row">
          <button type="button" onClick={() => onPoint(() => randomPoint(solution))} title="Random point (R)">
            Random
          </button>
          <button type="button" onClick={onReset} title="Back to the start (0)">Reset</button>
        </span>
      </header>
      {entries.length >= SEARCH && (
        <input type="search" class="search" placeholder={`Search ${entries.length} inputs  (/)`} value={search}
          aria-label="Search inputs" onInput={(event) => setSearch(event.currentTarget.value)} />
      )}
      {shown.map((group) =>
        group.variable.entries.length === 1 ? (
          <Control key={group.variable.name} entry={group.entries[0]!} columns={[group.entries[0]!.column]}
            value={point[group.entries[0]!.column]!} onValue={set} />
        ) : (
          <Group key={`${solution.id} ${group.variable.name}`} variable={group.variable} entries={group.entries}
            point={point} onValue={set} open={wanted !== ""} />
        ),
      )}
      {shown.length === 0 && <p class="hint">No input is called “{search}”.</p>}
    </section>
  );
}

function squeezed(text: string): string {
  return text.toLowerCase().replace(/\s/g, "");
}

interface GroupProps {
  variable: Variable;
  entries: Entry[];
  point: Point;
  onValue: (columns: number[], value: number) => void;
  /** Whether a search opens it. */
  open: boolean;
}

function Group({ variable, entries, point, onValue, open }: GroupProps) {
  const [unfolded, setUnfolded] = useState(variable.entries.length <= OPEN);
  const free = entries.filter((entry) => !entry.fixed);
  const alike = free.filter((e) => e.low === free[0]!.low && e.high === free[0]!.high && e.log === free[0]!.log);
  const values = free.map((entry) => point[entry.column]!);
  const mean = values.reduce((sum, v) => sum + v, 0) / values.length;
  const range = [Math.min(...values), Math.max(...values)].map((v) => short(v, 3));
  const together = alike.length > 1 && alike.length === free.length;
  return (
    <div class="group">
      {together && (
        <Control entry={{ ...alike[0]!, name: "all equal" }} columns={alike.map((e) => e.column)}
          value={Number(mean.toPrecision(6))} onValue={onValue} />
      )}
      <details open={open || unfolded} onToggle={(event) => open || setUnfolded(event.currentTarget.open)}>
        <summary>
          {!together && <span class="symbol">{symbol(variable.name)}</span>}
          <span class="hint">{entriesText(variable, entries.length)}</span>
          <span class="hint range">{free.length ? (range[0] === range[1] ? range[0] : `${range[0]} … ${range[1]}`) : "fixed"}</span>
        </summary>
        {entries.map((entry) => (
          <Control key={entry.name} entry={entry} columns={[entry.column]} value={point[entry.column]!} onValue={onValue} />
        ))}
      </details>
    </div>
  );
}

function entriesText({ shape, entries }: Variable, shown: number): string {
  const size = shape.length > 1 ? `${shape.join(" × ")} entries` : `${entries.length} entries`;
  return shown === entries.length ? size : `${shown} of ${size}`;
}

interface ControlProps {
  entry: Entry;
  /** What it sets: one entry, or all of a group. */
  columns: number[];
  value: number;
  onValue: (columns: number[], value: number) => void;
}

function Control({ entry, columns, value, onValue }: ControlProps) {
  const all = entry.name === "all equal";
  const label = symbol(all ? entry.variable : entry.name);
  const name = all ? `all entries of ${entry.variable}` : entry.name;
  const place = Math.round(STEPS * fraction(entry, value));
  const set = (next: number) => onValue(columns, next);
  // Only what moves is drawn again: a slider of one of 152 inputs must not wait for the others.
  return useMemo(() => {
    if (entry.fixed) {
      return (
        <div class="control fixed">
          <span class="symbol">{label}</span>
          <span class="hint">fixed</span>
          <output>{short(value)}</output>
        </div>
      );
    }
    return (
      <div class="control">
        <span class="symbol">{label}{all && <small>all equal</small>}</span>
        <span class="slider">
          <input type="range" min={0} max={STEPS} step={1} value={place} aria-label={name}
            aria-valuetext={short(value)} style={{ "--part": `${place / 10}%` }}
            onInput={(event) => set(valueAt(entry, Number(event.currentTarget.value) / STEPS))} />
          <span class="ends"><span>{short(entry.low, 4)}</span>{entry.log && <span>log</span>}<span>{short(entry.high, 4)}</span></span>
        </span>
        <ValueBox name={name} entry={entry} value={value} onValue={set} />
      </div>
    );
  }, [value, name, entry.low, entry.high, columns.length]);
}

interface BoxProps {
  name: string;
  entry: Entry;
  value: number;
  onValue: (value: number) => void;
}

/** A number to type. While it is outside the range it only says so. */
function ValueBox({ name, entry, value, onValue }: BoxProps) {
  const [draft, setDraft] = useState<string | null>(null);
  const box = useRef<HTMLInputElement>(null);
  const typed = draft === null ? value : parse(draft);
  const good = typed >= entry.low && typed <= entry.high;
  useEffect(() => {
    if (document.activeElement !== box.current) setDraft(null);
  }, [value]);
  return (
    <input ref={box} class="value" type="text" inputMode="decimal" autoComplete="off" value={draft ?? short(value)}
      aria-label={`value of ${name}`} aria-invalid={!good}
      title={good ? `${name}, from ${short(entry.low)} to ${short(entry.high)}` : `Give a number from ${short(entry.low)} to ${short(entry.high)}.`}
      onFocus={(event) => event.currentTarget.select()}
      onInput={(event) => {
        const text = event.currentTarget.value;
        setDraft(text);
        const number = parse(text);
        if (number >= entry.low && number <= entry.high) onValue(number);
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") setDraft(null);
        if (event.key === "Enter") event.currentTarget.blur();
      }}
      onBlur={() => setDraft(null)} />
  );
}
