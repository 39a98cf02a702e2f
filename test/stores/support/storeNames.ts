/** S3 servers of others that a run tests: all of them, or those that variables name. */

const KNOWN = ["moto", "SeaweedFS", "MinIO"] as const;

export type StoreName = (typeof KNOWN)[number];

const isKnown = (name: string): name is StoreName => KNOWN.some((each) => each === name);

/** Returns the servers that a variable names, such as `moto,SeaweedFS`. */
function namedStores(variable: string, unset: readonly StoreName[]): readonly StoreName[] {
  const text = process.env[variable];
  if (text === undefined) return unset;
  const names = text.split(",").map((name) => name.trim());
  const stores = names.filter(isKnown);
  if (stores.length < names.length)
    throw new Error(`${variable}=${text}: must be some of ${KNOWN.join(",")}`);
  return stores;
}

/** Servers of this run. */
export const STORES = namedStores("STORES", KNOWN);

/** Servers that this run leaves out. */
export const OMITTED_STORES = KNOWN.filter((name) => !STORES.includes(name));

/** Servers that the namespace suite runs on. */
export const SUITE_STORES = namedStores("SUITE_STORES", STORES);
