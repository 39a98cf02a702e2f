/** Finds the route and its parameters for a method and path. */

import type { Result } from "hono/router";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { SmartRouter } from "hono/router/smart-router";
import { TrieRouter } from "hono/router/trie-router";
import { Refusal } from "./problem.js";
import type { Route } from "./route.js";

export interface FoundRoute {
  readonly route: Route;
  /** Parameters of the path, with percent escapes. */
  readonly parameters: Readonly<Record<string, string>>;
}

export class RouteFinder {
  readonly #router = new SmartRouter<Route>({ routers: [new RegExpRouter(), new TrieRouter()] });
  readonly #methods = new Set<string>();

  constructor(routes: readonly Route[]) {
    // Fixed paths precede paths in which an id could match.
    const ordered = [...routes].sort((a, b) => Number(a.path.includes("{")) - Number(b.path.includes("{")));
    for (const route of ordered) {
      for (const method of route.methods) {
        this.#methods.add(method);
        this.#router.add(method, route.path.replace(/\{(\w+)\}/g, ":$1"), route);
      }
    }
  }

  /**
   * Returns the route of a request.
   * @param path path without the base path; see {@link innerPath}
   * @param delimiter delimiter of identifiers in the request
   */
  find(method: string, path: string, delimiter: string | null = null): FoundRoute | Refusal {
    const first = this.#findAt(method, delimiter === "." ? path.replace(NAMESPACE_WITHOUT_ID, DOT) : path);
    if (delimiter !== "." || !(first instanceof Refusal) || first.status !== 404) return first;
    return this.#findAt(method, path.replace(TABLE_WITHOUT_ID, DOT));
  }

  #findAt(method: string, path: string): FoundRoute | Refusal {
    const route = firstOf(this.#router.match(method, path));
    if (route !== null) return route;
    const allowed = [...this.#methods].filter(
      (candidate) => firstOf(this.#router.match(candidate, path)) !== null,
    );
    if (allowed.length === 0) return new Refusal(404, "Unsupported", "there is no such operation");
    if (allowed.includes("GET")) allowed.push("HEAD");
    const detail = `the operation is called by ${allowed.join(" or ")}`;
    return new Refusal(405, "Unsupported", detail, { allow: allowed.join(", ") });
  }
}

function firstOf(matched: Result<Route>): FoundRoute | null {
  const [handlers, stash] = matched;
  if (handlers.length === 0) return null;
  const [route, parameters] = handlers[0];
  const values = Object.entries(parameters).map(([name, value]) => [
    name,
    stash === undefined ? String(value) : stash[value as number],
  ]);
  return { route, parameters: Object.fromEntries(values) };
}

/** Returns the path after the base path, without extra slashes; empty if it lies elsewhere. */
export function innerPath(pathname: string, basePath: string): string {
  if (!pathname.startsWith(`${basePath}/`)) return "";
  const inner = pathname.slice(basePath.length).replace(/^\/+/, "/");
  return inner.length > 1 && inner.endsWith("/") ? inner.slice(0, -1) : inner;
}

/*
 * With a dot as delimiter, a dot is also the root namespace. Software that builds URLs takes such a segment
 * for the current directory and drops it. Tables of the root take precedence over namespaces inside one
 * called `table`. Tables named like the first word of an operation take precedence over the root, which is
 * not a table.
 */
const NAMESPACE_WITHOUT_ID = /^\/v1\/namespace\/(?=(?:create|describe|drop|exists|list|table\/list)$)/;
const TABLE_WITHOUT_ID = /^\/v1\/(?:table|transaction)\//;
const DOT = "$&./";
