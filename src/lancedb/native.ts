/**
 * Options and results of LanceDB's calls, by the names that its package declares. There is no native code:
 * the module has its name so that programs and tests that look for it find it.
 */

import { failure } from "./failures.js";
import { cachesOf } from "./sessionCaches.js";

/** Options of {@link connect}. */
export interface ConnectionOptions {
  /**
   * Seconds after which a read looks for a newer version; 0 looks with each read. Without it, a handle reads
   * its version until `checkoutLatest`. Only for local databases.
   */
  readConsistencyInterval?: number;
  /** Options of the object store, and of new tables (`new_table_…`). Only for local databases. */
  storageOptions?: Record<string, string>;
  /** Records tables of the root in the catalog. Only for local databases. */
  manifestEnabled?: boolean;
  /** Further properties of the namespace. Only for local databases. */
  namespaceClientProperties?: Record<string, string>;
  /** Caches that several connections share. Only for local databases. */
  session?: Session;
  /** Settings of the HTTP client. Only for `db://`. */
  clientConfig?: ClientConfig;
  /** API key; by default that of the environment variable `LANCEDB_API_KEY`. Only for `db://`. */
  apiKey?: string;
  /** Region of the server. Only for `db://`. */
  region?: string;
  /** URL of the server, in place of the one made from database and region. Only for `db://`. */
  hostOverride?: string;
  /** Credentials for OAuth tokens. Only for `db://`. */
  oauthConfig?: OAuthConfig;
}

/** Options of {@link connectNamespace}. */
export interface ConnectNamespaceOptions {
  /** Seconds after which a read looks for a newer version; 0 looks with each read. */
  readConsistencyInterval?: number;
  /** Options of the object store, and of new tables (`new_table_…`). */
  storageOptions?: Record<string, string>;
  /** Further properties of the namespace. */
  namespaceClientProperties?: Record<string, string>;
  /** Caches that several connections share. */
  session?: Session;
}

/** Settings of the HTTP client. */
export interface ClientConfig {
  /** `User-Agent` of requests. */
  userAgent?: string;
  /** When and how often failed requests are repeated. */
  retryConfig?: RetryConfig;
  /** Time limits of requests. */
  timeoutConfig?: TimeoutConfig;
  /** Headers that every request has. */
  extraHeaders?: Record<string, string>;
  /** Separator of the parts of an identifier in paths. */
  idDelimiter?: string;
  /** Certificates of client and server. */
  tlsConfig?: TlsConfig;
  /** Identifier of the user, sent in a header. */
  userId?: string;
}

/** Time limits of requests, in seconds. */
export interface TimeoutConfig {
  /** Limit of a whole request; none by default. */
  timeout?: number;
  /** Limit of connecting; 120 by default. */
  connectTimeout?: number;
  /** Limit of reading the answer; 300 by default. */
  readTimeout?: number;
  /** Seconds after which an idle connection is closed; 300 by default. */
  poolIdleTimeout?: number;
}

/** When and how often failed requests are repeated. */
export interface RetryConfig {
  /** Maximum number of retries of a request; 3 by default. */
  retries?: number;
  /** Maximum number of retries after failures to connect; 3 by default. */
  connectRetries?: number;
  /** Maximum number of retries after failures to read; 3 by default. */
  readRetries?: number;
  /** Factor of the pause between two tries; 0.25 by default. */
  backoffFactor?: number;
  /** Maximum random addition to a pause, in seconds; 0.25 by default. */
  backoffJitter?: number;
  /** HTTP statuses that are retried; 429, 500, 502, 503 by default. */
  statuses?: Array<number>;
}

/** Certificates of client and server. */
export interface TlsConfig {
  /** Path of the client's certificate. */
  certFile?: string;
  /** Path of the client's key. */
  keyFile?: string;
  /** Path of the authorities that the client trusts. */
  sslCaCert?: string;
  /** True if the certificate must name the host. */
  assertHostname?: boolean;
}

/** Credentials for OAuth tokens, with the flow by its name. */
export interface OAuthConfig {
  /** URL of the token's issuer. */
  issuerUrl: string;
  /** Identifier of the client. */
  clientId: string;
  /** Scopes of the token. */
  scopes: Array<string>;
  /** `client_credentials` (default) or `azure_managed_identity`. */
  flow?: string;
  /** Secret of the client. */
  clientSecret?: string;
  /** Identifier of a managed identity that a user assigned. */
  managedIdentityClientId?: string;
  /** Seconds before the end of a token at which a new one is fetched; 300 by default. */
  refreshBufferSecs?: number;
}

/**
 * Bounds and statistics of the caches of connections. Each connection has caches of its own, and the sizes
 * hold for each of them.
 */
export class Session {
  /** Maximum size of the cache of indexes, in bytes. */
  protected readonly indexCacheSizeBytes: bigint | null;
  /** Maximum size of the cache of metadata, in bytes. */
  protected readonly metadataCacheSizeBytes: bigint | null;

