import { runAsync } from "../../src/async/eventLoop.js";
import { bindFilter } from "../../src/expression/expression.js";

/** Has all functions of SQL loaded, so that expressions can be bound at once. */
export async function loadFunctions(): Promise<void> {
  await runAsync(bindFilter("upper('a') = 'A'", {}, [], "filter"));
}
