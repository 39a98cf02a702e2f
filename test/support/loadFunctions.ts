import { runAsync } from "../../src/async/eventLoop.js";
import { bindFilter } from "../../src/expression/expression.js";

/** Loads all SQL functions, so that expressions bind at once. */
export async function loadFunctions(): Promise<void> {
  await runAsync(bindFilter("upper('a') = 'A'", {}, [], "filter"));
}