  /**
   * Makes a session.
   * @param indexCacheSizeBytes maximum size of the cache of indexes; 800 MiB by default
   * @param metadataCacheSizeBytes maximum size of the cache of metadata; 336 MiB by default
   */
  constructor(
    indexCacheSizeBytes?: bigint | undefined | null,
    metadataCacheSizeBytes?: bigint | undefined | null,
  ) {
    this.indexCacheSizeBytes = sizeOf(indexCacheSizeBytes, "indexCacheSizeBytes");
    this.metadataCacheSizeBytes = sizeOf(metadataCacheSizeBytes, "metadataCacheSizeBytes");
  }

  /** Makes a session with default sizes. */
  static default(): Session {
    return new Session();
  }

  /** Returns the bytes in the caches. */
  sizeBytes(): bigint {
    return BigInt(Math.round(cachesOf(this).bytes));
  }

  /** Returns the approximate number of entries in the caches. */
  approxNumItems(): number {
    return cachesOf(this).entries;
  }
}

/** Returns a size in bytes; null if it is absent. */
function sizeOf(bytes: unknown, name: string): bigint | null {
  if (bytes === undefined || bytes === null) return null;
  if (typeof bytes === "bigint" && bytes >= 0n) return bytes;
  if (Number.isSafeInteger(bytes) && (bytes as number) >= 0) return BigInt(bytes as number);
  throw failure(`Invalid input, ${name} must be at least 0`);
}

/** A page of names of tables. */
export interface ListTablesResponse {
  /** Names of the tables. */
  tables: Array<string>;
  /** Token of the next page; absent on the last one. */
  pageToken?: string;
}

/** A page of names of namespaces. */
export interface ListNamespacesResponse {
  /** Names of the namespaces. */
  namespaces: Array<string>;
  /** Token of the next page; absent on the last one. */
  pageToken?: string;
}

/** Result of creating a namespace. */
export interface CreateNamespaceResponse {
  /** Properties of the namespace. */
  properties?: Record<string, string>;
  /** Identifier of the transaction. */
  transactionId?: string;
}

/** Description of a namespace. */
export interface DescribeNamespaceResponse {
  /** Properties of the namespace. */
  properties?: Record<string, string>;
}

/** Result of dropping a namespace. */
export interface DropNamespaceResponse {
  /** Properties that the namespace had. */
  properties?: Record<string, string>;
  /** Identifiers of the transactions. */
  transactionId?: Array<string>;
}

/** A new column, computed from an SQL expression. */
export interface AddColumnsSql {
  /** Name of the column. */
  name: string;
  /** Expression of its values; it may name other columns. */
  valueSql: string;
}

/** Result of adding columns. */
export interface AddColumnsResult {
  /** Version after the change. */
  version: number;
}

/** Result of adding rows. */
export interface AddResult {
  /** Version after the change. */
  version: number;
}

/** Result of altering columns. */
export interface AlterColumnsResult {
  /** Version after the change. */
  version: number;
}

/** Result of changing metadata of fields. */
export interface UpdateFieldMetadataResult {
  /** Version after the change. */
  version: number;
}

/** Result of dropping columns. */
export interface DropColumnsResult {
  /** Version after the change. */
  version: number;
}

/** Result of deleting rows. */
export interface DeleteResult {
  /** Number of deleted rows. */
  numDeletedRows: number;
  /** Version after the change. */
  version: number;
}

/** Result of updating rows. */
export interface UpdateResult {
  /** Number of updated rows. */
  rowsUpdated: number;
  /** Version after the change. */
  version: number;
}

/** Result of merging rows. */
export interface MergeResult {
  /** Version after the change. */
  version: number;
  /** Number of inserted rows. */
  numInsertedRows: number;
  /** Number of updated rows. */
  numUpdatedRows: number;
  /** Number of deleted rows of the table. */
  numDeletedRows: number;
  /** Number of attempts to commit; more than one after conflicts. */
  numAttempts: number;
  /** Number of rows that were given. */
  numRows: number;
}

/** Result of filling a computed column. */
export interface RefreshColumnResult {
  /** Number of computed values. */
  rowsFilled: number;
  /** Version after the change. */
  version: number;
}

/** Result of refreshing a materialized view. */
export interface RefreshMaterializedViewResult {
  /** Kind of the refresh. */
  mode: string;
  /** Number of written rows. */
  rowsWritten: number;
  /** Version of the source that the view shows. */
  sourceVersion: number;
  /** Version of the view after the change. */
  version: number;
}

/** Result of compacting and cleaning up. */
export interface OptimizeStats {
  /** Counts of the compaction. */
  compaction: CompactionStats;
  /** Counts of the removal of old versions. */
  prune: RemovalStats;
}

/** Result of a compaction. */
export interface CompactionStats {
  /** Number of fragments that were replaced. */
  fragmentsRemoved: number;
  /** Number of new fragments. */
  fragmentsAdded: number;
  /** Number of files that were replaced, those of deletions included. */
  filesRemoved: number;
  /** Number of new files. */
  filesAdded: number;
}

