// Answers of `feynkac serve`.
import { byName } from "./points";
import type { Question, Server, Source } from "./source";
import type { Answer, Axis, Certificate, Solution } from "./types";

export type Health =
  | { state: "well" }
  | { state: "lost" }
  | { state: "busy" }
  | { state: "locked"; unlock: (token: string) => void };

/** An answer that says no, in the words of the server. */
export class Refusal extends Error {}

const TOKEN = "feynkac-token";
const RETRY = 1000; // milliseconds between two attempts to reach a lost server

export class Connection {
  private token = remembered();
  private waiting: Promise<void> | null = null;

  constructor(private readonly onHealth: (health: Health) => void) {}

  async get<T>(path: string, signal?: AbortSignal): Promise<T> {
    return this.ask<T>(path, { signal: signal ?? null });
  }

  async post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
    const headers = { "Content-Type": "application/json" };
    return this.ask<T>(path, {
      method: "POST", body: JSON.stringify(body), headers, signal: signal ?? null,
    });
  }

  /** Ask until there is an answer; only the caller's signal ends it. */
  private async ask<T>(path: string, init: RequestInit): Promise<T> {
    for (;;) {
      if (this.waiting) await this.waiting;
      init.signal?.throwIfAborted();
      const headers = { ...init.headers, ...(this.token ? { Authorization: `Bearer ${this.token}` } : {}) };
      let reply: Response;
      try {
        reply = await fetch(path, { ...init, headers, cache: "no-store" });
      } catch (error) {
        if (init.signal?.aborted) throw error;
        this.recover("lost");
        continue;
      }
      if (reply.status === 401) this.unlock();
      else if (reply.status === 503) {
        this.recover("busy", 1000 * (Number(reply.headers.get("Retry-After")) || 1));
      } else if (reply.ok) return (await reply.json()) as T;
      else throw new Refusal(await detail(reply));
    }
  }

  /** Everyone waits until /healthz answers. */
  private recover(state: "lost" | "busy", pause = RETRY): void {
    this.waiting ??= (async () => {
      this.onHealth({ state });
      for (;;) {
        await new Promise((done) => setTimeout(done, pause));
        const well = await fetch("healthz", { cache: "no-store" }).then((r) => r.ok, () => false);
        if (well) break;
      }
      this.waiting = null;
      this.onHealth({ state: "well" });
    })();
  }

  private unlock(): void {
    this.waiting ??= new Promise((done) => {
      const unlock = (typed: string) => {
        const token = typed.trim();
        this.token = /^[!-~]*$/.test(token) ? token : ""; // what no header can carry is no token
        try {
          sessionStorage.setItem(TOKEN, this.token);
        } catch {
          // Without storage the token lives as long as the page.
        }
        this.waiting = null;
        this.onHealth({ state: "well" });
        done();
      };
      this.onHealth({ state: "locked", unlock });
    });
  }
}

function remembered(): string {
  try {
    return sessionStorage.getItem(TOKEN) ?? "";
  } catch {
    return "";
  }
}

async function detail(reply: Response): Promise<string> {
  const problem = await reply.json().catch(() => null);
  return problem?.detail ?? problem?.title ?? `The server answered ${reply.status}.`;
}

export function remoteSource(connection: Connection): Source {
  const path = (solution: Solution, what: string) =>
    `v1/solutions/${encodeURIComponent(solution.id)}/${what}`;
  const at = (q: Question) => byName(q.solution, q.point);
  const output = (solution: Solution, index: number) => (solution.outputs > 1 ? { output: index } : {});

  const server: Server = {
    async certify(q, along, values, seconds, signal) {
      const body = { at: { ...at(q), [along]: values }, seconds, ...output(q.solution, q.output) };
      const found = await connection.post<{ certificates: Certificate[] }>(
        path(q.solution, "certify"), body, signal,
      );
      return found.certificates;
    },
    errorMap: (solution, index, signal) =>
      connection.get(path(solution, `error-map?inputs=256&output=${index}`), signal),
    calibrate: (solution, request, signal) =>
      connection.post(path(solution, "calibrate"), request, signal),
    quotes: (solution, request, signal) => connection.post(path(solution, "quotes"), request, signal),
    runs: async (signal) => (await connection.get<{ runs: any }>("v1/runs", signal)).runs,
    progress: (id, after, signal) =>
      connection.get(`v1/runs/${encodeURIComponent(id)}/progress?after=${after}`, signal),
  };

  return {
    server,
    solutions: async () => (await connection.get<{ solutions: Solution[] }>("v1/solutions")).solutions,
    answer: (q, signal) =>
      connection.post<Answer>(
        path(q.solution, "greeks"),
        {
          at: at(q), quantities: q.quantities, closed_form: q.solution.closed_form,
          ...output(q.solution, q.output),
        },
        signal,
      ),
    slice: (q, over: Axis[], signal) =>
      connection.post(
        path(q.solution, "slice"),
        {
          over, at: at(q), quantities: q.quantities, closed_form: q.solution.closed_form,
          ...output(q.solution, q.output),
        },
        signal,
      ),
  };
}
