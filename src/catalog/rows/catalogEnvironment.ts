/** Members of a namespace that its catalog needs. */

import type { Lazy } from "../../async/lazy.js";
import type { UnchangedDirectories } from "../../io/disk/unchangedDirectories.js";
import { LruCache } from "../../io/memory/cache.js";
import type { Spelling } from "../../io/names/spelling.js";
import type { ReaderEnvironment } from "../../query/indexes/versionSource.js";
import type { LatestVersions } from "../../table/versions/latestVersion.js";
import type { Catalog } from "./catalogRows.js";
import type { OldVersions } from "./oldVersions.js";
import type { RootNames } from "./rootNames.js";

export interface CatalogEnvironment extends ReaderEnvironment {
  /** Absolute path of the namespace's directory. */
  readonly root: string;
  readonly catalogs: CatalogCache;
  /** The state of its old versions, which the first change loads. */
  readonly oldCatalogs: Lazy<OldVersions>;
  readonly latestVersions: LatestVersions;
  /** Names of the entries in the namespace's directory. */
  readonly rootNames: RootNames;
  /** Checks that an entry was found by its exact name, on a disk that folds names. */
  readonly spelling: Spelling;
  /** By path of a directory of versions: true if it contains a version. */
  readonly versionsIn: UnchangedDirectories<boolean>;
  /** By path of a root table's directory. */
  readonly rootTables: UnchangedDirectories<RootTableState>;
}

/** State of a root table's directory. It stays while the directory's entries do. */
export interface RootTableState {
  /** True if a marker hides the table. */
  readonly isHidden: boolean;
  /** True if the table has versions; false if it had none when it was looked at. */
  readonly hasVersions: boolean;
}

export class CatalogCache extends LruCache<Catalog> {}

/** Name of the catalog's directory. */
export const CATALOG_DIRECTORY = "__manifest";
