/** The page's source of rows, with answers that arrive in different orders. */

import { expect, it, vi } from "vitest";
import { connect } from "../../src/inspector/page/calls.js";
import { PENDING, RowSource } from "../../src/inspector/page/grid/RowSource.js";

const MATCHES = 2500;
const FIRST_MATCHES = 2000;
const LAST = MATCHES - 1;

/** Answers calls about a table whose row ids are its offsets, each call when its gate opens. */
function stubServer(gates: Readonly<Record<string, Promise<void>>>): void {
  const answerOf = (name: string, request: Record<string, never>): object => {
    if (name === "count") return { count: MATCHES };
    if (name === "rows") {
      const rowIds: string[] = request.rowIds;
      return { columns: ["a"], rows: rowIds.map((id) => [Number(id)]), rowIds };
    }
    const end = Math.min(MATCHES, request.offset + request.limit);
    const rowIds = Array.from({ length: end - request.offset }, (_, index) => String(request.offset + index));
    return { rowIds, hasMore: end < MATCHES };
  };
  connect({
    async call(name: string, request: object) {
      const members = request as Record<string, never>;
      await gates[members.offset > 0 ? `more ${name}` : name];
      return answerOf(name, members) as never;
    },
    image: () => "",
    startProjection: () => {
      throw new Error("no test projects vectors");
    },
  });
}

function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

const sortedRows = (): RowSource =>
  new RowSource(
    {
      choice: { id: ["t"], version: 1 },
      columns: ["a"],
      filter: "",
      orderBy: { column: "a", ascending: true },
      totalRows: MATCHES,
    },
    () => {},
  );

it("a sorted grid reads the rows in sight when their ids arrive after the row count", async () => {
  const matches = gate();
  stubServer({ matches: matches.opened });
  const source = sortedRows();
  await vi.waitFor(() => expect(source.rowCount).toBe(MATCHES));
  source.show([0, 20], [0, 0]);
  expect(source.cell(0, 0)).toBe(PENDING);
  matches.open();
  await vi.waitFor(() => expect(source.cell(20, 0)).toBe(20));
});

it.each([
  "rows",
  "more matches",
])("a sorted grid fills the block that more ids extend, if the %s arrive last", async (last) => {
  const gated = gate();
  const rows = gate();
  stubServer({ [last]: gated.opened, ...(last === "rows" ? {} : { rows: rows.opened }) });
  const source = sortedRows();
  await vi.waitFor(() => expect(source.rowId(FIRST_MATCHES - 1)).not.toBeNull());
  await vi.waitFor(() => expect(source.rowCount).toBe(MATCHES));
  source.show([FIRST_MATCHES - 10, FIRST_MATCHES + 10], [0, 0]);
  if (last === "rows") await vi.waitFor(() => expect(source.rowId(LAST)).toBe(String(LAST)));
  else {
    rows.open();
    await vi.waitFor(() => expect(source.cell(FIRST_MATCHES - 1, 0)).toBe(FIRST_MATCHES - 1));
  }
  gated.open();
  await vi.waitFor(() => expect(source.cell(FIRST_MATCHES + 5, 0)).toBe(FIRST_MATCHES + 5));
});
