/** Plans an aggregation: the keys of the groups, the functions of their rows, and the returned columns. */

import { type Field, Schema } from "apache-arrow";
import { arrowFieldFromLogical } from "../../arrow/types/logicalTypes.js";
import type { Steps } from "../../async/eventLoop.js";
import { InvalidInputError, TableColumnNotFoundError, UnsupportedError } from "../../errors.js";
import type { Effort } from "../../expression/evaluate/bound.js";
import {
  type BoundExpression,
  bindPart,
  type ExpressionInput,
  parseAggregates,
} from "../../expression/expression.js";
import { printExpression } from "../../expression/parse/print.js";
import { NOWHERE, type Syntax } from "../../expression/parse/syntax.js";
import { scalarOf } from "../../expression/values/scalars.js";
import { BOOL, FLOAT64, type TypedField, typeName, type ValueType } from "../../expression/values/types.js";
import { fieldOfValues } from "../../expression/values/valueField.js";
import { parseFieldPath } from "../../ident.js";
import type { FilterParameters } from "../../namespace/queries.js";
import type { TableField } from "../../schema/schema.js";
import { ColumnReads, type RowsPlan } from "../columns/columnReads.js";
import { type Computation, needAddresses } from "../columns/computedColumns.js";
import {
  AggregateCollector,
  type AggregateSyntax,
  checkDepth,
  groupColumn,
  hasAggregate,
  invalid,
  type SourceExpression,
  spelled,
} from "./aggregateSyntax.js";
import { areGroupable } from "./distinctValues.js";
import { type AggregateFunction, FUNCTIONS } from "./functions.js";

/** A function of the rows of each group. */
export interface AggregateCall {
  readonly function: AggregateFunction;
  /** Null for `count(*)`. */
  readonly operand: Computation | null;
  readonly type: ValueType;
  /** Fraction of a quantile. */
  readonly fraction: number;
  readonly isDistinct: boolean;
  /** Selects rows; null for all. */
  readonly filter: Computation | null;
}

export interface AggregatePlan {
  readonly keys: readonly Computation[];
  readonly calls: readonly AggregateCall[];
  /** The columns that keys and calls need. */
  readonly projection: RowsPlan;
  readonly effort: Effort;
  /** Expressions over one row per group: its keys, then the results of the calls. */
  readonly returned: readonly BoundExpression[];
  readonly having: BoundExpression | null;
  readonly schema: Schema;
}

/** Keys of groups, and the expressions over them. */
export interface AggregateRequest {
  readonly groupBy: readonly ExpressionInput[];
  readonly values: Readonly<Record<string, ExpressionInput>>;
  readonly having: ExpressionInput | null;
  readonly parameters: FilterParameters;
}

/** Maximum number of keys, and of values. */
const MAX_KEYS = 64;
const MAX_VALUES = 1024;

