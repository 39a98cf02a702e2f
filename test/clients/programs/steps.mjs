/** Prints the result of each step of a client's program as a line of JSON, errors included. */

const rounded = (value) =>
  typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(5)) : value;

export async function step(name, run) {
  let result;
  try {
    result = await run();
  } catch (error) {
    result = { error: error?.constructor?.name, message: String(error?.message).split("\n")[0] };
  }
  const text = JSON.stringify({ [name]: result ?? null }, (_, value) =>
    typeof value === "bigint" ? `${value}n` : rounded(value),
  );
  console.log(text);
  return result;
}

/** Returns a vector of a text that is near to those of texts with the same words. */
export function embedded(text, dimension = 16) {
  const vector = Array.from({ length: dimension }, () => 0);
  for (const word of text.toLowerCase().match(/\w+/g) ?? []) {
    let hash = 7;
    for (const letter of word) hash = (hash * 31 + letter.charCodeAt(0)) % 65_521;
    vector[hash % dimension] += 1;
  }
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => Math.fround(value / length));
}
