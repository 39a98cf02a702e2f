/**
 * Names as the coarsest of file systems sees them. Many file systems treat some names as the same: names that
 * differ only in case (NTFS, APFS, exFAT, ext4 with casefold), in Unicode normalisation or invisible
 * characters (APFS, HFS+), or in trailing dots and spaces (Windows). {@link foldName} maps names to the same
 * text if any file system may treat them as the same.
 *
 * The fold only serves to tell that two names are too close to each other, so it is coarser than every file
 * system: it also joins compatibility forms, and `ß` with `ss`. Nothing is stored or looked up under a folded
 * name. Pure.
 */

/** Folding the result of a round may change it again; no text is known to need more than three rounds. */
const MAX_ROUNDS = 8;
const ASCII = /^[\0-\x7f]*$/;
/** The capitals of the modern Georgian letters: in Unicode the Mtavruli, on HFS+ the Asomtavruli. */
const MTAVRULI = /[\u1c90-\u1cba\u1cbd-\u1cbf]/g;
const MTAVRULI_TO_ASOMTAVRULI = 0x1c90 - 0x10a0;
// Patterns with classes of Unicode are in functions: engines collect the characters of a class where they
// come upon it, and most names are ASCII.

/** The Turkish capital: some mappings drop its dot, others keep it. */
const iWithMarks = (): RegExp => /I\p{M}+/gu;
const DOT_ABOVE = "\u0307";
/**
 * The iota subscript is a mark that moves behind other marks; in capitals it is a letter, which stays where
 * it is.
 */
const markedIotas = (): RegExp => /(?:\u0399|\p{M})+/gu;
const IOTA = "\u0399";
const ignorable = (): RegExp => /\p{Default_Ignorable_Code_Point}/gu;
const TRAILING = /[. ]+$/;

/**
 * Folds one name, without slashes. Names that fold to the same text may be the same name on some file system.
 */
export function foldName(name: string): string {
  if (ASCII.test(name)) return name.toUpperCase().replace(TRAILING, "");
  let folded = name;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    // Case is changed twice: some letters share a capital, others a small letter.
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

/** A path of names joined by `/`, each of them folded. */
export const foldPath = (path: string): string =>
  path.includes("/") ? path.split("/").map(foldName).join("/") : foldName(path);

/**
 * Device names of Windows, folded. Windows numbers its ports with superscript digits as well, which fold to
 * digits.
 */
const DEVICE = /^(CON|PRN|AUX|NUL|COM[0-9]|LPT[0-9]|CONIN\$|CONOUT\$)$/;

/** True if Windows takes a file or directory of that name, with any extension, for a device. */
export const isDeviceName = (name: string): boolean =>
  DEVICE.test(
    foldName(name)
      .replace(/[.:].*$/s, "")
      .trimEnd(),
  );
