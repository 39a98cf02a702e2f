/** The functions of computed columns: the program that starts the backfill, and the workers on Ray, import the same ones. */

import { Int32 } from "apache-arrow";

export const functions = {
  words: {
    version: "1",
    inputs: ["text"],
    output: new Int32(),
    batch: ({ text }, { rowCount }) =>
      Array.from({ length: rowCount }, (_, row) => text.get(row)?.split(/\s+/).length ?? null),
  },
};
