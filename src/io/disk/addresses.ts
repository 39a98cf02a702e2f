/** Addresses of files and directories for other engines: what answers and manifests contain. */

import type { Disk } from "./disk.js";

/** Calls of a disk that convert between paths and addresses. */
type Addressed = Pick<Disk, "uriOf" | "pathOf">;

/** Returns the address of a path: a URI, or the path itself on the local file system. */
export const uriOn = (disk: Addressed, path: string): string => disk.uriOf?.(path) ?? path;

/** Returns the path of an address; the text itself if it is none of this disk. */
export const pathOn = (disk: Addressed, address: string): string => disk.pathOf?.(address) ?? address;
