/** From a method and path to the route and its parameters. */

import type { Result } from "hono/router";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { SmartRouter } from "hono/router/smart-router";
import { TrieRouter } from "hono/router/trie-router";
import { Refusal } from "./problem.js";
import type { Route } from "./routes.js";

export interface FoundRoute {
  readonly route: Route;
  /** Percent escapes as they came. */
  readonly parameters: Readonly<Record<string, string>>;
}

export class RouteFinder {
  readonly #router = new SmartRouter<Route>({ routers: [new RegExpRouter(), new TrieRouter()] });
  readonly #methods = new Set<string>();

  constructor(routes: readonly Route[]) {
    // What is named in full comes before what an id could be.
    const ordered = [...routes].sort((a, b) => Number(a.path.includes("{")) - Number(b.path.includes("{")));
    for (const route of ordered) {
      for (const method of route.methods) {
        this.#methods.add(method);
        this.#router.add(method, route.path.replace(/\{(\w+)\}/g, ":$1"), route);
      }
    }
  }

  /**
   * @param path of {@link innerPath}
   * @param delimiter of the request
   */
  find(method: string, path: string, delimiter: string | null = null): FoundRoute | Refusal {
    const found = this.#findAt(method, delimiter === "." ? path.replace(NAMESPACE_WITHOUT_ID, DOT) : path);
    if (delimiter !== "." || !(found instanceof Refusal) || found.status !== 404) return found;
    return this.#findAt(method, path.replace(TABLE_WITHOUT_ID, DOT));
  }

  #findAt(method: string, path: string): FoundRoute | Refusal {
    const found = firstOf(this.#router.match(method, path));
    if (found !== null) return found;
    const allowed = [...this.#methods].filter((other) => firstOf(this.#router.match(other, path)) !== null);
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

/**
 * The path behind the base path, without the slashes that some clients put in front and at the end; empty where it
 * does not begin with the base path.
 */
export function innerPath(pathname: string, basePath: string): string {
  if (!pathname.startsWith(`${basePath}/`)) return "";
  const inner = pathname.slice(basePath.length).replace(/^\/+/, "/");
  return inner.length > 1 && inner.endsWith("/") ? inner.slice(0, -1) : inner;
}

/*
 * Where the delimiter is a dot, a dot is the root namespace as well. Whatever makes URLs takes such a segment for the
 * directory itself, and leaves it out. The tables of the root win over the namespaces in one called `table`, and tables
 * called as the first word of an operation over the root, which is no table.
 */
const NAMESPACE_WITHOUT_ID = /^\/v1\/namespace\/(?=(?:create|describe|drop|exists|list|table\/list)$)/;
const TABLE_WITHOUT_ID = /^\/v1\/(?:table|transaction)\//;
const DOT = "$&./";