/** Result of a removal of old versions. */
export interface RemovalStats {
  /** Bytes of the removed files. */
  bytesRemoved: number;
  /** Number of removed versions. */
  oldVersionsRemoved: number;
}

/** Sizes and counts of a table. */
export interface TableStatistics {
  /** Bytes of the table's data files. */
  totalBytes: number;
  /** Number of rows. */
  numRows: number;
  /** Number of indexes. */
  numIndices: number;
  /** Counts of the fragments. */
  fragmentStats: FragmentStatistics;
}

/** Counts of the fragments of a table. */
export interface FragmentStatistics {
  /** Number of fragments. */
  numFragments: number;
  /** Number of fragments with few rows. */
  numSmallFragments: number;
  /** Distribution of the rows per fragment. */
  lengths: FragmentSummaryStats;
}

/** Distribution of the rows per fragment. */
export interface FragmentSummaryStats {
  /** Smallest number of rows. */
  min: number;
  /** Largest number of rows. */
  max: number;
  /** Mean number of rows. */
  mean: number;
  /** 25th percentile. */
  p25: number;
  /** Median. */
  p50: number;
  /** 75th percentile. */
  p75: number;
  /** 99th percentile. */
  p99: number;
}

/** Description of an index. */
export interface IndexConfig {
  /** Name of the index. */
  name: string;
  /** Kind of the index. */
  indexType: string;
  /** Indexed columns; currently one. */
  columns: Array<string>;
  /** Identifier of the first segment. */
  indexUuid?: string;
  /** Type of the recorded details. */
  typeUrl?: string;
  /** Time at which the index was built. */
  createdAt?: Date;
  /** Number of rows that the index covers. */
  numIndexedRows?: number;
  /** Number of rows that the index does not cover. */
  numUnindexedRows?: number;
  /** Bytes of the files of the index. */
  sizeBytes?: number;
  /** Number of segments. */
  numSegments?: number;
  /** Version of the index's format. */
  indexVersion?: number;
  /** Settings of the index. */
  // biome-ignore lint/suspicious/noExplicitAny: as LanceDB declares it
  indexDetails?: any;
}

/** Statistics of an index. */
export interface IndexStatistics {
  /** Number of rows that the index covers. */
  numIndexedRows: number;
  /** Number of rows that the index does not cover. */
  numUnindexedRows: number;
  /** Kind of the index. */
  indexType: string;
  /** Distance of a vector index. */
  distanceType?: string;
  /** Number of segments. */
  numIndices?: number;
}

/** Headers that a function returns. LanceDB wraps functions in this class for its native client. */
export class JsHeaderProvider {
  /** Returns the headers of a request. */
  readonly getHeaders: () => Promise<Record<string, string>>;

  /**
   * Wraps a function.
   * @param getHeadersCallback returns the headers of a request
   */
  constructor(getHeadersCallback: () => Promise<Record<string, string>>) {
    this.getHeaders = getHeadersCallback;
  }
}

/** Contents of a tag. */
export class TagContents {
  /** Version that the tag names. */
  version: number;
  /** Bytes of the version's manifest. */
  manifestSize: number;

  /**
   * Makes the contents of a tag.
   * @param version version that the tag names
   * @param manifestSize bytes of the version's manifest
   */
  constructor(version: number, manifestSize: number) {
    this.version = version;
    this.manifestSize = manifestSize;
  }
}

/** Contents of a branch. */
export class BranchContents {
  /** Branch that this one was made from; absent for `main`. */
  parentBranch?: string;
  /** Version of the parent that this one was made from. */
  parentVersion: number;
  /** Bytes of that version's manifest. */
  manifestSize: number;

  /**
   * Makes the contents of a branch.
   * @param parentVersion version of the parent that the branch was made from
   * @param manifestSize bytes of that version's manifest
   * @param parentBranch the parent; absent for `main`
   */
  constructor(parentVersion: number, manifestSize: number, parentBranch?: string) {
    this.parentVersion = parentVersion;
    this.manifestSize = manifestSize;
    // LanceDB declares a string, and gives null for main.
    this.parentBranch = parentBranch ?? (null as unknown as string);
  }
}

/** Description of a job. */
export interface JobInfo {
  /** Identifier of the job. */
  jobId: string;
  /** Table that the job works on. */
  table: string;
  /** Kind of the job. */
  jobType: string;
  /** State of the job. */
  state: string;
  /** Time at which the job began, in milliseconds since 1970. */
  createdAtMillis: number;
}

/** Reason of a job's failure. */
export interface JobFailureInfo {
  /** Step that failed. */
  phase?: string;
  /** Text of the error. */
  message?: string;
  /** True if the job may be tried again. */
  retryable?: boolean;
}

export {
  lancedbMetricsCatalog,
  type MetricBucket,
  type MetricDescription,
  type MetricPoint,
  snapshotLancedbMetrics,
} from "./metrics/recorder.js";
