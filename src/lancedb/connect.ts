/** Opening connections by address. */

import { connectRest } from "../client/restNamespace.js";
import { DirectoryNamespace } from "../DirectoryNamespace.js";
import { memoryDisk } from "../disks/memoryDisk.js";
import { NodeDisk } from "../io/disk/nodeDisk.js";
import { expandedPath, schemeOf } from "./addresses.js";
import { bucketOf, isBucketAddress } from "./bucketDatabase.js";
import { type Connection, cleanseStorageOptions, LocalConnection } from "./connection.js";
import { Database } from "./database.js";
import { failure, notSupported, translated } from "./failures.js";
import { meteredDisk } from "./metrics/meteredDisk.js";
import { isRecording } from "./metrics/recorder.js";
import type { ConnectionOptions, ConnectNamespaceOptions, Session } from "./native.js";
import { connectServer, type HeaderSource } from "./remote/server.js";
import { cacheSizesOf, countCaches } from "./sessionCaches.js";

/** Settings of a namespace in a directory. */
export interface DirNamespaceConfig {
  /** Directory of the tables. */
  root: string;
  /** False: only the root has tables. Default: true. */
  manifestEnabled?: boolean;
  /** Further properties, by their names in LanceDB's namespaces. */
  extraProperties?: Record<string, string>;
}

/** Settings of a namespace on a server. */
export interface RestNamespaceConfig {
  /** URL of the server. */
  uri: string;
  /** Headers of each request. */
  headers?: Record<string, string>;
  /** Further properties, by their names in LanceDB's namespaces. */
  extraProperties?: Record<string, string>;
}

/**
 * Connects to a database.
 * @param uri path of a directory, a `file://` URL, `memory://`, `s3://` with a bucket and a prefix, or
 *   `db://` and the name of a database on a server
 * @param options settings of the connection
 * @param session caches that connections share
 * @param headerProvider headers of requests to a server
 */
export async function connect(
  uri: string,
  options?: Partial<ConnectionOptions>,
  session?: Session,
  headerProvider?: HeaderSource,
): Promise<Connection>;
/** Connects to the database that the member `uri` names. */
export async function connect(options: Partial<ConnectionOptions> & { uri: string }): Promise<Connection>;
export async function connect(
  uriOrOptions: string | (Partial<ConnectionOptions> & { uri: string }),
  options: Partial<ConnectionOptions> = {},
  session?: Session,
  headerProvider?: HeaderSource,
): Promise<Connection> {
  const settings: Partial<ConnectionOptions> & { uri: string } =
    typeof uriOrOptions === "string" ? { session, ...options, uri: uriOrOptions } : uriOrOptions;
  const { uri } = settings ?? {};
  if (typeof uri !== "string" || uri === "") throw new Error("uri is required");
  if (/^db:/i.test(uri)) return new LocalConnection(serverDatabase(uri, settings, headerProvider));
  const storageOptions = cleanseStorageOptions(settings.storageOptions);
  return new LocalConnection(
    new Database({
      open: await directoryOpener(uri, settings.session, storageOptions),
      uri,
      kind: "ListingDatabase",
      readConsistencyInterval: intervalOf(settings),
      storageOptions,
    }),
  );
}

/**
 * Connects to a namespace.
 * @param implName `dir` for a directory, `rest` for a server
 * @param config settings of the namespace
 * @param options settings of the connection
 */
export async function connectNamespace(
  implName: "dir",
  config: DirNamespaceConfig,
  options?: Partial<ConnectNamespaceOptions>,
): Promise<Connection>;
/** Connects to a namespace on a server. */
export async function connectNamespace(
  implName: "rest",
  config: RestNamespaceConfig,
  options?: Partial<ConnectNamespaceOptions>,
): Promise<Connection>;
/** Connects to a namespace by its properties. */
export async function connectNamespace(
  implName: string,
  properties: Record<string, string>,
  options?: Partial<ConnectNamespaceOptions>,
): Promise<Connection>;
export async function connectNamespace(
  implName: string,
  config: object,
  options: Partial<ConnectNamespaceOptions> = {},
): Promise<Connection> {
  if (implName === "") throw new Error("implName must be a non-empty string");
  if (implName === "rest") return new LocalConnection(restDatabase(config, options));
  if (implName !== "dir") throw unknownNamespace(implName);
  const { root, manifest_enabled } = propertiesOf(config);
  if (root === undefined)
    throw unknownNamespace("dir", "Missing required property 'root' for directory namespace");
  const storageOptions = cleanseStorageOptions(options.storageOptions);
  return new LocalConnection(
    new Database({
      open: await directoryOpener(root, options.session, storageOptions),
      uri: root,
      kind: "LanceNamespaceDatabase",
      readConsistencyInterval: intervalOf(options),
      storageOptions,
      hasChildNamespaces: manifest_enabled !== "false",
    }),
  );
}

