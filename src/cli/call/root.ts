/** Opens the root of a command: a directory, or a disk by its URL. */

import { stat } from "node:fs/promises";
import { DirectoryNamespace, type Disk, type NamespaceWarning } from "tiltyard";
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

/** Makers of disks by the schemes of their URLs. They load with the first such root. */
const DISKS: Readonly<
  Record<string, { readonly maker: string; options(url: URL, env: Environment): unknown[] }>
> = {
  http: { maker: "httpDisk", options: ({ href }) => [href] },
  https: { maker: "httpDisk", options: ({ href }) => [href] },
  s3: {
    maker: "s3Disk",
    options: ({ host, pathname }, env) => [
      {
        bucket: host,
        prefix: pathname.replace(/^\/|\/$/g, ""),
        region: env.AWS_REGION ?? env.AWS_DEFAULT_REGION,
        endpoint: env.AWS_ENDPOINT_URL_S3 ?? env.AWS_ENDPOINT_URL,
      },
    ],
  },
};

async function remoteDisk(scheme: string, root: string, env: Environment): Promise<Disk> {
  if (!Object.hasOwn(DISKS, scheme)) {
    throw new CommandMistake(`--root: ${scheme} is not a scheme of a disk; use a path, file:, https: or s3:`);
  }
  const { maker, options } = DISKS[scheme];
  const make = Reflect.get(await import("tiltyard/disks"), maker) as
    | ((...values: unknown[]) => Disk)
    | undefined;
  if (make === undefined) {
    throw new CommandMistake(`--root: this release of tiltyard has no disk for ${scheme} URLs`);
  }
  return make(...options(new URL(root), env));
}
