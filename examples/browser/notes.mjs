/** Notes about trees, and vectors of texts. The page and the program that publishes the notes share them. */

export const DIMENSION = 64;

const SIZES = ["small", "tall", "old", "young", "crooked", "hollow", "broad", "slender"];
const TREES = [
  "ash",
  "elm",
  "oak",
  "yew",
  "birch",
  "beech",
  "larch",
  "hazel",
  "lime",
  "alder",
  "maple",
  "willow",
];
const PLACES = [
  "river",
  "mill",
  "church",
  "market",
  "bridge",
  "station",
  "harbour",
  "meadow",
  "quarry",
  "school",
];
const SIGHTS = ["owl", "fox", "woodpecker", "squirrel", "bat", "beetle", "swarm of bees", "nest of storks"];
const WEATHERS = ["fog", "rain", "snow", "wind", "frost", "sunshine", "hail", "thunder"];

/** Returns a function that picks from lists, the same each time. */
function picker() {
  let state = 7;
  return (list) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return list[Math.floor((state / 2 ** 32) * list.length)];
  };
}

/** Yields notes: their number and text. */
export function* notes(count) {
  const pick = picker();
  for (let id = 0; id < count; id++) {
    const tree = `a ${pick(SIZES)} ${pick(TREES)} by the ${pick(PLACES)}`;
    yield {
      id,
      text: `Note ${id}: ${tree}, with a ${pick(SIGHTS)}, in ${pick(WEATHERS)} and ${pick(WEATHERS)}`,
    };
  }
}

/** Returns the vector of a text: each word counts in one place that its hash chooses. Its length is 1. */
export function vectorOf(text) {
  const vector = new Float32Array(DIMENSION);
  for (const word of text.toLowerCase().match(/[a-z]{3,}/g) ?? []) {
    let hash = 0x811c9dc5;
    for (let index = 0; index < word.length; index++)
      hash = Math.imul(hash ^ word.charCodeAt(index), 0x01000193);
    vector[(hash >>> 1) % DIMENSION] += (hash & 1) === 0 ? 1 : -1;
  }
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}
