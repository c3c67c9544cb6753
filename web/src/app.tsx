// The explorer: choose a solution, move its inputs, look.
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { CalibrateView } from "./calibrate_view";
import { Controls } from "./controls";
import { CurveView } from "./curve_view";
import { ErrorsView } from "./errors_view";
import { short } from "./format";
import { Problem, Select } from "./parts";
import { randomPoint, type Entry } from "./points";
import { Readout } from "./readout";
import type { Health } from "./remote";
import type { Source } from "./source";
import { fromFragment, initial, toFragment, type State, type View } from "./state";
import { SurfaceView } from "./surface_view";
import { TrainingView } from "./training_view";
import type { Point, Solution } from "./types";
import type { Theme } from "./theme";

const TABS: { view: View; name: string; server: boolean }[] = [
  { view: "curve", name: "Curve", server: false },
  { view: "surface", name: "Surface", server: false },
  { view: "errors", name: "Error map", server: true },
  { view: "calibrate", name: "Calibrate", server: true },
  { view: "training", name: "Training", server: true },
];

const USES_POINT: View[] = ["curve", "surface", "calibrate"]; // these have controls beside them

interface Props {
  source: Source;
  theme: Theme;
  /** In a report there is a headline already. */
  embedded?: boolean;
  onToggleTheme: () => void;
  health: Health;
}

export function App({ source, theme, onToggleTheme, health, embedded = false }: Props) {
  const [solutions, setSolutions] = useState<Solution[] | null>(null);
  const [state, setState] = useState<State | null>(null);
  const [problem, setProblem] = useState("");
  const load = useCallback(async () => {
    const found = await source.solutions();
    setSolutions(found);
    return found;
  }, [source]);

  useEffect(() => {
    load().then((found) => setState(fromFragment(location.hash, found)), (e) => setProblem(e.message));
  }, [source]);
  const solution = solutions?.find((s) => s.id === state?.solution) ?? null;
  useFragment(state, solution, solutions, setState);

  const onState = useCallback((change: Partial<State>) => setState((old) => old && { ...old, ...change }), []);
  const onPoint = useCallback(
    (change: (old: Point) => Point) => setState((old) => old && { ...old, point: change(old.point) }), [],
  );
  const onEntry = useCallback((entry: Entry, value: number) => onPoint((old) => old.with(entry.column, within(entry, value))), []);
  const onReset = useCallback(() => solution && onState({ point: initial(solution).point }), [solution]);
  const onSolution = async (id: string) => {
    const found = (await load()).find((s) => s.id === id);
    if (found) setState(initial(found, state?.view === "training" ? "curve" : state?.view));
  };
  useKeys(solution, onPoint, onReset);

  return (
    <div class={`app${embedded ? " embedded" : ""}`}>
      {!embedded && (
        <header class="top">
          <span class="brand"><Logo />feynkac</span>
          {solutions && solutions.length > 0 && solution && (
            <Select label="Solution" value={solution.id} onChange={onSolution}>
              {solutions.map((s) => <option key={s.id} value={s.id}>{s.id}</option>)}
            </Select>
          )}
          {solution && <Badges solution={solution} />}
          <ThemeButton theme={theme} onToggle={onToggleTheme} />
        </header>
      )}
      <Banner health={health} />
      <Problem text={problem} />
      {solutions && !solution && <Empty source={source} theme={theme} onSolution={onSolution} />}
      {solution && state && (
        <main class={USES_POINT.includes(state.view) ? "" : "alone"}>
          <nav class="tabs" role="tablist" aria-label="Views">
            {TABS.filter((tab) => source.server || !tab.server).map(({ view, name }) => (
              <button key={view} type="button" role="tab" aria-selected={state.view === view}
                onClick={() => onState({ view })} onKeyDown={(event) => turn(event)}>{name}</button>
            ))}
          </nav>
          <div class="stage">
            <Shown source={source} solution={solution} state={state} theme={theme} onState={onState} onEntry={onEntry} onSolution={onSolution} />
            {(state.view === "curve" || state.view === "surface") && <Readout source={source} solution={solution} state={state} />}
            {!embedded && <Notes solution={solution} />}
            {!source.server && solution.coupled && <p class="hint">The family allows only a part of these ranges; this page cannot tell which.</p>}
          </div>
          {USES_POINT.includes(state.view) && <aside>
            {solution.outputs > 1 && (
              <Select label="Output" value={String(state.output)} onChange={(v) => onState({ output: Number(v) })}>
                {Array.from({ length: solution.outputs }, (_, i) => <option key={i} value={i}>{i}</option>)}
              </Select>
            )}
            <Controls solution={solution} point={state.point} onPoint={onPoint} onReset={onReset} />
          </aside>}
        </main>
      )}
    </div>
  );
}

function within(entry: Entry, value: number): number {
  return Number(Math.min(entry.high, Math.max(entry.low, value)).toPrecision(6));
}

interface ShownProps {
  source: Source;
  solution: Solution;
  state: State;
  theme: Theme;
  onState: (change: Partial<State>) => void;
  onEntry: (entry: Entry, value: number) => void;
  onSolution: (id: string) => void;
}

