/**
 * The functions of SQL by their names. Those of lists and structs, which filters that indexes answer are made of, are there from
 * the start. The others are loaded with the first expression that calls one: reading them takes milliseconds of a process
 * that asks for a few rows.
 */

import type { FunctionDefinition } from "./form.js";
import { LIST_FUNCTIONS } from "./lists.js";
import { STRUCT_FUNCTIONS } from "./structs.js";

const present = new Map<string, FunctionDefinition>(
  [LIST_FUNCTIONS, STRUCT_FUNCTIONS].flatMap(Object.entries),
);
let loading: Promise<void> | null = null;
let areAllPresent = false;

/** Whether {@link sqlFunction} can tell what a name means. */
export const isFunctionTold = (name: string): boolean => areAllPresent || present.has(name);

/** Lets it tell this of every name. */
export function loadFunctions(): Promise<void> {
  loading ??= load().catch((error: unknown) => {
    loading = null;
    throw error;
  });
  return loading;
}

async function load(): Promise<void> {
  const { MORE_FUNCTIONS } = await import("./moreFunctions.js");
  for (const [name, definition] of MORE_FUNCTIONS) present.set(name, definition);
  areAllPresent = true;
}

/** Null where there is no such function. */
export const sqlFunction = (name: string): FunctionDefinition | null => present.get(name) ?? null;
