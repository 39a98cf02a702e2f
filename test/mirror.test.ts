/** Keeps tests easy to find: a source file has a test of its path, or the table below names its suites. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const TEST_ROOT = dirname(fileURLToPath(import.meta.url));
const SOURCE_ROOT = join(TEST_ROOT, "../src");

/** Lines of a source file that needs no test of its own. */
const SMALL_LINES = 60;

/**
 * Suites that cover the files of a folder, or one file. The longest matching entry counts, and the file
 * `src/a/b.ts` has the path `a/b`.
 */
const COVERED: Readonly<Record<string, string>> = {
  DirectoryNamespace: "interop/operations",
  TableHandle: "handle",
  errors: "errorTable",
  index: "publicNames",
  nearestName: "operations/mistakes",
  operationTable: "rest/wire/routes",
  requestMembers: "operations/absentOptions",
  "arrow/columns/": "arrow/wholeColumns arrow/nested interop/json query/order/largeSort",
  "arrow/exchange/": "arrow/exchange/input arrow/exchange/pieces arrow/inputBounds arrow/messageBounds",
  "arrow/objects/": "arrow/objects/writtenValues arrow/objects/texts",
  "arrow/types/": "arrow/types/logicalTypes interop/types",
  "async/": "jobs/workerPool",
  "cli/": "cli/commands",
  "client/": "client/equality client/faults client/suites client/bundle",
  "bytes/": "bytes/roaringSet interop/encodings",
  "bytes/wasm/": "bytes/wasm/kernelCode",
  "bytes/zstd/": "bytes/zstd",
  "catalog/": "interop/catalog",
  "catalog/batches/": "catalog/batches/batches",
  "catalog/rows/": "catalog/rows/catalogRows interop/orphans",
  "disks/": "disks/memoryDisk",
  "disks/http/": "disks/http/httpDisk disks/http/goldenOverHttp",
  "disks/publish/": "disks/http/httpDisk",
  "disks/r2/": "disks/r2/r2Disk",
  "disks/s3/": "disks/s3/s3Disk disks/s3/lostAnswers disks/s3/hostileAnswers",
  "engine/": "operations/versionChanges",
  "expression/": "interop/filters expression/expression",
  "expression/functions/": "interop/functions expression/functions/functionTable",
  "expression/parse/": "expression/parse/parse",
  "expression/regex/": "expression/regex/automaton",
  "file/": "file/roundTrip file/reference",
  "file/blobs/": "interop/blobsV2",
  "file/compression/": "interop/encodings",
  "file/pages/": "file/pages/pageSlice corruption/pickedLists query/scan/partialReads",
  "file/container/": "file/container/container corruption/dataFiles",
  "file/structural/": "interop/encodings file/structural/damagedPages",
  "file/v20/": "interop/version20 file/v20/arrays",
  "file/writing/": "file/writing/writer interop/blobs",
  "files/": "files/csv files/jsonLines files/parquet files/roundTrip",
  "format/": "file/reference table/versions/manifest interop/otherIndexes",
  "handle/": "handle",
  "inspector/": "inspector/handler",
  "indexes/": "indexes/reference indexes/merge",
  "indexes/scalar/":
    "interop/indexes/btree interop/indexes/bloomFilter interop/indexes/labelList interop/indexes/ngram",
  "indexes/text/": "indexes/text/interop indexes/text/ranking",
  "indexes/vector/": "interop/vectorBuilds interop/vectorIndexes",
  "indexes/vector/graph/": "indexes/vector/graph/graph",
  "indexes/vector/sketches/": "indexes/vector/sketches/sketch",
  "io/disk/": "io/disk/nodeDisk io/disk/handles io/disk/confinement operations/swappedDirectories",
  "io/localFiles": "files/targets",
  "io/lock/": "io/lock/lock",
  "jobs/": "jobs/jobs jobs/processes",
  "lancedb/": "lancedb/histories lancedb/otherWriters",
  "lancedb/blobField": "lancedb/util",
  "lancedb/dataTypeJson": "lancedb/arrow",
  "lancedb/embed": "lancedb/arrow",
  "lancedb/embedding/": "lancedb/embedding/registry lancedb/embedding/openai",
  "lancedb/engineRows": "lancedb/arrow",
  "lancedb/fitTable": "lancedb/arrow",
  "lancedb/header": "lancedb/remote/server",
  "lancedb/like": "lancedb/arrow",
  "lancedb/metrics/": "lancedb/otel",
  "lancedb/remote/": "lancedb/remote/remoteDialect lancedb/remote/server",
  "lancedb/looseValues": "lancedb/arrow",
  "lancedb/records": "lancedb/arrow",
  "lancedb/sanitizeData": "lancedb/sanitize",
  "lancedb/sanitizeTypes": "lancedb/sanitize",
  "lancedb/permutations/": "lancedb/permutation",
  "lancedb/queriedTable": "lancedb/query",
  "lancedb/queries/": "lancedb/query lancedb/embeddedSearch",
  "lancedb/rerankers/": "lancedb/rerankers",
  "lancedb/rowBatches": "lancedb/rerankers",
  "namespace/": "handleTypes publicNames",
  "operations/": "interop/operations operations/request",
  "operations/index/": "operations/indexes",
  "operations/rows/": "interop/queries interop/mergeInsert interop/rowChanges",
  "operations/schema/": "interop/columns interop/backfill",
  "operations/version/": "operations/versionPages interop/versionRemoval",
  "platform/": "platform/portable",
  "query/aggregate/": "query/aggregate/duckdb query/aggregate/spilled",
  "query/columns/": "interop/queries",
  "query/compare/": "query/compare/rowChanges write/merge/keyTable",
  "query/filter/": "query/filter/filter",
  "query/indexes/": "query/indexes/indexedRows",
  "query/order/": "query/order/order",
  "query/run/": "interop/hybridSearch query/run/explain",
  "query/scan/": "query/scan/fragmentRows query/scan/partialReads",
  "query/text/": "query/text/arbitraryQueries",
  "query/vector/": "query/vector/vectorSearch",
  "ray/": "ray/rayCluster",
  "rest/": "rest/handler rest/contract/operations",
  "rest/auth/": "rest/auth/auth",
  "rest/dialects/": "rest/dialects/remoteClient",
  "rest/http/": "rest/http/nodeListener rest/bounds",
  "rest/wire/": "rest/wire/routes rest/requests",
  "rows/": "rows/columns",
  "schema/": "schema/cast interop/casts",
  "table/cleanup/": "interop/cleanup table/cleanup/retentionPolicy",
  "table/commit/":
    "table/commit/commit interop/appliedTransactions table/refs/branches operations/transactions",
  "table/fragments/": "interop/compaction",
  "table/refs/": "table/refs/branches",
  "table/versions/": "table/versions/versions table/staging/stagedVersion operations/identity",
  "write/": "interop/operations",
  "write/backfill/": "write/backfill/computedValues write/backfill/cluster",
  "write/changes/": "interop/rowChanges",
  "write/columns/": "interop/columns",
  "write/compaction/": "interop/compaction",
  "write/indexes/": "write/indexes/answers",
  "write/merge/": "interop/mergeInsert",
};

