/** Finds the columns of names. An unquoted name of a column matches in any case if only one does. */

import { fieldNamed } from "../../arrow/types/fieldNamed.js";
import { InvalidInputError, TableColumnNotFoundError } from "../../errors.js";
import { formatFieldPath, formatQuotedPath } from "../../ident.js";
import { nearestNames } from "../../nearestName.js";
import type { ColumnReference } from "../evaluate/bound.js";
import { type ExpressionSource, problemText } from "../parse/problem.js";
import type { SyntaxOf } from "../parse/syntax.js";
import { type TypedField, type ValueType, valueTypeOfField } from "../values/types.js";

/** The columns of a table for expressions, and the columns that one expression needs. */
export class Names {
  readonly #fields: readonly TypedField[];
  #byFolded: Map<string, TypedField[]> | null = null;
  readonly #references = new Map<string, ColumnReference>();
  /** Paths of the needed columns, in order. */
  readonly paths: (readonly string[])[] = [];
  /** Types of the needed columns. */
  readonly types: ValueType[] = [];

  constructor(fields: readonly TypedField[]) {
    this.#fields = fields;
  }

  /** True if the table has a column of exactly this name. */
  has(name: string): boolean {
    return fieldNamed(this.#fields, name) !== undefined;
  }

  /** @throws TableColumnNotFoundError with the nearest names, InvalidInputError for an ambiguous name */
  resolve(name: SyntaxOf<"name">, source: ExpressionSource): ColumnReference {
    const [first, ...members] = name.segments;
    const top =
      fieldNamed(this.#fields, first) ?? (name.isExact ? undefined : this.#inAnyCase(first, name, source));
    if (top === undefined) throw missing(source, name, [first], this.#fields);
    const path = [top.name];
    let field = top;
    for (const member of members) {
      const child =
        field.type.kind === "struct"
          ? field.children.find(({ name: childName }) => childName === member)
          : undefined;
      if (child === undefined) throw missing(source, name, [...path, member], field.children, path);
      path.push(member);
      field = child;
    }
    return this.#reference(path, valueTypeOfField(field));
  }

  /** Returns the member of a struct column; null if there is none. */
  member(of: ColumnReference, member: string): ColumnReference | null {
    if (of.type.kind !== "struct") return null;
    const type = of.type.members.find(({ name }) => name === member)?.type;
    return type === undefined ? null : this.#reference([...this.paths[of.index], member], type);
  }

  #reference(path: readonly string[], type: ValueType): ColumnReference {
    const key = JSON.stringify(path);
    let reference = this.#references.get(key);
    if (reference === undefined) {
      const index = this.paths.push(path) - 1;
      this.types.push(type);
      reference = { kind: "column", type, index, isTop: path.length === 1 };
      this.#references.set(key, reference);
    }
    return reference;
  }

  #inAnyCase(text: string, name: SyntaxOf<"name">, source: ExpressionSource): TypedField | undefined {
    if (this.#byFolded === null) {
      this.#byFolded = new Map();
      for (const field of this.#fields) {
        const folded = field.name.toLowerCase();
        this.#byFolded.set(folded, [...(this.#byFolded.get(folded) ?? []), field]);
      }
    }
    const matches = this.#byFolded.get(text.toLowerCase());
    if (matches === undefined || matches.length === 1) return matches?.[0];
    const names = matches.map((field) => field.name).join(", ");
    throw new InvalidInputError(
      problemText(source, name.offset, `${text} may mean any of the columns ${names}`),
    );
  }
}

const MAX_NEAREST = 3;

function missing(
  source: ExpressionSource,
  name: SyntaxOf<"name">,
  path: readonly string[],
  siblings: readonly TypedField[],
  parents: readonly string[] = [],
): TableColumnNotFoundError {
  const wanted = path[path.length - 1];
  const nearest = nearestNames(
    wanted,
    siblings.map((field) => field.name),
  )
    .slice(0, MAX_NEAREST)
    .map((childName) => formatFieldPath([...parents, childName]));
  // Double quotes mean names in SQL, but texts in JavaScript.
  const isQuoted = source.text?.[name.offset] === '"';
  const resolved = isQuoted ? `; a text is written '${wanted}'` : "";
  const unquoted = columnWrittenAs(
    name.segments.join("."),
    source.text?.slice(name.offset),
    siblings,
    parents,
  );
  const near =
    unquoted !== undefined
      ? `; the column of that name is written ${formatQuotedPath([...parents, unquoted])}`
      : nearest.length === 0
        ? ""
        : `; near it: ${nearest.join(", ")}`;
  const comma = source.text === null ? "" : ",";
  const reason = `there is no column ${formatFieldPath(path)}${resolved}${near}${comma}`;
  return new TableColumnNotFoundError(problemText(source, name.offset, reason));
}

/** Returns the longest field name, with dots and signs, that the text has without the backticks it needs. */
function columnWrittenAs(
  whole: string,
  text: string | undefined,
  siblings: readonly TypedField[],
  parents: readonly string[],
): string | undefined {
  let longest: string | undefined;
  for (const { name } of siblings) {
    const path = [...parents, name].join(".");
    const rest = text?.startsWith(path) ? text.slice(path.length) : undefined;
    const isWritten = rest !== undefined && /\W/.test(name) && !/^\w/.test(rest);
    if ((path === whole || isWritten) && name.length > (longest?.length ?? 0)) longest = name;
  }
  return longest;
}
