/** Starts the server `SUITE_STORE` with an empty bucket for the namespace suite, before its processes start. */

import type { TestProject } from "vitest/node";
import { removeTempDirs } from "../../support/tempDir.js";
import type { StoreName } from "./storeNames.js";
import { Store } from "./stores.js";

export default async function startSuiteBucket({ config }: TestProject): Promise<() => Promise<void>> {
  const store = await Store.start(config.env.SUITE_STORE as StoreName);
  config.env.TILTYARD_TEST_BUCKET = JSON.stringify(store.options("suite"));
  return async () => {
    await store[Symbol.asyncDispose]();
    await removeTempDirs();
  };
}
