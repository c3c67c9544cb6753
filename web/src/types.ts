// What the service says (docs/serve.md), and what a report embeds.

export interface Variable {
  name: string;
  shape: number[];
  entries: string[];
  low: number[];
  high: number[];
  default: number[];
  scale: "linear" | "log";
  fixed: boolean;
}

export interface Greek {
  name: string;
  of: string[];
  sign: number;
  shape: number[];
}

export interface Solution {
  id: string;
  family: string;
  title: string;
  description: string;
  variables: Variable[];
  outputs: number;
  greeks: Greek[];
  coupled: boolean;
  /** Calls and puts on one asset, or bonds: quote sheets can be fitted. */
  quoted?: boolean;
  closed_form: boolean;
  error: { l1: number | null; l2?: number | null; linf?: number | null } | null;
  warnings: string[];
  parameters: number;
  steps: number;
  seconds: number;
  created: string;
  run: string | null;
}

/** One number per entry of the flat input. */
export type Point = number[];
export type Numbers = (number | null)[];
export type Table = Numbers | Numbers[];

export interface Axis {
  name: string;
  points?: number;
}

export interface Slice {
  over: { name: string; points: number[] }[];
  values: Record<string, Table>;
  closed_form: Record<string, Table> | null;
  warnings?: string[];
}

export interface Answer {
  values: Record<string, number | null>;
  closed_form: Record<string, number | null> | null;
}

export interface Certificate {
  network: number;
  value: number;
  half_width: number;
  verdict: string;
  paths: number;
  estimator: string;
  confidence: number;
}

export interface Figure {
  value: number;
  se: number;
}

export interface ErrorMap {
  mean: Figure;
  interval: [number, number];
  signed: Figure;
  noise: number;
  worst: { at: Record<string, unknown>; error: number; half_width: number };
  profiles: Record<string, { edges: number[]; mean: Numbers; se: Numbers }>;
  inputs: number;
}

export interface Estimate {
  value: number;
  std: number | null;
  interval: [number, number];
}

export interface Calibration {
  estimate: Record<string, Estimate>;
  confidence: number;
  residual_rms: number;
  chi_square: number | null;
  residuals: number[];
  fitted: number[];
  warnings: string[];
  evaluations: number;
  model_error: number;
  posterior: null | {
    marginals: Record<string, { mean: number; std: number; interval: [number, number] }>;
    draws: Record<string, number[]>;
    warnings?: string[];
  };
}

export interface CalibrationRequest {
  free: string[];
  values: number[];
  known: Record<string, number | number[]>;
  noise: number | number[] | null;
  posterior: number;
  output?: number;
}

export interface MarketRequest {
  sheet: string;
  spot?: number;
  forward?: number;
  rate?: number;
  dividend?: number;
  date?: string;
  posterior: number;
}

/** A family fitted to a quote sheet; rows have `volatility` or `yield`, whatever `level` says. */
export interface MarketFit extends Pick<Calibration, "estimate" | "confidence" | "warnings" | "posterior"> {
  level: string;
  notes: string[];
  sheet: { columns: Record<string, string>; notes: string[]; dropped: { row: number; reason: string }[] };
  quotes: { row: number; t: number; strike?: number; [name: string]: number | boolean | null | undefined }[];
  check: { by: string; largest_error: number } | null;
}

export interface Record_ {
  step: number;
  seconds: number;
  l1: number | null;
  [name: string]: number | null;
}

export interface Run {
  id: string;
  state: "waiting" | "running" | "finished";
  solution: string | null;
}

export interface Progress extends Run {
  total: number;
  after: number;
  records: Record_[];
}
