/**
 * The SQL functions by name. Functions of lists and structs, which indexes can answer, are always there. The
 * others are loaded when an expression first calls one, because parsing them takes a process milliseconds.
 */

import type { Steps } from "../../async/eventLoop.js";
import { lazyModule } from "../../async/lazy.js";
import { InternalError } from "../../errors.js";
import type { FunctionDefinition } from "./form.js";
import { LIST_FUNCTIONS } from "./lists.js";
import { STRUCT_FUNCTIONS } from "./structs.js";

const FIRST: ReadonlyMap<string, FunctionDefinition> = new Map(
  [LIST_FUNCTIONS, STRUCT_FUNCTIONS].flatMap(Object.entries),
);
const moreFunctions = lazyModule(() => import("./moreFunctions.js"));
/** Null before they are loaded. */
let more: ReadonlyMap<string, FunctionDefinition> | null = null;

/** Returns the function of a name; null if there is none. Waits while functions are loaded. */
export function* sqlFunction(name: string): Steps<FunctionDefinition | null> {
  const definition = FIRST.get(name);
  if (definition !== undefined) return definition;
  if (more === null) yield loadMore();
  if (more === null) throw new InternalError(`the function ${name} is used before it is loaded`);
  return more.get(name) ?? null;
}

async function loadMore(): Promise<void> {
  more = (await moreFunctions.get()).MORE_FUNCTIONS;
}
