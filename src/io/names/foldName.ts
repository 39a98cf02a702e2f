/**
 * Folds names as the coarsest file system does. Many file systems treat some names as the same: names that
 * differ only in case (NTFS, APFS, exFAT, ext4 with casefold), in Unicode normalisation or invisible
 * characters (APFS, HFS+), or in trailing dots and spaces (Windows). {@link foldName} maps two names to the
 * same text if any file system may treat them as the same.
 *
 * The fold only tells that two names are too close, so it is coarser than every file system: it also joins
 * compatibility forms, and `ß` with `ss`. No file is stored or looked up under a folded name.
 */

/** Maximum number of rounds: folding may change the result again. Three suffice for all tested texts. */
const MAX_ROUNDS = 8;
const ASCII = /^[\0-\x7f]*$/;
/** The capitals of the modern Georgian letters: in Unicode the Mtavruli, on HFS+ the Asomtavruli. */
const MTAVRULI = /[\u1c90-\u1cba\u1cbd-\u1cbf]/g;
const MTAVRULI_TO_ASOMTAVRULI = 0x1c90 - 0x10a0;
// Functions, because compiling a Unicode class is slow and most names are ASCII.

/** Matches the Turkish capital İ, whose dot some mappings drop and others keep. */
const iWithMarks = (): RegExp => /I\p{M}+/gu;
const DOT_ABOVE = "\u0307";
/** Matches the iota subscript among marks: as a mark it moves last; as a capital it stays. */
const markedIotas = (): RegExp => /(?:\u0399|\p{M})+/gu;
const IOTA = "\u0399";
const ignorable = (): RegExp => /\p{Default_Ignorable_Code_Point}/gu;
const TRAILING = /[. ]+$/;

/** Folds one name, without slashes. Two names with the same fold may be the same name on some file system. */
export function foldName(name: string): string {
  if (ASCII.test(name)) return name.toUpperCase().replace(TRAILING, "");
  let folded = name;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    // Two changes of case, because some letters share a capital and others a small letter.
    const next = folded
      .normalize("NFKD")
      .replace(ignorable(), "")
      .toLowerCase()
      .toUpperCase()
      .replace(iWithMarks(), (letter) => letter.replaceAll(DOT_ABOVE, ""))
      .replace(markedIotas(), (run) => (run.includes(IOTA) ? iotasLast(run) : run))
      .replace(MTAVRULI, (letter) => String.fromCharCode(letter.charCodeAt(0) - MTAVRULI_TO_ASOMTAVRULI))
      .replace(TRAILING, "");
    if (next === folded) break;
    folded = next;
  }
  return folded;
}

function iotasLast(run: string): string {
  const marks = run.replaceAll(IOTA, "");
  return marks + IOTA.repeat(run.length - marks.length);
}

/** Folds each name of a path that is joined by `/`. */
export const foldPath = (path: string): string =>
  path.includes("/") ? path.split("/").map(foldName).join("/") : foldName(path);

/** Folded device names of Windows, including superscript port numbers, which fold to digits. */
const DEVICE = /^(CON|PRN|AUX|NUL|COM[0-9]|LPT[0-9]|CONIN\$|CONOUT\$)$/;

/** Returns true if Windows treats a file of that name, with any extension, as a device. */
export const isDeviceName = (name: string): boolean =>
  DEVICE.test(
    foldName(name)
      .replace(/[.:].*$/s, "")
      .trimEnd(),
  );
