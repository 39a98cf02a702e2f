/** The namespace and settings that every call of the page gets. */

import type { DirectoryNamespace } from "../../DirectoryNamespace.js";
import type { RequestBase } from "../../namespace/request.js";

/** A namespace in which the page looks at tables. */
export type InspectedNamespace = Pick<
  DirectoryNamespace,
  | "listAllTables"
  | "describeTable"
  | "getTableStats"
  | "describeTableStorage"
  | "describeTableFile"
  | "optimizeTable"
  | "listTableIndices"
  | "queryTable"
  | "takeTableRows"
  | "takeBlobs"
  | "countTableRows"
  | "aggregateTable"
  | "analyzeTableQueryPlan"
  | "explainTableQueryPlan"
  | "listTableVersions"
  | "listTableBranches"
  | "listTableTags"
  | "diffTableVersions"
  | "listJobs"
  | "cancelJob"
  | "restoreTable"
  | "createTableTag"
  | "deleteTableTag"
>;

/** Context of a call. */
export interface CallContext {
  readonly namespace: InspectedNamespace;
  /** Members that every request to the engine gets: the signal, and the caller. */
  readonly base: Pick<RequestBase, "signal" | "principal">;
  readonly title: string;
  readonly isWritable: boolean;
}