export function* planAggregate(
  { groupBy, values, having, parameters }: AggregateRequest,
  fields: readonly TableField[],
): Steps<AggregatePlan> {
  const names = Object.keys(values);
  if (groupBy.length > MAX_KEYS) throw new InvalidInputError(`groupBy: has more than ${MAX_KEYS} keys`);
  if (names.length > MAX_VALUES) throw new InvalidInputError(`values: has more than ${MAX_VALUES} values`);
  if (groupBy.length + names.length === 0) {
    throw new InvalidInputError('values: name at least one, as in { n: "count(*)" }');
  }
  const reads = new ColumnReads(fields);
  const binding: Binding = { reads, columns: reads.bindable, parameters };
  const sources = new Map<string, SourceExpression>();
  for (const name of names) sources.set(name, yield* sourceOf(values[name], `values.${name}`, binding));
  const keys: NamedKey[] = [];
  for (const [index, input] of groupBy.entries()) {
    keys.push(yield* keyOf(input, `groupBy[${index}]`, sources, binding));
  }
  checkNames(keys, names);
  const collector = new AggregateCollector(keys.map(({ source }) => source.syntax));
  const isKey = new Set(keys.map(({ name }) => name));
  const outputs = keys.map(({ name, source }, index) => ({
    name,
    source,
    syntax: nameOf(groupColumn(index)),
  }));
  for (const [name, source] of sources) {
    if (isKey.has(name)) continue;
    outputs.push({ name, source, syntax: collector.overGroups(source) });
    yield;
  }
  const condition = having === null ? null : yield* sourceOf(having, "having", binding);
  const conditionSyntax = condition && collector.overGroups(condition, sources);
  const calls: AggregateCall[] = [];
  for (const { call, source } of collector.calls) calls.push(yield* callOf(call, source, binding));
  const columns = columnsOfGroups(keys, calls);
  const returned: BoundExpression[] = [];
  const arrowFields: Field[] = [];
  for (const { name, source, syntax } of outputs) {
    const expression = yield* bindPart(syntax, source.text, parameters, columns, source.label);
    returned.push(expression);
    arrowFields.push(arrowFieldFromLogical(fieldOfValues(name, expression.type, source.label), name));
  }
  const bound =
    condition === null || conditionSyntax === null
      ? null
      : yield* bindPart(
          conditionSyntax,
          condition.text,
          parameters,
          columns,
          "having",
          conditionType("having"),
        );
  const computations = [
    ...keys.map(({ computation }) => computation),
    ...calls.flatMap(({ operand, filter }) => [operand, filter]).filter((each) => each !== null),
  ];
  const inputs = computations.flatMap((computation) => computation.inputs);
  return {
    keys: keys.map(({ computation }) => computation),
    calls,
    projection: { ...reads.plan(), withAddresses: needAddresses(inputs) },
    effort: effortOf(computations),
    returned,
    having: bound,
    schema: new Schema(arrowFields),
  };
}

/** Columns and parameters that expressions of rows are bound to. */
interface Binding {
  readonly reads: ColumnReads;
  readonly columns: readonly TypedField[];
  readonly parameters: FilterParameters;
}

interface NamedKey {
  readonly name: string;
  readonly source: SourceExpression;
  readonly computation: Computation;
}

function* sourceOf(input: ExpressionInput, label: string, { columns }: Binding): Steps<SourceExpression> {
  const syntax = yield* parseAggregates(input, label);
  const text = typeof input === "string" ? input : null;
  checkDepth({ syntax, text, label });
  return spelled(
    { syntax, text, label },
    columns.map(({ name }) => name),
  );
}

/** Returns a key: a column, the name of a value, or an expression. */
function* keyOf(
  input: ExpressionInput,
  label: string,
  values: ReadonlyMap<string, SourceExpression>,
  binding: Binding,
): Steps<NamedKey> {
  if (typeof input !== "string") checkDepth({ syntax: input.syntax, text: null, label });
  const name = String(input);
  const path = typeof input === "string" ? exactPath(input, binding.reads) : null;
  const source =
    path !== null
      ? { syntax: nameOf(...path), text: null, label }
      : (values.get(name) ?? (yield* sourceOf(input, label, binding)));
  if (hasAggregate(source.syntax))
    throw invalid(source, source.syntax, "an aggregate cannot be a key of groups");
  const computation = yield* computationOf(source.syntax, source, binding);
  const { type } = computation.expression;
  if (!areGroupable(type)) {
    throw new UnsupportedError(`${label}: rows can't be grouped by values of type ${typeName(type)}`);
  }
  return { name, source, computation };
}

/** Returns the path of the column that a text names exactly; null for any other text. */
function exactPath(text: string, reads: ColumnReads): readonly string[] | null {
  try {
    const segments = parseFieldPath(text);
    reads.chain(segments);
    return segments;
  } catch (error) {
    if (
      error instanceof InvalidInputError ||
      error instanceof TableColumnNotFoundError ||
      error instanceof UnsupportedError
    ) {
      return null;
    }
    throw error;
  }
}

const nameOf = (...segments: readonly string[]): Syntax => ({
  kind: "name",
  segments,
  isExact: true,
  offset: NOWHERE,
});

function checkNames(keys: readonly NamedKey[], names: readonly string[]): void {
  const seen = new Set<string>();
  for (const { name, source } of keys) {
    if (seen.has(name)) throw new InvalidInputError(`${source.label}: ${name} appears twice`);
    seen.add(name);
    if (names.includes(name) && source.label !== `values.${name}`) {
      throw new InvalidInputError(`values.${name}: groupBy returns a column of that name already`);
    }
  }
}

