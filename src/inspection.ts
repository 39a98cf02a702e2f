/** Descriptions of objects for `console.log` and `util.inspect` of Node.js, made when they are printed. */

/** Method that Node.js calls. */
const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/** Members of queries that are not shown, because they may hold secrets or say little. */
const HIDDEN: ReadonlySet<string> = new Set([
  "signal",
  "memory",
  "identity",
  "principal",
  "context",
  "onProgress",
]);

type Inspect = (value: unknown, options: unknown) => string;

/**
 * Sets what an object shows: a name, and members in braces unless there are none.
 * @param target a prototype, or an object
 * @param describe returns both; members that are undefined are left out
 */
export function setInspection<Target extends object>(
  target: Target,
  describe: (self: Target) => readonly [name: string, members: Readonly<Record<string, unknown>>],
): void {
  const value = function (this: Target, _depth: number, options: unknown, inspect?: Inspect): string {
    const [name, members] = describe(this);
    const shown = Object.entries(members).filter(([, member]) => member !== undefined);
    if (shown.length === 0 || inspect === undefined) return name;
    return `${name} ${inspect(Object.fromEntries(shown), options)}`;
  };
  Object.defineProperty(target, INSPECT, { value, configurable: true });
}

/** Returns the members of a query that are shown. Vectors are cut, and values of parameters are left out. */
export function shownQuery(query: object): Readonly<Record<string, unknown>> {
  const members = Object.entries(query).filter(([name, value]) => !HIDDEN.has(name) && value !== undefined);
  return Object.fromEntries(
    members.map(([name, value]) => {
      if (name === "params") return [name, Object.keys(value ?? {})];
      if (name === "vector") return [name, shownVector(value)];
      return [name, isExpression(value) ? String(value) : value];
    }),
  );
}

const isExpression = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "syntax" in value;

function shownVector(vector: unknown): unknown {
  if (!Array.isArray(vector) && !ArrayBuffer.isView(vector)) return vector;
  const { length } = vector as unknown as ArrayLike<unknown>;
  return length > 8 ? `${length} items` : vector;
}
