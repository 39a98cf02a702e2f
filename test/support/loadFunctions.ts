import { goThrough } from "../../src/async/eventLoop.js";
import { bindFilter } from "../../src/expression/expression.js";

/** Has all functions of SQL loaded, so that expressions can be bound at once. */
export async function loadFunctions(): Promise<void> {
  await goThrough(bindFilter("upper('a') = 'A'", {}, [], "filter"));
}
