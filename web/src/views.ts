// What every view is given.
import type { Entry } from "./points";
import type { Source } from "./source";
import type { State } from "./state";
import type { Solution } from "./types";

export interface ViewProps {
  source: Source;
  solution: Solution;
  state: State;
  theme: string;
  onState: (change: Partial<State>) => void;
  onEntry: (entry: Entry, value: number) => void;
}
