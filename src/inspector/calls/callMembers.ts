/** Members of the page's requests. The engine checks those that it gets unchanged. */

import { InvalidInputError } from "../../errors.js";
import { checkOptionMembers, shortly } from "../../optionMembers.js";

/** Members that name a version of a table. */
const TABLE_MEMBERS = ["id", "branch", "version"];

/** Version of a table, as requests to the engine name it. */
export interface AskedTable {
  readonly id: readonly string[];
  readonly branch?: string;
  readonly version?: number;
}

/** Members of a request of the page: an object from JSON. A null member counts as absent. */
export class CallMembers {
  readonly #members: Readonly<Record<string, unknown>>;

  /** @throws InvalidInputError for members that are not among `names`, and for a request that is no object */
  constructor(request: unknown, names: readonly string[]) {
    checkOptionMembers("request", request, names);
    this.#members = request as Readonly<Record<string, unknown>>;
  }

  /** Reads a request about a version of a table. @throws InvalidInputError as the constructor */
  static ofTable(request: unknown, names: readonly string[] = []): CallMembers {
    return new CallMembers(request, [...TABLE_MEMBERS, ...names]);
  }

  /** Version of the table. @throws InvalidInputError unless `id` is a list */
  get table(): AskedTable {
    const { id } = this.#members;
    if (!Array.isArray(id)) throw new InvalidInputError(`id: must be a list of texts, not ${shortly(id)}`);
    const [branch, version] = [this.value("branch"), this.value("version")];
    return {
      id: id as readonly string[],
      ...(branch !== undefined && { branch: branch as string }),
      ...(version !== undefined && { version: version as number }),
    };
  }

  /** Returns a member unchecked. */
  value(name: string): unknown {
    return this.#members[name] ?? undefined;
  }

  /** @throws InvalidInputError unless the member is an integer in the range */
  integer(name: string, min: number, max: number): number {
    const value = this.#members[name];
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max)
      return value;
    throw new InvalidInputError(`${name}: must be an integer from ${min} to ${max}, not ${shortly(value)}`);
  }

  /** @throws InvalidInputError unless the member is a text */
  text(name: string): string {
    const value = this.#members[name];
    if (typeof value === "string") return value;
    throw new InvalidInputError(`${name}: must be a text, not ${shortly(value)}`);
  }

  /** @throws InvalidInputError unless the member is a text, or absent */
  optionalText(name: string): string | undefined {
    return this.value(name) === undefined ? undefined : this.text(name);
  }

  /** @throws InvalidInputError unless the member is a list of texts of at most `max` items, or absent */
  optionalTexts(name: string, max: number): string[] | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    if (Array.isArray(value) && value.length <= max && value.every((item) => typeof item === "string")) {
      return value;
    }
    throw new InvalidInputError(`${name}: must be a list of at most ${max} texts`);
  }
}
