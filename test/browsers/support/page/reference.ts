/** Stands for the reference in a page, which cannot run it: a test that asks it is skipped there. */

import { getCurrentTest } from "@vitest/runner";

export { compareSchemas, compareTables } from "../../../support/compareTables.js";

const skip = (): never => {
  const current = getCurrentTest();
  if (current === undefined) throw new Error("only a test may ask the reference");
  return current.context.skip("asks the reference, which no page can run");
};

export const reference = new Proxy({}, { get: () => skip });
export const connect = skip;
export const mirrored = skip;
export const mirroredCalls = skip;
export const Index = reference;
