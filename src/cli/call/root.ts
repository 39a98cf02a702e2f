/** Opens the root of a command: a directory, or a disk by its URL. */

import { stat } from "node:fs/promises";
import { DirectoryNamespace, type NamespaceWarning } from "tiltyard";
import type { Disk } from "tiltyard/disks";
import { CommandMistake } from "../arguments/mistake.js";

/** Namespace of a root. */
export interface OpenedRoot {
  readonly namespace: DirectoryNamespace;
  /** Problems that the namespace worked around so far. */
  readonly warnings: NamespaceWarning[];
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Opens a root.
 * @param mayCreate true if the root need not exist yet
 * @throws CommandMistake for a root that cannot be opened
 */
export async function openRoot(root: string, env: Environment, mayCreate: boolean): Promise<OpenedRoot> {
  const warnings: NamespaceWarning[] = [];
  const onWarning = (warning: NamespaceWarning) => void warnings.push(warning);
  const [, scheme] = /^([a-z][a-z0-9+.-]+):\/\//i.exec(root) ?? [];
  if (scheme !== undefined && scheme.toLowerCase() !== "file") {
    const disk = await remoteDisk(scheme.toLowerCase(), root, env);
    return { namespace: new DirectoryNamespace({ root: "/", disk, onWarning }), warnings };
  }
  if (!mayCreate) await requireDirectory(root);
  const location = scheme === undefined ? root : new URL(root);
  return { namespace: new DirectoryNamespace({ root: location, onWarning }), warnings };
}

async function requireDirectory(root: string): Promise<void> {
  const path = root.startsWith("file:") ? new URL(root) : root;
  const entry = await stat(path).catch((error: NodeJS.ErrnoException) => error.code ?? "unknown");
  if (entry === "ENOENT") {
    throw new CommandMistake(
      `the root ${root} does not exist; --root or TILTYARD_ROOT names a directory of tables`,
    );
  }
  if (typeof entry === "string") throw new CommandMistake(`the root ${root} cannot be opened: ${entry}`);
  if (!entry.isDirectory()) throw new CommandMistake(`the root ${root} is a file, not a directory of tables`);
}

async function remoteDisk(scheme: string, root: string, env: Environment): Promise<Disk> {
  if (scheme !== "http" && scheme !== "https" && scheme !== "s3") {
    throw new CommandMistake(`--root: ${scheme} is not a scheme of a disk; use a path, file:, https: or s3:`);
  }
  // Disks load with the first such root.
  const { httpDisk, s3Disk } = await import("tiltyard/disks");
  if (scheme !== "s3") return httpDisk(root);
  const { host, pathname } = new URL(root);
  return s3Disk({
    bucket: host,
    prefix: decodeURIComponent(pathname).replace(/^\/+|\/+$/g, ""),
    region: env.AWS_REGION ?? env.AWS_DEFAULT_REGION,
    endpoint: env.AWS_ENDPOINT_URL_S3 ?? env.AWS_ENDPOINT_URL,
    credentials: credentialsOf(env),
  });
}

/** Returns the credentials of the environment, by the names that AWS's own programs read. */
function credentialsOf({ AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN }: Environment) {
  if (AWS_ACCESS_KEY_ID === undefined || AWS_SECRET_ACCESS_KEY === undefined) return undefined;
  return {
    accessKeyId: AWS_ACCESS_KEY_ID,
    secretAccessKey: AWS_SECRET_ACCESS_KEY,
    sessionToken: AWS_SESSION_TOKEN,
  };
}
