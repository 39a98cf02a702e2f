/**
 * The SQL functions by name. Functions of lists and structs, which indexes can answer, are always there. The
 * others are loaded when an expression first calls one, because parsing them takes a process milliseconds.
 */

import type { Steps } from "../../async/eventLoop.js";
import { lazyModule, lazySteps } from "../../async/lazy.js";
import type { FunctionDefinition } from "./form.js";
import { LIST_FUNCTIONS } from "./lists.js";
import { STRUCT_FUNCTIONS } from "./structs.js";

const FIRST: ReadonlyMap<string, FunctionDefinition> = new Map(
  [LIST_FUNCTIONS, STRUCT_FUNCTIONS].flatMap(Object.entries),
);
const moreFunctions = lazyModule(() => import("./moreFunctions.js"));

/** Returns the function of a name; null if there is none. Waits while functions are loaded. */
export function* sqlFunction(name: string): Steps<FunctionDefinition | null> {
  const definition = FIRST.get(name);
  if (definition !== undefined) return definition;
  const { MORE_FUNCTIONS } = yield* lazySteps(moreFunctions);
  return MORE_FUNCTIONS.get(name) ?? null;
}
