/** Finds the name that somebody meant who wrote another one. Pure. */

/**
 * Names that other programs have for the same thing, the name here among them. The first group that has both the given
 * name and a known one decides.
 */
const OTHER_WORDS: readonly (readonly string[])[] = [
  ["filter", "where", "predicate", "condition", "whereClause"],
  ["columns", "select", "fields", "projection", "columnNames", "newColumns"],
  ["orderBy", "sort", "sortBy", "order"],
  ["limit", "top", "take", "first", "k", "n", "maxRows", "numRows"],
  ["offset", "skip", "start"],
  ["root", "path", "uri", "url", "dir", "directory", "dataDir", "location", "database"],
  ["id", "name", "table", "tableName", "tableId", "namespace", "namespaceId"],
  ["newTableName", "newName", "to", "rename"],
  ["newNamespaceId", "newNamespace"],
  ["name", "branch", "branchName"],
  ["tag", "name", "tagName"],
  ["tag", "ref", "checkout"],
  ["version", "versionNumber", "snapshot"],
  ["indexName", "name", "index"],
  ["indexType", "type", "kind", "config", "using"],
  ["distanceType", "metric", "metricType", "distance"],
  ["mode", "overwrite", "existOk", "ifNotExists", "ifExists"],
  ["behavior", "cascade", "force", "recursive"],
  ["values", "set", "updates", "valuesSql"],
  ["column", "columnName", "path", "field"],
  ["columnName", "column", "path", "field"],
  ["ascending", "desc", "descending", "direction"],
  ["pageToken", "cursor", "token", "startAfter", "after"],
  ["signal", "abortSignal", "abort", "controller"],
  ["olderThanMs", "olderThan", "maxAge", "retention", "cleanupOlderThan"],
  ["expression", "valueSql", "sql", "default"],
  ["dataType", "type"],
  ["params", "parameters", "bindings", "args"],
  ["on", "key", "keys", "primaryKey"],
  ["rowOffsets", "offsets", "indices", "rows", "ids"],
  ["timeoutMs", "timeout"],
  ["workers", "threads", "concurrency"],
  ["durability", "sync", "fsync"],
  ["baseTokenizer", "tokenizer", "analyzer"],
  ["customStopWords", "stopWords"],
  ["minNgramLength", "ngramMinLength"],
  ["maxNgramLength", "ngramMaxLength"],
  ["terms", "query", "text", "words"],
];

/** How different names may be: one change in short names, one for each three letters in longer ones. */
const allowedChanges = (length: number): number => Math.max(1, Math.floor(length / 3));

/**
 * @param given what was written
 * @param names among which the one that was meant may be
 * @returns undefined where none is near
 */
export function nearestName(given: string, names: readonly string[]): string | undefined {
  const plain = fold(given);
  const same = names.find((name) => fold(name) === plain);
  if (same !== undefined) return same;
  for (const group of OTHER_WORDS) {
    if (!group.some((word) => fold(word) === plain)) continue;
    const known = group.find((word) => names.includes(word));
    if (known !== undefined) return known;
  }
  return nearestNames(given, names)[0];
}

/** The names that are spelled nearly like a given one, the nearest first. */
export function nearestNames(given: string, names: readonly string[]): string[] {
  const plain = fold(given);
  const most = allowedChanges(plain.length);
  return (
    names
      .map((name) => ({ name, changes: changesBetween(plain, fold(name), most + 1) }))
      // Where half of the letters are others, it is another name.
      .filter(
        ({ name, changes }) => changes <= most && 2 * changes < Math.max(plain.length, fold(name).length),
      )
      .sort((one, other) => one.changes - other.changes)
      .map(({ name }) => name)
  );
}

/**
 * What a message says of the names that are spelled nearly like a given one; nothing where none is.
 * @param shown makes of a name what the caller has to write
 */
export function nearestHint(
  given: string,
  names: readonly string[],
  shown: (name: string) => string = String,
): string {
  const [nearest] = nearestNames(given, names);
  return nearest === undefined ? "" : `; did you mean ${shown(nearest)}?`;
}

/** Without what tells camelCase from snake_case. */
const fold = (name: string): string =>
  name
    .slice(0, 100)
    .replace(/[_\s-]/g, "")
    .toLowerCase();

/** Letters to insert, remove, replace or swap until one text is the other; at least `most` where there are so many. */
function changesBetween(one: string, other: string, most: number): number {
  if (Math.abs(one.length - other.length) >= most) return most;
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row++) {
    const next = [row];
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1];
      let changes = Math.min(last[column] + 1, next[column - 1] + 1, last[column - 1] + (isSame ? 0 : 1));
      if (one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]) {
        changes = Math.min(changes, before[column - 2] + 1);
      }
      next.push(changes);
    }
    [before, last] = [last, next];
  }
  return last[other.length];
}