/** Returns the database of a server, from an address such as `db://name`. */
function serverDatabase(
  uri: string,
  settings: Partial<ConnectionOptions>,
  headerProvider: HeaderSource | undefined,
): Database {
  const { connection, host } = connectServer(uri, settings, headerProvider);
  return new Database({
    open: () => connection.namespace,
    server: connection,
    uri: host,
    kind: "RemoteDatabase",
    readConsistencyInterval: 0,
  });
}

/** Returns the database of a server of the namespace spec. */
function restDatabase(config: object, options: Partial<ConnectNamespaceOptions>): Database {
  const { headers, ...others } = config as Partial<RestNamespaceConfig>;
  const { uri, delimiter, ...properties } = propertiesOf(others);
  if (uri === undefined) throw unknownNamespace("rest", "Missing required property 'uri' for REST namespace");
  const named = Object.entries(properties).flatMap(([name, value]) =>
    name.startsWith("headers.") && value !== undefined ? [[name.slice("headers.".length), value]] : [],
  );
  const settings = { uri, delimiter, headers: { ...Object.fromEntries(named), ...headers } };
  try {
    return new Database({
      open: () => connectRest(settings),
      uri,
      kind: "LanceNamespaceDatabase",
      readConsistencyInterval: intervalOf(options),
      storageOptions: cleanseStorageOptions(options.storageOptions),
    });
  } catch (error) {
    throw translated(error);
  }
}

const unknownNamespace = (
  implName: string,
  reason = `Implementation '${implName}' is not available. Supported: dir, rest`,
): Error => failure(`Invalid input, Failed to connect to namespace: ${reason}`);

/** Returns properties by their names in LanceDB's namespaces. Members come before further properties. */
function propertiesOf(config: object): Readonly<Record<string, string | undefined>> {
  const { extraProperties, manifestEnabled, ...others } = config as Partial<DirNamespaceConfig> &
    Record<string, string>;
  return {
    ...(extraProperties as Record<string, string> | undefined),
    ...others,
    ...(manifestEnabled !== undefined && { manifest_enabled: String(manifestEnabled) }),
  };
}

function intervalOf({
  readConsistencyInterval: seconds,
}: {
  readConsistencyInterval?: number;
}): number | undefined {
  if (seconds === undefined || seconds === null) return undefined;
  if (typeof seconds === "number" && seconds >= 0) return seconds;
  throw failure(`Invalid input, readConsistencyInterval must be a number of at least 0, got ${seconds}`);
}

/** Returns a function that opens the namespace of a directory or a bucket. */
async function directoryOpener(
  uri: string,
  session: Session | null | undefined,
  storageOptions: Readonly<Record<string, string>> | undefined,
): Promise<() => DirectoryNamespace> {
  const directory = isBucketAddress(schemeOf(uri)) ? await bucketOf(uri, storageOptions) : placeOf(uri);
  const settings = { ...directory, ...(session != null && cacheSizesOf(session)) };
  return () => {
    try {
      const namespace = new DirectoryNamespace(settings);
      if (session != null) countCaches(session, namespace);
      return namespace;
    } catch (error) {
      throw translated(error);
    }
  };
}

/** Returns the options of a namespace that say where its files are. */
function placeOf(uri: string): ConstructorParameters<typeof DirectoryNamespace>[0] {
  const scheme = schemeOf(uri);
  if (scheme === "memory") return { root: "/", disk: memoryDisk() };
  if (scheme !== undefined && scheme !== "file") {
    throw notSupported(
      `databases of the scheme '${scheme}' are not there, only directories, file://, memory:// and s3://`,
    );
  }
  return {
    root: scheme === "file" ? new URL(uri) : expandedPath(uri),
    durability: "none",
    // Counting costs time, so only programs that asked for metrics pay for it.
    ...(isRecording() && { disk: meteredDisk(new NodeDisk({ durability: "none" })) }),
  };
}