const testOf = (path: string): string => join(TEST_ROOT, `${path}.test.ts`);

const unmirrored = readdirSync(SOURCE_ROOT, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .filter((file) => readFileSync(join(SOURCE_ROOT, file), "utf8").split("\n").length - 1 > SMALL_LINES)
  .map((file) => file.slice(0, -".ts".length).replaceAll("\\", "/"))
  .filter((path) => !existsSync(testOf(path)));

const entryOf = (path: string): string | undefined =>
  Object.keys(COVERED)
    .filter((entry) => (entry.endsWith("/") ? path.startsWith(entry) : path === entry))
    .sort((first, second) => second.length - first.length)[0];

describe("tests mirror the sources", () => {
  it("each larger source file has a test of its path or a covering suite", () => {
    expect(unmirrored.filter((path) => entryOf(path) === undefined)).toEqual([]);
  });

  it("each entry of the table covers a file", () => {
    const used = new Set(unmirrored.map(entryOf));
    expect(Object.keys(COVERED).filter((entry) => !used.has(entry))).toEqual([]);
  });

  it("each covering suite exists", () => {
    const suites = Object.values(COVERED).flatMap((names) => names.split(" "));
    expect(suites.filter((suite) => !existsSync(testOf(suite)))).toEqual([]);
  });
});
