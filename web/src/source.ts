// Where answers come from: a server (`remote.ts`), or a network inside the page (`local.ts`).
import type {
  Answer, Axis, Calibration, CalibrationRequest, Certificate, ErrorMap, MarketFit, MarketRequest, Point, Progress,
  Run, Slice, Solution,
} from "./types";

export interface Question {
  solution: Solution;
  point: Point;
  quantities: string[];
  output: number;
}

export interface Source {
  solutions(): Promise<Solution[]>;
  answer(question: Question, signal: AbortSignal): Promise<Answer>;
  slice(question: Question, over: Axis[], signal: AbortSignal): Promise<Slice>;
  /** What only a server can do; null where there is none. */
  server: Server | null;
}

export interface Server {
  certify(
    question: Question, along: string, values: number[], seconds: number, signal: AbortSignal,
  ): Promise<Certificate[]>;
  errorMap(solution: Solution, output: number, signal: AbortSignal): Promise<ErrorMap>;
  calibrate(solution: Solution, request: CalibrationRequest, signal: AbortSignal): Promise<Calibration>;
  quotes(solution: Solution, request: MarketRequest, signal: AbortSignal): Promise<MarketFit>;
  runs(signal: AbortSignal): Promise<Run[]>;
  progress(id: string, after: number, signal: AbortSignal): Promise<Progress>;
}
