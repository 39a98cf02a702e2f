/** Suggests the name that a caller meant by an unknown one. Pure. */

/** Groups of synonyms. The first group with both the unknown name and an allowed one decides. */
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

/** Maximum edit distance: one, or a third of the length for longer names. */
const allowedChanges = (length: number): number => Math.max(1, Math.floor(length / 3));

/**
 * Returns the allowed name that a caller most likely meant; undefined if none is similar.
 * @param wrongName unknown name
 * @param names allowed names
 */
export function nearestName(wrongName: string, names: readonly string[]): string | undefined {
  const plain = fold(wrongName);
  const same = names.find((name) => fold(name) === plain);
  if (same !== undefined) return same;
  for (const group of OTHER_WORDS) {
    if (!group.some((word) => fold(word) === plain)) continue;
    const synonym = group.find((word) => names.includes(word));
    if (synonym !== undefined) return synonym;
  }
  return nearestNames(wrongName, names)[0];
}

/** Returns the names with a similar spelling, the most similar first. */
export function nearestNames(wrongName: string, names: readonly string[]): string[] {
  const plain = fold(wrongName);
  const maximum = allowedChanges(plain.length);
  return (
    names
      .map((name) => ({ name, changes: changesBetween(plain, fold(name), maximum + 1) }))
      // A name in which half of the letters differ is not similar.
      .filter(
        ({ name, changes }) => changes <= maximum && 2 * changes < Math.max(plain.length, fold(name).length),
      )
      .sort((left, right) => left.changes - right.changes)
      .map(({ name }) => name)
  );
}

/**
 * Returns the end of an error message that suggests the most similar name; empty if none is similar.
 * @param shown returns the text to write for a name
 */
export function nearestHint(
  wrongName: string,
  names: readonly string[],
  shown: (name: string) => string = String,
): string {
  const [nearest] = nearestNames(wrongName, names);
  return nearest === undefined ? "" : `; did you mean ${shown(nearest)}?`;
}

/** Removes the differences between camelCase and snake_case. */
const fold = (name: string): string =>
  name
    .slice(0, 100)
    .replace(/[_\s-]/g, "")
    .toLowerCase();

/** Returns the number of letters to insert, delete, replace or swap, up to `most`. */
function changesBetween(left: string, right: string, limit: number): number {
  if (Math.abs(left.length - right.length) >= limit) return limit;
  let before: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row++) {
    const next = [row];
    for (let column = 1; column <= right.length; column++) {
      const isSame = left[row - 1] === right[column - 1];
      let changes = Math.min(last[column] + 1, next[column - 1] + 1, last[column - 1] + (isSame ? 0 : 1));
      if (left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1]) {
        changes = Math.min(changes, before[column - 2] + 1);
      }
      next.push(changes);
    }
    [before, last] = [last, next];
  }
  return last[right.length];
}
