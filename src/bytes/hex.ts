/** Bytes in hexadecimal: two digits per byte. */

const PAIRS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Returns the digits of bytes in lower case. */
export function toHex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += PAIRS[byte];
  return text;
}

/** Returns the bytes of hexadecimal digits of either case; null for other text. */
export function fromHex(text: string): Uint8Array | null {
  if (text.length % 2 !== 0 || !/^[\da-f]*$/i.test(text)) return null;
  const digit = (index: number): number => {
    const code = text.charCodeAt(index);
    // Letters of either case have 1 to 6 in their low half.
    return (code & 15) + (code > 64 ? 9 : 0);
  };
  return Uint8Array.from(
    { length: text.length / 2 },
    (_, index) => 16 * digit(2 * index) + digit(2 * index + 1),
  );
}
