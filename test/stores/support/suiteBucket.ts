/** Starts a server with an empty bucket for the namespace suite, before its processes start. */

import { isMinioBuilt, STORES, Store, type StoreName } from "./stores.js";

export default async function startSuiteBucket(): Promise<() => Promise<void>> {
  const name = (process.env.SUITE_STORE ?? ((await isMinioBuilt()) ? "MinIO" : "moto")) as StoreName;
  if (!STORES.includes(name)) throw new Error(`SUITE_STORE: must be one of ${STORES.join(", ")}`);
  const store = await Store.start(name);
  process.env.TILTYARD_TEST_BUCKET = JSON.stringify(store.options("suite"));
  return () => store[Symbol.asyncDispose]();
}
