/** Stands for progressBar.ts in bundles for browsers, which have no terminal. */

/** Returns null: nobody would see a bar. */
export const progressBar = async (): Promise<null> => null;