function Shown(props: ShownProps) {
  const { state, source } = props;
  if (!state.along) return <section class="card view"><p class="hint">All inputs of this solution are fixed.</p></section>;
  if (state.view === "surface") return <SurfaceView {...props} />;
  if (!source.server || state.view === "curve") return <CurveView {...props} />;
  if (state.view === "errors") return <ErrorsView {...props} />;
  if (state.view === "calibrate") return <CalibrateView key={props.solution.id} {...props} />;
  return <TrainingView source={source} run={state.run || props.solution.run || ""} theme={props.theme} onRun={(run) => props.onState({ run })} onSolution={props.onSolution} />;
}

function Empty({ source, theme, onSolution }: Pick<ShownProps, "source" | "theme" | "onSolution">) {
  const [run, setRun] = useState("");
  return (
    <main class="alone">
      <div class="stage">
        <section class="card view">
          <h2>No solution yet</h2>
          <p class="hint">Train one with <code>feynkac solve black-scholes --budget 60s --out runs/first</code> and serve it with <code>feynkac serve runs/first</code>.</p>
        </section>
        {source.server && <TrainingView source={source} run={run} theme={theme} onRun={setRun} onSolution={onSolution} />}
      </div>
    </main>
  );
}

/** The address follows the state, and the state an address that the user enters. */
function useFragment(
  state: State | null, solution: Solution | null, solutions: Solution[] | null, setState: (state: State) => void,
): void {
  const own = useRef("");
  useEffect(() => {
    if (!state || !solution) return;
    const timer = setTimeout(() => {
      own.current = `#${toFragment(state, solution)}`;
      if (location.hash !== own.current) history.replaceState(null, "", own.current);
    }, 200); // browsers refuse an address that changes with every frame
    return () => clearTimeout(timer);
  }, [state, solution]);
  useEffect(() => {
    const follow = () => {
      if (!solutions || location.hash === own.current) return;
      const found = fromFragment(location.hash, solutions);
      if (found) setState(found);
    };
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, [solutions]);
}

function useKeys(solution: Solution | null, onPoint: (change: (old: Point) => Point) => void, onReset: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      const typing = target.matches("input:not([type=range], [type=checkbox]), select, textarea");
      if (typing || event.ctrlKey || event.metaKey || event.altKey || !solution) return;
      if (event.key === "/") {
        event.preventDefault();
        document.querySelector<HTMLInputElement>(".search, .value")?.focus();
      } else if (event.key.toLowerCase() === "r") onPoint(() => randomPoint(solution));
      else if (event.key === "0") onReset();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [solution, onReset]);
}

/** Arrow keys move between tabs. */
function turn(event: KeyboardEvent): void {
  const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
  if (!step) return;
  const tabs = [...document.querySelectorAll<HTMLButtonElement>("[role=tab]")];
  const next = tabs.at((tabs.indexOf(event.currentTarget as HTMLButtonElement) + step) % tabs.length)!;
  next.focus();
  next.click();
}

function Badges({ solution }: { solution: Solution }) {
  const l1 = solution.error?.l1;
  return (
    <span class="badges">
      {typeof l1 === "number" && <span class="badge" title="Mean error over the domain, relative to 1 + |u|">L1 error {short(l1, 2)}</span>}
      <span class="badge" title={solution.description}>{solution.variables.reduce((n, v) => n + v.entries.length, 0)} inputs</span>
    </span>
  );
}

function Notes({ solution }: { solution: Solution }) {
  const facts = useMemo(
    () => `${solution.parameters.toLocaleString("en")} parameters, ${solution.steps.toLocaleString("en")} steps in ${short(solution.seconds, 3)} s`,
    [solution],
  );
  return (
    <footer class="notes">
      <p>{solution.description}</p>
      {solution.warnings.map((warning) => <p class="warning" key={warning}>{warning}</p>)}
      <p class="hint">{facts}. Keys: / search, R random point, 0 reset.</p>
    </footer>
  );
}

function Banner({ health }: { health: Health }) {
  const [token, setToken] = useState("");
  if (health.state === "well") return null;
  if (health.state === "locked") {
    return (
      <form class="banner" onSubmit={(event) => (event.preventDefault(), health.unlock(token))}>
        <label class="row">This server asks for its token
          <input type="password" value={token} onInput={(event) => setToken(event.currentTarget.value)} />
        </label>
        <button type="submit">Continue</button>
      </form>
    );
  }
  return (
    <div class="banner" role="alert">
      {health.state === "lost"
        ? "The server does not answer. The page shows the last results and tries again every second."
        : "The server is busy. The page tries again shortly."}
    </div>
  );
}

export function ThemeButton({ theme, onToggle }: { theme: Theme; onToggle: () => void }) {
  const next = theme === "dark" ? "light" : "dark";
  return (
    <button type="button" class="quiet theme" onClick={onToggle} aria-label={`Use ${next} colours`} title={`Use ${next} colours`}>
      <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
        <circle cx="10" cy="10" r="7.5" fill="none" stroke="currentColor" stroke-width="1.6" />
        <path d="M10 2.5a7.5 7.5 0 0 1 0 15z" fill="currentColor" />
      </svg>
    </button>
  );
}

export function Logo() {
  return (
    <svg viewBox="0 0 32 32" width="24" height="24" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="var(--accent)" />
      <path d="M5 8c7 0 8 16 22 16" fill="none" stroke="var(--surface)" stroke-width="3" stroke-linecap="round" />
      <circle cx="14.5" cy="16.3" r="3" fill="var(--surface)" />
    </svg>
  );
}
