// Where is the network worst? The error map: certificates at random inputs, along each input.
import { csv, saveText } from "./download";
import { inputMeaning, short, symbol } from "./format";
import { useLatest } from "./latest";
import { PictureButton, Problem, Tile } from "./parts";
import { Plot } from "./plot";
import { entriesOf, flatten } from "./points";
import type { ErrorMap, Point, Solution } from "./types";
import type { ViewProps } from "./views";

export function ErrorsView({ source, solution, state, theme, onState }: ViewProps) {
  const key = source.server && `${solution.id} ${state.output}`;
  const { data, key: found, busy, error } = useLatest(key, (signal) =>
    source.server!.errorMap(solution, state.output, signal),
  );
  const map = found === key ? data : null;
  return (
    <section class="card view" data-key={found}>
      <header class="row wrap spread">
        <h2>Error over the domain</h2>
        {map && (
          <span class="row">
            <PictureButton name={`${solution.id}-errors`} />
            <button type="button" class="quiet" onClick={() => saveText(`${solution.id}-errors.csv`, table(map))}>CSV</button>
          </span>
        )}
      </header>
      <Problem text={error} />
      {busy && !map && <p class="hint waiting">Simulating at 256 random inputs. This takes a few seconds, once.</p>}
      {map && <ErrorProfiles map={map} solution={solution} theme={theme} onPoint={(point) => onState({ point, view: "curve" })} />}
    </section>
  );
}

interface ProfileProps {
  map: ErrorMap;
  solution: Solution;
  theme: string;
  onPoint?: (point: Point) => void;
}

export function ErrorProfiles({ map, solution, theme, onPoint }: ProfileProps) {
  const logs = new Set(entriesOf(solution).filter((e) => e.log).map((e) => e.name));
  return (
    <>
      <div class="tiles">
        <Tile name="mean error" value={short(map.mean.value, 3)} note={`± ${short(map.mean.se, 2)}, relative to 1 + |u|`} />
        <Tile name="95 % interval" value={`${short(map.interval[0], 2)} … ${short(map.interval[1], 2)}`} note="of the mean" />
        <Tile name="bias" value={short(map.signed.value, 2)} note={`± ${short(map.signed.se, 2)}`} />
        <Tile name="largest error" value={short(map.worst.error, 3)}
          note={onPoint
            ? <button type="button" class="link" onClick={() => onPoint(flatten(solution, map.worst.at))}>go to that input</button>
            : `of ${map.inputs} inputs`} />
      </div>
      <div class="multiples">
        {Object.entries(map.profiles).map(([name, profile]) => {
          const middles = profile.mean.map((_, i) => middle(profile.edges[i]!, profile.edges[i + 1]!, logs.has(name)));
          return (
            <Plot key={name} x={middles} lines={[{ label: "mean error", values: profile.mean, colour: "--accent" }]}
              bars={{ label: "standard error", x: middles, y: profile.mean, half: profile.se, colour: "--accent" }}
              xLabel={inputMeaning(name)} yLabel="mean error" logX={logs.has(name)} height={220} theme={theme}
              title={`Mean error along ${name}`} />
          );
        })}
      </div>
      <p class="hint">
        Mean of |network − u| / (1 + |u|) at {map.inputs} random inputs, in bins along each input
        {Object.keys(map.profiles).length ? ` (${Object.keys(map.profiles).map(symbol).join(", ")})` : ""}; bars are standard errors.
      </p>
    </>
  );
}

function middle(a: number, b: number, log: boolean): number {
  return log && a > 0 ? Math.sqrt(a * b) : 0.5 * (a + b);
}

function table(map: ErrorMap): string {
  const columns: Record<string, (number | null)[]> = {};
  for (const [name, profile] of Object.entries(map.profiles)) {
    columns[`${name} from`] = profile.edges.slice(0, -1);
    columns[`${name} to`] = profile.edges.slice(1);
    columns[`${name} mean error`] = profile.mean;
    columns[`${name} standard error`] = profile.se;
  }
  return csv(columns);
}
