import type { JsonField } from "../../../namespace/tables.ts";
import type { ViewProps } from "../App.tsx";
import { formatType, visibleText } from "../format.ts";
import { Empty } from "../parts.tsx";

/** Fields of a table as a tree of rows, with what the indexes and the metadata say about them. */
export function SchemaView({ table }: ViewProps) {
  const { schema, metadata = {}, properties } = table.description;
  const fields = schema?.fields ?? [];
  if (fields.length === 0) return <Empty title="This table has no columns" />;
  const indexesOf = (path: string) => table.indexes.filter(({ columns }) => columns.includes(path));
  return (
    <div class="scroll padded" tabIndex={0} role="region" aria-label="Columns">
      <table class="plain">
        <caption class="hidden">Columns</caption>
        <thead>
          <tr>
            <th scope="col">Column</th>
            <th scope="col">Type</th>
            <th scope="col">Nulls</th>
            <th scope="col">Indexes</th>
            <th scope="col">Metadata</th>
          </tr>
        </thead>
        <tbody>
          {flatten(fields).map(({ field, depth, path }) => (
            <tr key={path}>
              <th scope="row" style={{ paddingInlineStart: `${12 + depth * 20}px` }}>
                <bdi>{visibleText(field.name)}</bdi>
              </th>
              <td>
                <code>{formatType(field.type)}</code>
              </td>
              <td>{field.nullable ? "allowed" : "refused"}</td>
              <td>
                {indexesOf(path).map(({ indexName, indexType }) => (
                  <span class="chip" key={indexName} title={indexName}>
                    {indexType}
                  </span>
                ))}
              </td>
              <td>
                <Entries of={field.metadata ?? {}} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <Maps title="Metadata of the schema" entries={metadata} />
      <Maps title="Properties" entries={properties} />
    </div>
  );
}

interface FlatField {
  readonly field: JsonField;
  readonly depth: number;
  readonly path: string;
}

const flatten = (fields: readonly JsonField[], depth = 0, parent = ""): FlatField[] =>
  fields.flatMap((field) => {
    const path = parent === "" ? field.name : `${parent}.${field.name}`;
    const nested =
      field.type.type === "struct" || /list|map/.test(field.type.type) ? (field.type.fields ?? []) : [];
    const isPlainItem =
      nested.length === 1 && (nested[0].type.fields ?? []).length === 0 && field.type.type !== "struct";
    return [{ field, depth, path }, ...(isPlainItem ? [] : flatten(nested, depth + 1, path))];
  });

const Entries = ({ of }: { readonly of: Readonly<Record<string, string>> }) => (
  <>
    {Object.entries(of).map(([key, value]) => (
      <div class="entry-line" key={key} title={`${key} = ${value}`}>
        <code>{visibleText(key)}</code> {visibleText(value.slice(0, 120))}
      </div>
    ))}
  </>
);

function Maps({
  title,
  entries,
}: {
  readonly title: string;
  readonly entries: Readonly<Record<string, string>>;
}) {
  if (Object.keys(entries).length === 0) return null;
  return (
    <>
      <h2>{title}</h2>
      <Entries of={entries} />
    </>
  );
}
