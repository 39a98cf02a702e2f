/** A call of a command: its options, the terminal, and the namespace that it works on. */

import { stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { type DirectoryNamespace, formatIdentifier, type TableHandle } from "tiltyard";
import { CommandMistake } from "../arguments/mistake.js";
import type { CommandTerminal } from "../output/terminal.js";
import { EXIT } from "./exitCodes.js";
import { type OpenedRoot, openRoot } from "./root.js";

/** Options of commands, as the parser returns them. */
export interface CommandOptions {
  readonly [name: string]: unknown;
  readonly root?: string;
  readonly json?: boolean;
  readonly progress?: boolean;
  readonly branch?: string;
  readonly version?: number;
  readonly tag?: string;
  readonly asOf?: Date | string;
}

/** A table that a command names. */
export interface NamedTable {
  readonly id: readonly string[];
  /** Name for people: the parts of the id joined by `/`, which every command takes. */
  readonly name: string;
  readonly namespace: DirectoryNamespace;
  /** Handle on the version that the options name. */
  readonly handle: TableHandle;
}

/** Members that requests about the version have that the options name. */
export interface ReadPoint {
  readonly branch?: string;
  readonly version?: number;
  readonly tag?: string;
  readonly asOf?: Date | string;
}

/** Returns the id of a table as people write it. */
export const nameOfId = (id: readonly string[]): string => id.join("/");

/** Directory of a table, as in `./data/orders.lance`. */
const TABLE_DIRECTORY = /[^/\\]\.lance[/\\]?$/;

/** A running command. */
export class CommandCall {
  /** Exit code of the process, unless the command fails. */
  exitCode: number = EXIT.done;
  readonly #opened = new Map<string, Promise<OpenedRoot>>();

  constructor(
    readonly terminal: CommandTerminal,
    readonly options: CommandOptions,
  ) {}

  get signal(): AbortSignal {
    return this.terminal.signal;
  }

  /** Root that the options or the environment name. */
  get root(): string {
    return this.options.root ?? this.terminal.env.TILTYARD_ROOT ?? ".";
  }

  /** Version that the options name. */
  get readPoint(): ReadPoint {
    const { branch, version, tag, asOf } = this.options;
    if ([version, tag, asOf].filter((each) => each !== undefined).length > 1) {
      throw new CommandMistake("--version, --tag and --as-of name the same thing: give one of them");
    }
    if (tag !== undefined && branch !== undefined) {
      throw new CommandMistake("--tag names a version of a branch by itself: leave out --branch");
    }
    return { branch, version, tag, asOf };
  }

  /** Returns the namespace of the root. */
  async namespace(mayCreate = false): Promise<DirectoryNamespace> {
    return (await this.#open(this.root, mayCreate)).namespace;
  }

  /** Returns the namespace of another root. */
  async namespaceAt(root: string): Promise<DirectoryNamespace> {
    return (await this.#open(root, false)).namespace;
  }

  /** Returns a table by its name, or by the path of its directory. */
  async table(text: string, mayCreate = false): Promise<NamedTable> {
    if (TABLE_DIRECTORY.test(text) && (await isDirectory(text))) {
      const path = text.replace(/[/\\]$/, "");
      const namespace = await this.namespaceAt(dirname(path));
      return this.#named(namespace, [basename(path).slice(0, -".lance".length)]);
    }
    const id = text.split(/[/$]/);
    if (id.includes("")) throw new CommandMistake(`${JSON.stringify(text)} is not the name of a table`);
    return this.#named(await this.namespace(mayCreate), id);
  }

  /** Closes the namespaces. */
  async close(): Promise<void> {
    for (const opened of this.#opened.values()) await (await opened.catch(() => null))?.namespace.close();
  }

  #named(namespace: DirectoryNamespace, id: readonly string[]): NamedTable {
    return { id, name: nameOfId(id), namespace, handle: namespace.table(id, this.readPoint) };
  }

  #open(root: string, mayCreate: boolean): Promise<OpenedRoot> {
    const opened = this.#opened.get(root) ?? openRoot(root, this.terminal.env, mayCreate);
    this.#opened.set(root, opened);
    return opened;
  }
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (entry) => entry.isDirectory(),
    () => false,
  );
}

/** Returns the id of a table as the engine writes it, for JSON. */
export const wireId = (id: readonly string[]): string => formatIdentifier(id);
