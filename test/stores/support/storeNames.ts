/** S3 servers of others that a run tests: all of them, or those that `STORES` names, such as `moto,SeaweedFS`. */

const KNOWN = ["moto", "SeaweedFS", "MinIO"] as const;

export type StoreName = (typeof KNOWN)[number];

const isKnown = (name: string): name is StoreName => KNOWN.some((each) => each === name);

function namedStores(text: string): readonly StoreName[] {
  const names = text.split(",").map((name) => name.trim());
  const stores = names.filter(isKnown);
  if (stores.length < names.length) throw new Error(`STORES=${text}: must be some of ${KNOWN.join(",")}`);
  return stores;
}

/** Servers of this run. */
export const STORES = process.env.STORES === undefined ? KNOWN : namedStores(process.env.STORES);

/** Servers that this run leaves out. */
export const OMITTED_STORES = KNOWN.filter((name) => !STORES.includes(name));