function* computationOf(
  syntax: Syntax,
  source: SourceExpression,
  { reads, columns, parameters }: Binding,
  targetOf?: (type: ValueType) => ValueType,
): Steps<Computation> {
  const expression = yield* bindPart(syntax, source.text, parameters, columns, source.label, targetOf);
  return {
    expression,
    get text() {
      return printExpression(syntax);
    },
    inputs: expression.paths.map((path) => reads.source(path)),
  };
}

/** Functions with a fraction as their second operand. */
const FRACTIONAL = "quantile_cont";

function* callOf(call: AggregateSyntax, source: SourceExpression, binding: Binding): Steps<AggregateCall> {
  const { name, operands, filter } = call;
  const definition = FUNCTIONS[name];
  const [operand, fraction] = operands;
  const parts = [...operands, ...(filter === null ? [] : [filter])];
  if (parts.some(hasAggregate))
    throw invalid(source, call, `${name}: an aggregate cannot be inside another one`);
  const isCounted = name === "count" && operands.length === 0;
  const expected = name === FRACTIONAL ? 2 : 1;
  if (!isCounted && operands.length !== expected) {
    throw invalid(source, call, `${name}: expected ${expected} ${expected === 1 ? "operand" : "operands"}`);
  }
  const operandType = (type: ValueType): ValueType => {
    try {
      return definition.operandType(type);
    } catch (error) {
      if (error instanceof InvalidInputError) throw invalid(source, call, `${name}: ${error.message}`);
      throw error;
    }
  };
  const computation = isCounted ? null : yield* computationOf(operand, source, binding, operandType);
  const type = computation?.expression.type ?? BOOL;
  if (call.isDistinct && !areGroupable(type)) {
    throw new UnsupportedError(
      `${source.label}: values of type ${typeName(type)} can't be compared by this release`,
    );
  }
  return {
    function: definition,
    operand: computation,
    type,
    fraction:
      name === "median" ? 0.5 : name === FRACTIONAL ? yield* fractionOf(fraction, source, binding) : 0,
    // Other rows of an equal value change none of these.
    isDistinct: call.isDistinct && !["min", "max", "approx_count_distinct"].includes(name),
    filter:
      filter === null ? null : yield* computationOf(filter, source, binding, conditionType(source.label)),
  };
}

function* fractionOf(syntax: Syntax, source: SourceExpression, binding: Binding): Steps<number> {
  const { parameters } = binding;
  const bound = yield* bindPart(syntax, source.text, parameters, [], source.label, () => FLOAT64);
  const value = bound.isConstant ? scalarOf(yield* bound.evaluate([], 1), FLOAT64) : null;
  if (typeof value === "number" && value >= 0 && value <= 1) return value;
  throw invalid(source, syntax, "the fraction of a quantile must be a constant from 0 to 1");
}

/** Returns a check for the type of a condition. */
const conditionType =
  (label: string) =>
  (type: ValueType): ValueType => {
    if (type.kind === "bool" || type.kind === "null") return BOOL;
    throw new InvalidInputError(`${label}: expected a condition, not ${typeName(type)}`);
  };

/** Returns the fields of the rows of groups. */
function columnsOfGroups(keys: readonly NamedKey[], calls: readonly AggregateCall[]): TypedField[] {
  return [
    ...keys.map(({ computation, source }, index) =>
      fieldOfValues(groupColumn(index), computation.expression.type, source.label),
    ),
    ...calls.map(({ function: { resultType }, type }, index) =>
      fieldOfValues(groupColumn(keys.length + index), resultType(type), "values"),
    ),
  ];
}

/** Sums up the effort of expressions. Plain columns take none. */
function effortOf(computations: readonly Computation[]): Effort {
  let size = 0;
  let widest = 0;
  for (const { expression } of computations) {
    if (expression.column !== null) continue;
    size += expression.effort.size;
    widest = Math.max(widest, expression.effort.widest);
  }
  return { size, widest, isQuick: false };
}
