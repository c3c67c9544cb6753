// The answer to the newest question, and never to an older one.
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Latest<T> {
  /** The last answer; it belongs to `key`. */
  data: T | null;
  key: string;
  /** Whether a newer question waits for its answer. */
  busy: boolean;
  error: string;
}

/** Ask at once; a newer question aborts the older one. A null key asks nothing. */
export function useLatest<T>(key: string | null, ask: (signal: AbortSignal) => Promise<T>): Latest<T> {
  const [found, setFound] = useState<Omit<Latest<T>, "busy">>({ data: null, key: "", error: "" });
  const question = useRef(ask);
  question.current = ask;

  useLayoutEffect(() => {
    if (key === null) return;
    const controller = new AbortController();
    const { signal } = controller;
    question.current(signal).then(
      (data) => signal.aborted || setFound({ data, key, error: "" }),
      (error) => signal.aborted || setFound({ data: null, key, error: String(error.message) }),
    );
    return () => controller.abort();
  }, [key]);

  return { ...found, busy: key !== null && found.key !== key };
}
