/** Hooks: what the address says, results of calls, and what is kept in the browser. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";

/** Result of a call: a value, an error, or neither yet. The last value stays until a new one arrives. */
export interface Loaded<Value> {
  readonly value: Value | null;
  readonly error: Error | null;
  readonly isLoading: boolean;
  reload(): void;
}

/** Runs a call when its inputs change. A call that is no longer wanted is aborted. */
export function useCall<Value>(
  run: ((signal: AbortSignal) => Promise<Value>) | null,
  inputs: readonly unknown[],
): Loaded<Value> {
  const [state, setState] = useState<Omit<Loaded<Value>, "reload">>({
    value: null,
    error: null,
    isLoading: run !== null,
  });
  const [turn, setTurn] = useState(0);
  const key = JSON.stringify(inputs);
  const lastKey = useRef(key);
  useEffect(() => {
    if (run === null) {
      setState({ value: null, error: null, isLoading: false });
      return undefined;
    }
    const isOther = lastKey.current !== key;
    lastKey.current = key;
    const abort = new AbortController();
    setState((before) => ({ value: isOther ? null : before.value, error: null, isLoading: true }));
    run(abort.signal).then(
      (value) => abort.signal.aborted || setState({ value, error: null, isLoading: false }),
      (error) => abort.signal.aborted || setState((before) => ({ ...before, error, isLoading: false })),
    );
    return () => abort.abort();
    // The inputs stand for the function.
  }, [key, turn, run === null]);
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  return { ...state, reload };
}

export const VIEWS = ["rows", "schema", "search", "map", "versions", "storage", "indexes", "jobs"] as const;
export type View = (typeof VIEWS)[number];

/** State of the page in its address, so that links and the back button work. */
export interface Route {
  readonly id: readonly string[] | null;
  readonly view: View;
  readonly branch?: string;
  readonly version?: number;
  /** Row to search similar rows for. */
  readonly like?: string;
  /** Row that the grid begins with, counted among those that pass the filter. */
  readonly row?: number;
  /** Condition of the grid's rows. */
  readonly filter?: string;
}

/** Returns the route to the same table and version, without a place in its rows. */
export const withoutRow = ({ row: _, ...route }: Route): Route => route;

/** Returns the route to the same table and version, with all of its rows. */
export const withAllRows = ({ row: _, filter: __, ...route }: Route): Route => route;

export function readRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [view = "", ...parts] = path.split("/");
  const members = new URLSearchParams(query);
  const version = Number(members.get("version") ?? Number.NaN);
  const row = Number(members.get("row") ?? Number.NaN);
  return {
    id: parts.length > 0 ? parts.map(decodePart) : null,
    view: VIEWS.find((each) => each === view) ?? "rows",
    ...(members.get("branch") && { branch: members.get("branch") as string }),
    ...(Number.isSafeInteger(version) && { version }),
    ...(members.get("like") && { like: members.get("like") as string }),
    ...(Number.isSafeInteger(row) && row >= 0 && { row }),
    ...(members.get("filter") && { filter: members.get("filter") as string }),
  };
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // A percent sign that encodes nothing.
  }
}

export function formatRoute({ id, view, branch, version, like, row, filter }: Route): string {
  const members = new URLSearchParams();
  if (branch !== undefined) members.set("branch", branch);
  if (version !== undefined) members.set("version", String(version));
  if (like !== undefined) members.set("like", like);
  if (row !== undefined) members.set("row", String(row));
  if (filter !== undefined) members.set("filter", filter);
  const query = members.size > 0 ? `?${members}` : "";
  return id === null ? "#/" : `#/${[view, ...id.map(encodeURIComponent)].join("/")}${query}`;
}

export function useRoute(): [Route, (route: Route) => void] {
  const [route, setRoute] = useState(() => readRoute(location.hash));
  useEffect(() => {
    const listen = () => setRoute(readRoute(location.hash));
    addEventListener("hashchange", listen);
    return () => removeEventListener("hashchange", listen);
  }, []);
  const go = useCallback((next: Route) => {
    location.hash = formatRoute(next);
  }, []);
  return [route, go];
}

/** Keeps a choice in the browser, where that is allowed. */
export function useKept<Value extends string>(name: string, initial: Value): [Value, (value: Value) => void] {
  const [value, setValue] = useState<Value>(() => (readKept(name) as Value | null) ?? initial);
  const set = useCallback(
    (next: Value) => {
      setValue(next);
      try {
        localStorage.setItem(`tiltyard.${name}`, next);
      } catch {
        // Private windows may refuse; the choice then lasts as long as the page.
      }
    },
    [name],
  );
  return [value, set];
}

function readKept(name: string): string | null {
  try {
    return localStorage.getItem(`tiltyard.${name}`);
  } catch {
    return null;
  }
}
