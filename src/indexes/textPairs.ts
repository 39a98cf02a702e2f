/** Parses a table of texts such as `ß:ss æ:ae`. */
export const parsePairs = (table: string): [string, string][] =>
  table.split(" ").map((row) => row.split(":") as [string, string]);
